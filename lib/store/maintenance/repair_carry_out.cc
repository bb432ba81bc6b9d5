// The good part becomes the store, and the rest is moved aside.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/number.h"
#include "lib/store/maintenance/journal_repair.h"

namespace torc::store {

Result<void> JournalRepair::view(const std::function<Result<void>(const Reader&)>& body) {
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::read));
  const LmdbTransaction reader(txn, head_.sequence);
  TORC_TRY(body(reader));
  return reader.health();
}

// The snapshot comes first: from then on everybody who reads the store goes on from it.
Result<void> JournalRepair::write_good_part() {
  TORC_TRY(journal_.make_directory_of(continues_at()));
  TORC_ASSIGN(const Txn txn, Txn::begin(bench_.environment(), Access::read));
  Head head = head_;
  head.sequence = continues_at() - 1;
  // A value that no history had: the number is not that of a commit.
  head.chain = hash128(journal_.id(), "repaired" + std::to_string(world_.entropy.next()) + " " +
                                          std::to_string(world_.entropy.next()));
  return write_snapshot(journal_, txn, head);
}

Result<void> JournalRepair::move(const Path& file, const Path& quarantine) {
  const Path inside = file.lexically_relative(directory_);
  Path target = quarantine;
  for (const Path& part : inside.parent_path()) {
    target /= part;
    const Result<void> made = world_.disk.make_directory(target);
    if (!made.ok() && made.error().os_errno != EEXIST) return made;
  }
  const Result<void> moved = world_.disk.rename(file, target / file.filename(), Replace::no);
  if (!moved.ok() && moved.error().os_errno == ENOENT) return {};
  return moved;
}

Result<void> JournalRepair::move_aside(const Path& quarantine) {
  // Listed anew: a commit that somebody made until the snapshot was there is lost like the others.
  TORC_ASSIGN(const Inventory now, inventory());
  const std::uint64_t covered = continues_at() - 1;
  for (const std::uint64_t number : now.numbers) {
    if (number > covered || (number <= files_good_ && !damaged_.contains(number))) continue;
    TORC_TRY(move(journal_.directory_of(number) / number_name(number), quarantine));
  }
  for (const SnapshotName& name : now.snapshots) {
    if (name.sequence < covered)
      TORC_TRY(move(journal_.snapshot_directory() / name.text(), quarantine));
  }
  return move_segments(quarantine);
}

// Copies of commits, "<first>-<count>", on which nothing hangs: those that hold lost ones.
Result<void> JournalRepair::move_segments(const Path& quarantine) {
  const Path place = journal_.snapshot_directory().parent_path() / "segment";
  const Result<std::vector<std::string>> names = world_.disk.list(place);
  if (!names.ok()) return {};
  for (const std::string& name : *names) {
    const std::size_t dash = name.find('-');
    const auto first = number_of(std::string_view(name).substr(0, dash));
    if (!first || dash == std::string::npos) continue;
    const auto count = leading_number<std::uint64_t>(std::string_view(name).substr(dash + 1));
    if (count && *first + *count - 1 > files_good_) TORC_TRY(move(place / name, quarantine));
  }
  return {};
}

// What a worker has seen may be in the copy of its node.
Result<void> JournalRepair::check_workers() {
  TORC_ASSIGN(known_, known());
  if (known_.sequence <= head_.sequence) return {};
  return Error{
      ErrorKind::busy, seen_by_worker() + ", and neither the files nor this node's copies have it",
      "run this on the node of that worker, whose copy may have it, and with "
      "the TMPDIR of that worker (`torc status` says where it runs); if nothing there has "
      "it either, delete " +
          heartbeat_path(state_, {known_.epoch}).string() + ", and what was committed is lost"};
}

// Nothing seems to be lost; a copy may know better.
Result<void> JournalRepair::tell_unclear() const {
  for (const Unclear& u : unclear_) {
    if (u.newest && *u.newest > head_.sequence) return check_copies();
    if (!u.newest && world_.tell) world_.tell(u.copy.string() + " was not looked into: " + u.why);
  }
  return {};
}

// What is cut off must not be what only a copy has that could not be looked at.
Result<void> JournalRepair::check_copies() const {
  for (const Unclear& u : unclear_) {
    if (u.newest && *u.newest <= head_.sequence) continue;
    const std::string newest = u.newest ? " has commit " + std::to_string(*u.newest) : "";
    return Error{ErrorKind::busy,
                 u.copy.string() + ", a copy of the store on this node," + newest +
                     (u.newest ? ", and " : " cannot be used: ") + u.why,
                 "end all workers of this node and start again; where that does not help, move "
                 "that directory to another place, and what only it holds is lost to the store"};
  }
  return {};
}

Result<Path> JournalRepair::carry_out(const std::string& name) {
  if (cuts()) {
    TORC_TRY(check_copies());
    TORC_TRY(check_workers());
  }
  TORC_ASSIGN(const Inventory now, inventory());
  if (!(now == inventory_)) {
    return Error{ErrorKind::busy, directory_.string() + " changed while it was looked at",
                 "end all workers and start again"};
  }
  const Path quarantine = directory_ / "quarantine" / name;
  const Result<void> parent = world_.disk.make_directory(directory_ / "quarantine");
  if (!parent.ok() && parent.error().os_errno != EEXIST) return parent.error();
  TORC_TRY(world_.disk.make_directory(quarantine));
  if (cuts()) {
    TORC_TRY(write_good_part());
    TORC_TRY(move_aside(quarantine));
  }
  for (const Path& copy : others_) TORC_TRY(set_aside(copy, quarantine));
  TORC_TRY(world_.disk.sync_directory(quarantine));
  TORC_TRY(world_.disk.sync_directory(directory_));
  return quarantine;
}

}  // namespace torc::store
