#include "lib/store/maintenance/node_copies.h"

#include <algorithm>

namespace torc::store {
namespace {

// For somebody who is opening a copy that is set aside.
constexpr std::chrono::nanoseconds kCopyPatience = std::chrono::seconds(1);

}  // namespace

// Copies of one boot and pid namespace: every write to them is there although none was synced.
Result<void> NodeCopies::look_into_all(const Inventory& inventory) {
  Result<void> first = {};
  visit_replicas(
      world_, files_.journal().id(), files_.key(),
      [&](const Path& path, const std::shared_ptr<Environment>& copy) {
        Result<void> looked = look_into(inventory, path, copy);
        if (first.ok()) first = std::move(looked);
      },
      [&](const Path& path, const Error& error) {
        unclear_.push_back({path, std::nullopt, error.what});
      });
  return first;
}

// The ring of recent commit ids tells whether a copy has the same commit under a number as the
// files.
Result<NodeCopies::Kinship> NodeCopies::kinship_of(const Txn& copy, std::uint64_t number) {
  TORC_ASSIGN(const Txn own, good_.begin());
  RingEntry here;
  RingEntry there;
  if (number != 0 && number == good_.files_good()) {
    // No ring knows the number of a repair or a backup, which is that of no commit.
    const auto compare = [&](const Hash128& chain) {
      return chain == good_.files_chain() ? Kinship::same_history : Kinship::other_history;
    };
    Head head;
    if (read_head(copy, head) == 0 && head.sequence == number) return compare(head.chain);
    if (const auto next = read_tail(copy, number + 1)) {
      const auto file = decode_commit(files_.journal().id(), number + 1, *next, {});
      if (file.ok()) return compare(file->header.before);
    }
  }
  if (number == 0 || read_ring(own, number, here) != 0 || read_ring(copy, number, there) != 0 ||
      here.sequence != number || there.sequence != number)
    return Kinship::unknown;
  return here.id == there.id ? Kinship::same_history : Kinship::other_history;
}

// Where the files lead nowhere the newest one that is good and that the copy must have too tells.
// No file is left at all: nothing speaks against the copy, and it is all there is.
Result<NodeCopies::Kinship> NodeCopies::kinship_by_files(const Inventory& inventory,
                                                         const Txn& copy, const Head& head) {
  for (auto n = inventory.numbers.rbegin(); n != inventory.numbers.rend(); ++n) {
    if (*n > head.sequence) continue;
    const Result<CommitFile> file = files_.read(*n);
    if (!file.ok() && !is_damage(file.error())) return file.error();
    if (!file.ok()) continue;
    RingEntry there;
    const bool known = read_ring(copy, *n, there) == 0 && there.sequence == *n;
    // Of another history there is no part that could be kept instead of the copy: not set aside.
    return known && there.id == file->header.id ? Kinship::same_history : Kinship::unknown;
  }
  return Kinship::same_history;
}

Result<void> NodeCopies::look_into(const Inventory& inventory, const Path& path,
                                   const std::shared_ptr<Environment>& copy) {
  TORC_ASSIGN(const Txn from, Txn::begin(copy, Access::read));
  Head head;
  if (read_head(from, head) != 0) return {};
  const std::uint64_t files_good = good_.files_good();
  TORC_ASSIGN(const Kinship kin, files_good == 0
                                     ? kinship_by_files(inventory, from, head)
                                     : kinship_of(from, std::min(head.sequence, files_good)));
  if (kin == Kinship::unknown) {
    unclear_.push_back({path, head.sequence, "whether it has the same history is not known"});
    return {};
  }
  if (kin == Kinship::other_history) return note_other(path, from, head);
  if (head.sequence <= good_.head().sequence) return {};
  if (files_good == inventory.highest()) {
    // Others may go on working: then the file is there by now.
    const Result<CommitFile> file = files_.read(head.sequence);
    if (!file.ok() && !is_damage(file.error())) return file.error();
    if (file.ok() && file->after == head.chain) return {};
  }
  TORC_TRY(good_.replace(from, head));
  taken_ = path;
  highest_ = std::max(highest_, head.sequence);
  return {};
}

// Its last commits were acknowledged, lost, and their numbers used again. The copy has the newest
// of them.
Result<void> NodeCopies::note_other(const Path& path, const Txn& copy, const Head& head) {
  std::uint64_t common = std::min(head.sequence, good_.files_good());
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
      const Result<CommitFile> file = decode_commit(files_.journal().id(), n, *bytes, path);
      lost.damage = file.ok() ? std::string() : file.error().what;
      if (file.ok()) lost.author = file->header.author;
    }
    lost_.push_back(std::move(lost));
  }
  return {};
}

Result<std::string> NodeCopies::writes_of(const LostCommit& commit) const {
  for (const auto& [number, bytes] : tails_.at(commit.file)) {
    if (number != commit.sequence) continue;
    TORC_ASSIGN(CommitFile file, decode_commit(files_.journal().id(), number, bytes, commit.file));
    return std::move(file.writes);
  }
  return std::string();
}

Result<void> NodeCopies::set_aside(const Path& copy, const Path& quarantine) {
  const Path place = quarantine / ("copy-" + world_.host + "-" + copy.filename().string());
  TORC_TRY(world_.disk.make_directory(place));
  for (const auto& [number, bytes] : tails_[copy])
    TORC_TRY(write_file(world_.disk, place / number_name(number), bytes, Durable::yes));
  TORC_TRY(world_.disk.sync_directory(place));
  return remove_replica(world_.entropy, copy, kCopyPatience);
}

// A copy may know better.
Result<void> NodeCopies::tell_unclear() const {
  for (const Unclear& u : unclear_) {
    if (u.newest && *u.newest > good_.head().sequence) return check();
    if (!u.newest && world_.tell) world_.tell(u.copy.string() + " was not looked into: " + u.why);
  }
  return {};
}

// What is cut off must not be what only a copy has that could not be looked at.
Result<void> NodeCopies::check() const {
  for (const Unclear& u : unclear_) {
    if (u.newest && *u.newest <= good_.head().sequence) continue;
    const std::string newest = u.newest ? " has commit " + std::to_string(*u.newest) : "";
    return Error{ErrorKind::busy,
                 u.copy.string() + ", a copy of the store on this node," + newest +
                     (u.newest ? ", and " : " cannot be used: ") + u.why,
                 "end all workers of this node and start again; where that does not help, move "
                 "that directory to another place, and what only it holds is lost to the store"};
  }
  return {};
}

}  // namespace torc::store
