// What the node's copies of the store have that its files have no more.
#include <algorithm>
#include <utility>

#include "lib/store/maintenance/journal_repair.h"

namespace torc::store {
namespace {

// For somebody who is opening a copy that is set aside.
constexpr std::chrono::nanoseconds kCopyPatience = std::chrono::seconds(1);

}  // namespace

// Copies of one boot and pid namespace: every write to them is there although none was synced.
Result<void> JournalRepair::look_into_copies() {
  Result<void> first = {};
  visit_replicas(
      world_, journal_.id(), place_.key,
      [&](const Path& path, const std::shared_ptr<Environment>& copy) {
        Result<void> looked = look_into(path, copy);
        if (first.ok()) first = std::move(looked);
      },
      [&](const Path& path, const Error& error) {
        unclear_.push_back({path, std::nullopt, error.what});
      });
  return first;
}

// The ring of recent commit ids tells whether a copy has the same commit under a number as the
// files.
Result<JournalRepair::Kinship> JournalRepair::kinship_of(const Txn& copy, std::uint64_t number) {
  TORC_ASSIGN(const Txn own, Txn::begin(bench_.environment(), Access::read));
  RingEntry here;
  RingEntry there;
  if (number != 0 && number == files_good_) {
    // No ring knows the number of a repair or a backup, which is that of no commit.
    Head head;
    if (read_head(copy, head) == 0 && head.sequence == number)
      return head.chain == files_chain_ ? Kinship::same_history : Kinship::other_history;
    if (const auto next = read_tail(copy, number + 1)) {
      const auto file = decode_commit(journal_.id(), number + 1, *next, {});
      if (file.ok())
        return file->header.before == files_chain_ ? Kinship::same_history : Kinship::other_history;
    }
  }
  if (number == 0 || read_ring(own, number, here) != 0 || read_ring(copy, number, there) != 0 ||
      here.sequence != number || there.sequence != number)
    return Kinship::unknown;
  return here.id == there.id ? Kinship::same_history : Kinship::other_history;
}

// Where the files lead nowhere the newest one that is good and that the copy must have too tells.
// No file is left at all: nothing speaks against the copy, and it is all there is.
Result<JournalRepair::Kinship> JournalRepair::kinship_by_files(const Txn& copy, const Head& head) {
  for (auto n = inventory_.numbers.rbegin(); n != inventory_.numbers.rend(); ++n) {
    if (*n > head.sequence) continue;
    const Result<CommitFile> file = read(*n);
    if (!file.ok() && !is_damage(file.error())) return file.error();
    if (!file.ok()) continue;
    RingEntry there;
    const bool known = read_ring(copy, *n, there) == 0 && there.sequence == *n;
    // Of another history there is no part that could be kept instead of the copy: not set aside.
    return known && there.id == file->header.id ? Kinship::same_history : Kinship::unknown;
  }
  return Kinship::same_history;
}

Result<void> JournalRepair::look_into(const Path& path, const std::shared_ptr<Environment>& copy) {
  TORC_ASSIGN(const Txn from, Txn::begin(copy, Access::read));
  Head head;
  if (read_head(from, head) != 0) return {};
  TORC_ASSIGN(const Kinship kin, files_good_ == 0
                                     ? kinship_by_files(from, head)
                                     : kinship_of(from, std::min(head.sequence, files_good_)));
  if (kin == Kinship::unknown) {
    unclear_.push_back({path, head.sequence, "whether it has the same history is not known"});
    return {};
  }
  if (kin == Kinship::other_history) return note_other(path, from, head);
  if (head.sequence <= head_.sequence) return {};
  if (files_good_ == inventory_.highest()) {
    // Others may go on working: then the file is there by now.
    const Result<CommitFile> file = read(head.sequence);
    if (!file.ok() && !is_damage(file.error())) return file.error();
    if (file.ok() && file->after == head.chain) return {};
  }
  TORC_TRY(take_from(from, head));
  from_copy_ = path;
  highest_ = std::max(highest_, head.sequence);
  return {};
}

Result<void> JournalRepair::take_from(const Txn& from, const Head& head) {
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  int rc = clear_state(txn);
  const int scanned = scan_state(from, [&](const Entry& e) {
    if (rc == 0) rc = put_entry(txn, e.key, e.value);
    return rc == 0;
  });
  if (rc == 0) rc = scanned;
  if (rc == 0) rc = write_head(txn, head);
  if (rc != 0)
    return lmdb_error(
        rc, "cannot put the state together in " + bench_.environment()->directory().string());
  TORC_TRY(txn.commit());
  if (damages_.empty()) {
    const Path file = journal_.commit_path(files_good_ + 1);
    damages_.push_back({file, file.string() + " is missing and everything after it up to commit " +
                                  std::to_string(head.sequence)});
  }
  head_ = head;
  return {};
}

// Its last commits were acknowledged, lost, and their numbers used again. The copy has the newest
// of them.
Result<void> JournalRepair::note_other(const Path& path, const Txn& copy, const Head& head) {
  std::uint64_t common = std::min(head.sequence, files_good_);
  while (common > 0) {
    TORC_ASSIGN(const Kinship kin, kinship_of(copy, common));
    if (kin != Kinship::other_history) break;
    --common;
  }
  others_.push_back(path);
  highest_ = std::max(highest_, head.sequence);
  for (std::uint64_t n = common + 1; n <= head.sequence; ++n) {
    LostCommit lost{n, path, "the copy has only its newest commits as they were", 0};
    if (const auto bytes = read_tail(copy, n)) {
      tails_[path].emplace_back(n, *bytes);
      const Result<CommitFile> file = decode_commit(journal_.id(), n, *bytes, path);
      lost.damage = file.ok() ? std::string() : file.error().what;
      if (file.ok()) lost.author = file->header.author;
    }
    lost_.push_back(std::move(lost));
  }
  return {};
}

// What it has of lost commits, and then it goes: the node begins anew with the store's history.
Result<void> JournalRepair::set_aside(const Path& copy, const Path& quarantine) {
  const Path place = quarantine / ("copy-" + world_.host + "-" + copy.filename().string());
  TORC_TRY(world_.disk.make_directory(place));
  for (const auto& [number, bytes] : tails_[copy])
    TORC_TRY(write_file(world_.disk, place / number_name(number), bytes, Durable::yes));
  TORC_TRY(world_.disk.sync_directory(place));
  return remove_replica(world_.entropy, copy, kCopyPatience);
}

Result<std::string> JournalRepair::writes_of(const LostCommit& commit) {
  const auto tail = tails_.find(commit.file);
  if (tail == tails_.end()) {
    TORC_ASSIGN(CommitFile file, read(commit.sequence));
    return std::move(file.writes);
  }
  for (const auto& [number, bytes] : tail->second) {
    if (number != commit.sequence) continue;
    TORC_ASSIGN(CommitFile file, decode_commit(journal_.id(), number, bytes, commit.file));
    return std::move(file.writes);
  }
  return std::string();
}

Result<void> JournalRepair::list_lost() {
  for (const std::uint64_t number : inventory_.numbers) {
    if (number <= head_.sequence) continue;
    const Result<CommitFile> file = read(number);
    if (!file.ok() && !is_damage(file.error())) return file.error();
    LostCommit lost{number, journal_.commit_path(number), {}, 0};
    if (file.ok()) {
      lost.author = file->header.author;
    } else {
      lost.damage = file.error().what;
    }
    ++cut_off_;
    lost_.push_back(std::move(lost));
  }
  return {};
}

}  // namespace torc::store
