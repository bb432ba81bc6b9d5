// Snapshots and collection.
#include <algorithm>

#include "lib/store/journal_store.h"
#include "lib/store/snapshot.h"

namespace torc::store {
namespace {

constexpr std::chrono::nanoseconds kSnapshotPatience = std::chrono::minutes(10);
constexpr std::string_view kDead = ".dead-";
constexpr std::size_t kSnapshotsKept = 2;
constexpr int kMarkSpacing =
    12;  // marks per retention; Shared::marks has room for more than one retention

}  // namespace

bool JournalStore::snapshot_due(const Head& head) const {
  if (head.sequence <= snapshot_.sequence) return false;
  if (head.sequence - snapshot_.sequence >= tuning_.checkpoint_commits + jitter_) return true;
  const bool bytes_known = snapshot_bytes_of_ == snapshot_.sequence;
  return bytes_known &&
         head.bytes - std::min(head.bytes, snapshot_bytes_) >= tuning_.checkpoint_bytes.value;
}

Result<void> JournalStore::maintain() {
  TORC_TRY(attach());
  TORC_ASSIGN(const Head head, read_local_head());
  if (snapshot_bytes_of_ != snapshot_.sequence) {
    Result<Head> of_snapshot = read_snapshot_head(journal_, snapshot_);
    snapshot_bytes_ = of_snapshot.ok() ? of_snapshot->bytes : head.bytes;
    snapshot_bytes_of_ = snapshot_.sequence;
  }
  if (snapshot_due(head)) {
    TORC_TRY(look_at_snapshots());  // somebody else may have been at it
    if (snapshot_due(head)) TORC_TRY(take_snapshot());
  }
  if (world_.clock.boot_now() >= next_collection_) TORC_TRY(collect());
  return {};
}

// From a read transaction, so writers go on. What it says of the chain is final, since what the
// replica contains is part of the history.
Result<void> JournalStore::take_snapshot() {
  // One process of a node at a time; one that died in the middle is forgotten after a while.
  const BootTime now = world_.clock.boot_now();
  std::int64_t begun = shared().snapshot_begun.load();
  if (begun != 0 && now - BootTime(begun) < kSnapshotPatience) return {};
  if (!shared().snapshot_begun.compare_exchange_strong(begun,
                                                       std::max<std::int64_t>(now.count(), 1)))
    return {};
  Result<void> done = [&]() -> Result<void> {
    TORC_ASSIGN(const Txn txn, Txn::begin(replica_.environment, Access::read));
    Head head;
    if (const int rc = read_head(txn, head); rc != 0)
      return local_failure(rc, "cannot read the head");
    TORC_TRY(write_snapshot(journal_, txn, head));
    snapshot_ = {head.sequence, head.chain};
    snapshot_bytes_ = head.bytes;
    snapshot_bytes_of_ = head.sequence;
    return {};
  }();
  shared().snapshot_begun = 0;
  // So that the hosts of a workflow do not all come to it at the same commit.
  jitter_ = world_.entropy.next() % (tuning_.checkpoint_commits / 4 + 1);
  return done;
}

// What may be collected: everything that an older snapshot covers and that this node has known to
// be so for the retention, on its own clock of time since boot. No time of another machine is
// asked, neither a wall clock nor an mtime, so no clock that jumps can make anything go early.
Result<void> JournalStore::collect() {
  next_collection_ = world_.clock.boot_now() + tuning_.retention / 8;
  TORC_ASSIGN(const std::vector<SnapshotName> all, journal_.snapshots());
  collect_temporaries();
  if (all.size() < kSnapshotsKept) return {};
  TORC_ASSIGN(const std::uint64_t floor, matured(all[kSnapshotsKept - 1].sequence));
  for (std::size_t i = kSnapshotsKept; i < all.size(); ++i) {
    if (all[i].sequence < floor)
      (void)journal_.publisher().remove(journal_.snapshot_directory(), all[i].text());
  }
  return collect_directories(floor);
}

// The newest `covered` that this node knew a retention ago. The marks are shared by its processes,
// so workers that live for less than the retention add up.
Result<std::uint64_t> JournalStore::matured(std::uint64_t covered) {
  if (!replica_.gate->enter(world_.clock, std::chrono::nanoseconds(0)).ok()) return 0;
  const GateHold hold(replica_.gate.get());
  const std::int64_t now = world_.clock.boot_now().count();
  const std::int64_t retention = tuning_.retention.count();
  auto& marks = shared().marks;
  const auto by_age = [](const Gate::Mark& a, const Gate::Mark& b) { return a.at < b.at; };
  const auto newest = std::max_element(marks.begin(), marks.end(), by_age);
  if (newest->at == 0 || now - newest->at >= retention / kMarkSpacing) {
    *std::min_element(marks.begin(), marks.end(), by_age) = {now, covered};
  }
  std::uint64_t floor = 0;
  for (const Gate::Mark& mark : marks) {
    if (mark.at != 0 && now - mark.at >= retention) floor = std::max(floor, mark.sequence);
  }
  // Marks of another history (a store put back from a copy) say nothing of this one.
  return std::min(floor, covered);
}

Result<void> JournalStore::collect_directories(std::uint64_t floor) {
  if (floor < collected_ + kPerDirectory) return {};
  TORC_ASSIGN(const std::vector<std::string> names, world_.disk.list(journal_.journal_directory()));
  const Path journal = journal_.journal_directory();
  for (const std::string& name : names) {
    const auto first = number_of(name);
    if (!first || *first + kPerDirectory - 1 > floor) continue;
    // Renamed first: of all hosts that come to it one gets it, and it goes from sight at once
    // instead of name by name.
    (void)world_.disk.rename(journal / name, journal / (std::string(kDead) + name), Replace::no);
  }
  TORC_ASSIGN(const std::vector<std::string> left, world_.disk.list(journal));
  for (const std::string& name : left) {
    if (name.starts_with(kDead)) (void)remove_tree(world_.disk, journal / name);
  }
  collected_ = first_of_directory(floor + 1);
  return {};
}

// Temporary files of authors that died. Those in journal/ go with their directory.
void JournalStore::collect_temporaries() {
  const Result<std::vector<std::string>> names = world_.disk.list(journal_.snapshot_directory());
  if (!names.ok()) return;
  const BootTime now = world_.clock.boot_now();
  std::map<std::string, BootTime> still;
  for (const std::string& name : *names) {
    if (!name.starts_with(Publisher::kTemporary)) continue;
    const auto known = temporaries_.find(name);
    const BootTime since = known == temporaries_.end() ? now : known->second;
    const Path path = journal_.snapshot_directory() / name;
    if (now - since < tuning_.retention || known == temporaries_.end()) {
      still.emplace(name, since);
    } else if (!world_.disk.unlink(path).ok()) {
      (void)remove_tree(world_.disk, path);
    }
  }
  temporaries_ = std::move(still);
}

}  // namespace torc::store
