#include "lib/store/journal/evidence.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/store/format/segment.h"

namespace torc::store {
namespace {

// For so long after the file of the newest commit was seen nobody asks again.
constexpr std::chrono::nanoseconds kSeenLately = std::chrono::seconds(5);

constexpr const char* kRemedy =
    "end the workers and let `torc repair` on this node say what its copy still has";

}  // namespace

Error not_there_for_this_node(const Path& file) {
  return {ErrorKind::busy,
          file.string() + " is not there for this node, and why cannot be learned here",
          "try again in a minute; if this is still reported, `torc repair` says what is missing"};
}

void Evidence::note_seen(std::uint64_t sequence) {
  replica_.shared().seen_at = clock_.boot_now().count();
  replica_.shared().seen = sequence;
}

bool Evidence::seen_lately(const Head& head, BootTime now) {
  const Gate::Shared& shared = replica_.shared();
  return shared.seen == head.sequence && now - BootTime(shared.seen_at.load()) < kSeenLately;
}

Result<Agreement> Evidence::of(const Head& head) {
  if (head.sequence == 0)
    return snapshots_.newest().sequence > 0 ? Agreement::covered : Agreement::agrees;
  Result<std::string> bytes = journal_.read_bytes(head.sequence);
  if (!bytes.ok() && bytes.error().kind != ErrorKind::not_found && bytes.error().os_errno != ESTALE)
    return std::move(bytes).error();
  if (bytes.ok() && hash128(journal_.id(), *bytes) == head.chain) {
    note_seen(head.sequence);
    return Agreement::agrees;
  }
  TORC_ASSIGN(const Agreement agreement, without_file(head));
  // What had the name may be a stray file in a directory that was collected and made again, or what
  // this client remembered. Only where nothing newer is known does it say something.
  if (bytes.ok() && agreement == Agreement::lost) return another_one(head, *std::move(bytes));
  return agreement;
}

Result<Agreement> Evidence::without_file(const Head& head) {
  const SnapshotName& newest = snapshots_.newest();
  TORC_TRY(snapshots_.look());
  if (newest.sequence > head.sequence) return Agreement::covered;
  TORC_ASSIGN(const bool asked_anew, snapshots_.refresh());
  if (newest.sequence > head.sequence) return Agreement::covered;
  if (newest.sequence == head.sequence)
    return newest.chain == head.chain ? Agreement::agrees : Agreement::differs;
  const Error perhaps = not_there_for_this_node(journal_.commit_path(head.sequence));
  if (!asked_anew) return perhaps;
  Result<std::string> bytes = journal_.read_bytes_anew(head.sequence);
  if (!bytes.ok()) {
    if (bytes.error().kind != ErrorKind::not_found) return bytes.error();
    // It may have been collected since the snapshots were looked at.
    TORC_ASSIGN(const bool asked_again, snapshots_.refresh());
    if (newest.sequence > head.sequence) return Agreement::covered;
    if (!asked_again) return perhaps;
    return Agreement::lost;
  }
  if (hash128(journal_.id(), *bytes) != head.chain) return another_one(head, *std::move(bytes));
  note_seen(head.sequence);
  return Agreement::agrees;
}

// One that is damaged is no commit of anybody.
Result<Agreement> Evidence::another_one(const Head& head, std::string bytes) {
  const auto file = decode_large_commit(journal_.id(), head.sequence, std::move(bytes),
                                        journal_.commit_path(head.sequence));
  if (!file.ok()) return file.error();
  return Agreement::differs;
}

Error Evidence::finding(Agreement agreement, const Head& head) {
  own_newest_ = 0;  // the next commit looks first
  const std::string file = journal_.commit_path(head.sequence).string();
  const std::string copy = "this node's copy of the store (" + replica_.directory().string() + ")";
  if (agreement == Agreement::differs) {
    return {ErrorKind::corrupt,
            file + " is not the commit " + std::to_string(head.sequence) + " that " + copy +
                " holds: that one was lost and its number used again",
            kRemedy};
  }
  return {ErrorKind::corrupt, file + " is missing: " + copy + " has it, and no snapshot covers it",
          kRemedy};
}

bool Evidence::segment_has(std::uint64_t number) {
  SegmentReader segments(journal_);
  const auto bytes = segments.find(number);
  return bytes && decode_commit(journal_.id(), number, *bytes, journal_.segment_directory()).ok();
}

Result<void> Evidence::check_hole(const Head& head, std::uint64_t number) {
  Result<std::string> bytes = journal_.read_bytes(number);
  if (!bytes.ok() && bytes.error().kind == ErrorKind::not_found)
    bytes = journal_.read_bytes_anew(number);
  if (bytes.ok()) return {};
  if (bytes.error().kind != ErrorKind::not_found) return bytes.error();
  TORC_ASSIGN(const bool asked_anew, snapshots_.refresh());
  if (snapshots_.newest().sequence >= number) return {};
  if (!asked_anew) return bytes.error();
  own_newest_ = 0;
  const std::string file = journal_.commit_path(number).string();
  // The copy may be of this moment, and have the commit from there: then it is no other place.
  if (segment_has(number)) {
    return Error{ErrorKind::corrupt,
                 file + " is missing before commit " + std::to_string(head.sequence) +
                     ": a segment in " + journal_.segment_directory().string() +
                     " has it, and no snapshot covers it",
                 "end the workers and run `torc repair`, which can go on without the file"};
  }
  return Error{ErrorKind::corrupt,
               file + " is missing before commit " + std::to_string(head.sequence) +
                   ": this node's copy of the store (" + replica_.directory().string() +
                   ") has it, and no snapshot covers it",
               kRemedy};
}

Result<void> Evidence::check_directories(const Head& head) {
  const std::uint64_t end = first_of_directory(head.sequence + 1);
  const SnapshotName& newest = snapshots_.newest();
  for (std::uint64_t first = first_of_directory(newest.sequence + 1); first < end;
       first += kPerDirectory) {
    Result<std::vector<std::uint64_t>> numbers = journal_.numbers_beside(first);
    if (!numbers.ok() && numbers.error().kind != ErrorKind::not_found) return numbers.error();
    const std::uint64_t hole =
        first_missing(numbers.ok() ? *numbers : std::vector<std::uint64_t>(),
                      std::max(first, newest.sequence + 1), first + kPerDirectory - 1);
    if (hole != 0) TORC_TRY(check_hole(head, hole));
  }
  return {};
}

}  // namespace torc::store
