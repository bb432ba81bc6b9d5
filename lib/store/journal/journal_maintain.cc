// Segments and snapshots: what workers do between commits, for those who come later. Nothing here
// delays or fails a commit.
#include <algorithm>

#include "lib/store/journal/journal_store.h"
#include "lib/store/journal/segment.h"
#include "lib/store/journal/snapshot.h"

namespace torc::store {
namespace {

constexpr std::chrono::nanoseconds kSnapshotPatience = std::chrono::minutes(10);
constexpr std::uint64_t kLargeState = std::uint64_t{32} << 20;  // bytes in LMDB

}  // namespace

// A snapshot costs what the state is long, so the larger the state the more commits must pay for
// it: twice as many from 32 MiB on, and as many bytes of journal as a quarter of it (about what
// zstd makes of it). More commits would be more files, see docs/maintainer/store-protocol.md.
bool JournalStore::snapshot_due(const Head& head, std::uint64_t state_bytes) const {
  if (head.sequence <= snapshot_.sequence) return false;
  const std::uint64_t more =
      static_cast<std::uint64_t>(static_cast<double>(tuning_.checkpoint_commits) *
                                 std::min(1.0, static_cast<double>(state_bytes) / kLargeState));
  if (head.sequence - snapshot_.sequence >= tuning_.checkpoint_commits + more + jitter_)
    return true;
  return head.bytes - std::min(head.bytes, snapshot_bytes_) >=
         std::max(tuning_.checkpoint_bytes.value, state_bytes / 4);
}

Result<void> JournalStore::maintain() {
  TORC_TRY(look_at_mounts());
  TORC_TRY(attach());
  replica_.environment->forget_dead_readers(world_.clock.boot_now());
  write_due_segment();
  Head head;
  std::uint64_t state_bytes = 0;
  {
    TORC_ASSIGN(const Txn txn, Txn::begin(replica_.environment, Access::read));
    if (const int rc = read_head(txn, head); rc != 0)
      return local_failure(rc, "cannot read the head");
    state_bytes = state_size(txn);
  }
  if (snapshot_bytes_of_ != snapshot_.sequence) {
    snapshot_bytes_ = head.bytes;
    snapshot_bytes_of_ = snapshot_.sequence;
  }
  if (making_) {
    if (making_->done()) TORC_TRY(finish_snapshot(std::exchange(making_, nullptr)->take()));
  } else if (snapshot_due(head, state_bytes)) {
    TORC_TRY(look_at_snapshots());  // somebody else may have been at it
    if (snapshot_due(head, state_bytes)) TORC_TRY(take_snapshot());
  }
  if (shared().owed != 0 && world_.clock.boot_now() >= next_collection_) TORC_TRY(collect());
  return {};
}

// --- segments ---

// By the author of the last commit in it. Who dies before, or fails, leaves readers with the single
// files.
void JournalStore::write_due_segment() {
  const auto due = std::exchange(due_segment_, std::nullopt);
  if (!due) return;
  const Result<std::string> bytes = commits_in(*due);
  if (!bytes.ok() || bytes->empty()) return;
  const Path directory = journal_.segment_directory();
  if (!journal_.publisher().replace(directory, due->text(), *bytes).ok()) return;
  // The small ones go a directory later: somebody may be about to read them.
  if (due->count != kLargeSegment || due->first < kPerDirectory) return;
  for (std::uint64_t first = due->first - kPerDirectory; first + kSmallSegment < due->first;
       first += kSmallSegment) {
    (void)world_.disk.unlink(directory / SegmentName{first, kSmallSegment}.text());
  }
}

// From the replica, which holds nothing that is not part of the history; what it does not have any
// more, or never had, from the single files. Empty: too much for one segment.
Result<std::string> JournalStore::commits_in(const SegmentName& name) {
  TORC_ASSIGN(const Txn txn, Txn::begin(replica_.environment, Access::read));
  std::string out;
  for (std::uint64_t n = std::max<std::uint64_t>(name.first, 1); n <= name.last(); ++n) {
    if (const auto known = read_tail(txn, n)) {
      out += *known;
    } else {
      TORC_ASSIGN(const std::string bytes, journal_.read_bytes(n));
      if (bytes.size() > kMostSegment) return std::string();
      out += bytes;
    }
    if (out.size() > kMostSegment) return std::string();
  }
  return out;
}

// --- snapshots ---

// From a read transaction, so writers go on. What it says of the chain is final, since what the
// replica contains is part of the history.
Result<void> JournalStore::take_snapshot() {
  if (!may_take_snapshot()) return {};
  if (!tuning_.snapshots_beside) return finish_snapshot(make_snapshot());
  making_ = std::make_unique<SnapshotMaking>(replica_.environment, world_.disk, directory_,
                                             identity_.id, journal_.publisher().method(),
                                             journal_.publisher().durable(), world_.entropy.next());
  return {};
}

// One process of a node at a time; one that died in the middle is forgotten after a while.
bool JournalStore::may_take_snapshot() {
  const BootTime now = world_.clock.boot_now();
  std::int64_t begun = shared().snapshot_begun.load();
  if (begun != 0 && now - BootTime(begun) < kSnapshotPatience) return false;
  return shared().snapshot_begun.compare_exchange_strong(begun,
                                                         std::max<std::int64_t>(now.count(), 1));
}

Result<Head> JournalStore::make_snapshot() {
  TORC_ASSIGN(const Txn txn, Txn::begin(replica_.environment, Access::read));
  Head head;
  if (const int rc = read_head(txn, head); rc != 0)
    return local_failure(rc, "cannot read the head");
  TORC_TRY(write_snapshot(journal_, txn, head));
  return head;
}

Result<void> JournalStore::finish_snapshot(Result<Head> made) {
  shared().snapshot_begun = 0;
  // So that the hosts of a workflow do not all come to it at the same commit.
  jitter_ = world_.entropy.next() % (tuning_.checkpoint_commits / 16 + 1);
  if (!made.ok()) return std::move(made).error();
  if (made->sequence > snapshot_.sequence) {
    snapshot_ = {made->sequence, made->chain};
    snapshot_bytes_ = made->bytes;
    snapshot_bytes_of_ = made->sequence;
  }
  // Who makes a snapshot collects what it covers, in time.
  shared().owed = made->sequence;
  return {};
}

void JournalStore::detach() {
  cancel_snapshot();
  replica_ = {};
  broken_ = false;
  grow_ = false;
  validated_ = false;
}

// Before its replica is left or grows: LMDB waits for every transaction then.
void JournalStore::cancel_snapshot() {
  if (!making_) return;
  making_.reset();
  shared().snapshot_begun = 0;
}

}  // namespace torc::store
