// Whether the files still say what the replica holds. Collection takes whole directories of commit
// files, in ascending order, and the files of one in ascending order (journal_collect.cc). So as
// long as the file of commit N is there and is that commit, no number above N was ever free again:
// what was found or made there before that look is part of the chain. No listing is believed for
// it, and no clock.
//
// Where the file is gone, either a snapshot goes beyond it or it is lost. That is decided by a
// listing that this client asked for anew.
#include <cerrno>

#include "lib/store/journal/journal_store.h"

namespace torc::store {
namespace {

// For so long after the file of the newest commit was seen nobody asks again before a commit is
// built on it. After the commit it is asked in any case.
constexpr std::chrono::nanoseconds kSeenLately = std::chrono::seconds(5);

constexpr const char* kRemedy =
    "end the workers and let `torc repair` on this node say what its copy still has";

}  // namespace

void JournalStore::note_seen(std::uint64_t sequence) {
  shared().seen_at = world_.clock.boot_now().count();
  shared().seen = sequence;
}

bool JournalStore::seen_lately(const Head& head, BootTime now) {
  return shared().seen == head.sequence && now - BootTime(shared().seen_at.load()) < kSeenLately;
}

Result<JournalStore::Agreement> JournalStore::agreement_of(const Head& head) {
  if (head.sequence == 0) return snapshot_.sequence > 0 ? Agreement::covered : Agreement::agrees;
  Result<std::string> bytes = journal_.read_bytes(head.sequence);
  if (!bytes.ok() && bytes.error().kind != ErrorKind::not_found && bytes.error().os_errno != ESTALE)
    return std::move(bytes).error();
  if (bytes.ok() && hash128(identity_.id, *bytes) == head.chain) {
    note_seen(head.sequence);
    return Agreement::agrees;
  }
  TORC_ASSIGN(const Agreement agreement, agreement_without_file(head));
  // What had the name may be a stray file in a directory that was collected and made again, or what
  // this client remembered. Only where nothing newer is known does it say something.
  if (bytes.ok() && agreement == Agreement::lost) {
    const auto file = decode_large_commit(identity_.id, head.sequence, *std::move(bytes),
                                          journal_.commit_path(head.sequence));
    if (!file.ok()) return file.error();
    return Agreement::differs;
  }
  return agreement;
}

Result<JournalStore::Agreement> JournalStore::agreement_without_file(const Head& head) {
  TORC_TRY(look_at_snapshots());
  if (snapshot_.sequence > head.sequence) return Agreement::covered;
  TORC_ASSIGN(const bool asked_anew, refresh_snapshots());
  if (snapshot_.sequence > head.sequence) return Agreement::covered;
  if (snapshot_.sequence == head.sequence)
    return snapshot_.chain == head.chain ? Agreement::agrees : Agreement::differs;
  const Error perhaps{ErrorKind::busy,
                      journal_.commit_path(head.sequence).string() +
                          " is not there for this node, and why cannot be learned here",
                      "try again in a few seconds"};
  if (!asked_anew) return perhaps;
  Result<std::string> bytes = journal_.read_bytes_anew(head.sequence);
  if (!bytes.ok()) {
    if (bytes.error().kind != ErrorKind::not_found) return bytes.error();
    // It may have been collected since the snapshots were looked at.
    TORC_ASSIGN(const bool asked_again, refresh_snapshots());
    if (snapshot_.sequence > head.sequence) return Agreement::covered;
    if (!asked_again) return perhaps;
    return Agreement::lost;
  }
  if (hash128(identity_.id, *bytes) != head.chain) {
    const auto file = decode_large_commit(identity_.id, head.sequence, *std::move(bytes),
                                          journal_.commit_path(head.sequence));
    if (!file.ok()) return file.error();  // damaged, and so no commit of anybody
    return Agreement::differs;
  }
  note_seen(head.sequence);
  return Agreement::agrees;
}

// Lists snapshot/ past what this client remembers of it. false: nothing can be made there, so the
// listing may be as old as any.
Result<bool> JournalStore::refresh_snapshots() {
  const Result<void> touched = journal_.refresh_snapshots();
  TORC_TRY(look_at_snapshots());
  return touched.ok() || place_.facts.listing_age == std::chrono::nanoseconds(0);
}

Error JournalStore::finding(Agreement agreement, const Head& head) {
  own_newest_ = 0;  // the next commit looks first
  const std::string file = journal_.commit_path(head.sequence).string();
  const std::string copy = "this node's copy of the store (" + replica_directory().string() + ")";
  if (agreement == Agreement::differs) {
    return {ErrorKind::corrupt,
            file + " is not the commit " + std::to_string(head.sequence) + " that " + copy +
                " holds: that one was lost and its number used again",
            kRemedy};
  }
  return {ErrorKind::corrupt, file + " is missing: " + copy + " has it, and no snapshot covers it",
          kRemedy};
}

// There is no way on from `head` to what is listed.
Result<JournalStore::Next> JournalStore::explain(const Head& head, const Extent& extent) {
  if (snapshot_.sequence > head.sequence) return Next::snapshot;
  TORC_ASSIGN(const Agreement agreement, agreement_of(head));
  if (agreement == Agreement::covered) return Next::snapshot;
  if (agreement != Agreement::agrees) return finding(agreement, head);
  TORC_ASSIGN(const bool asked_anew, refresh_snapshots());
  if (snapshot_.sequence > head.sequence) return Next::snapshot;
  if (missing_ == 0) {
    // Nothing is listed beyond it, and the directory for what comes next was not made, or is lost.
    const bool last = first_of_directory(head.sequence + 1) == head.sequence + 1;
    if (!extent.directory && last) return Next::none;
    return Next::look_again;
  }
  if (!asked_anew) {
    return Error{ErrorKind::busy,
                 journal_.commit_path(missing_).string() +
                     " is not there for this node, and why cannot be learned here",
                 "try again in a few seconds"};
  }
  if (!contradicted_) {
    const Result<std::string> bytes = journal_.read_bytes_anew(missing_);
    if (bytes.ok()) return Next::look_again;
    if (bytes.error().kind != ErrorKind::not_found) return bytes.error();
    (void)refresh_snapshots();  // it may have been collected since
    if (snapshot_.sequence > head.sequence) return Next::snapshot;
  }
  // Whoever had the number has lost it, so that it was taken says nothing any more.
  if (missing_ == taken_) {
    taken_ = 0;
    return Next::look_again;
  }
  return no_history(journal_.commit_path(missing_));
}

// A number that the replica has is not listed, though its newest is. What others cannot read nobody
// builds on.
Result<void> JournalStore::check_hole(const Head& head, std::uint64_t number) {
  Result<std::string> bytes = journal_.read_bytes(number);
  if (!bytes.ok() && bytes.error().kind == ErrorKind::not_found)
    bytes = journal_.read_bytes_anew(number);
  if (bytes.ok()) return {};
  if (bytes.error().kind != ErrorKind::not_found) return bytes.error();
  TORC_ASSIGN(const bool asked_anew, refresh_snapshots());
  if (snapshot_.sequence >= number) return {};
  if (!asked_anew) return bytes.error();
  own_newest_ = 0;
  return Error{ErrorKind::corrupt,
               journal_.commit_path(number).string() + " is missing before commit " +
                   std::to_string(head.sequence) + ": this node's copy of the store (" +
                   replica_directory().string() + ") has it, and no snapshot covers it",
               kRemedy};
}

// Of a replica that was found: are all files there that others need to come as far? The directory
// of the newest is listed anyway.
Result<void> JournalStore::check_directories(const Head& head) {
  const std::uint64_t end = first_of_directory(head.sequence + 1);
  for (std::uint64_t first = first_of_directory(snapshot_.sequence + 1); first < end;
       first += kPerDirectory) {
    Result<std::vector<std::uint64_t>> numbers = journal_.numbers_beside(first);
    if (!numbers.ok() && numbers.error().kind != ErrorKind::not_found) return numbers.error();
    const std::uint64_t hole =
        first_missing(numbers.ok() ? *numbers : std::vector<std::uint64_t>(),
                      std::max(first, snapshot_.sequence + 1), first + kPerDirectory - 1);
    if (hole != 0) TORC_TRY(check_hole(head, hole));
  }
  return {};
}

}  // namespace torc::store
