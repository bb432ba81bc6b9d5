#include "lib/store/journal/snapshot_writer.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "lib/store/format/snapshot.h"

namespace torc::store {
namespace {

constexpr std::chrono::nanoseconds kSnapshotPatience = std::chrono::minutes(10);
constexpr std::uint64_t kLargeState = std::uint64_t{32} << 20;  // bytes in LMDB

}  // namespace

// A snapshot costs what the state is long, so the larger the state the more commits must pay for
// it: twice as many from 32 MiB on, and as many bytes of journal as a quarter of it (about what
// zstd makes of it). More commits would be more files, see docs/maintainer/store-protocol.md.
bool SnapshotWriter::is_due(const Head& head, std::uint64_t state_bytes) const {
  const std::uint64_t newest = snapshots_.newest().sequence;
  if (head.sequence <= newest) return false;
  const std::uint64_t more =
      static_cast<std::uint64_t>(static_cast<double>(tuning_.checkpoint_commits) *
                                 std::min(1.0, static_cast<double>(state_bytes) / kLargeState));
  if (head.sequence - newest >= tuning_.checkpoint_commits + more + jitter_) return true;
  return head.bytes - std::min(head.bytes, journal_bytes_) >=
         std::max(tuning_.checkpoint_bytes.value, state_bytes / 4);
}

Result<void> SnapshotWriter::maintain(const Head& head, std::uint64_t state_bytes) {
  if (journal_bytes_of_ != snapshots_.newest().sequence) {
    journal_bytes_ = head.bytes;
    journal_bytes_of_ = snapshots_.newest().sequence;
  }
  if (making_) {
    if (!making_->done()) return {};
    return finish(std::exchange(making_, nullptr)->take());
  }
  if (!is_due(head, state_bytes)) return {};
  TORC_TRY(snapshots_.look());  // somebody else may have been at it
  return is_due(head, state_bytes) ? begin() : Result<void>();
}

// From a read transaction, so writers go on. What it says of the chain is final, since what the
// replica contains is part of the history.
Result<void> SnapshotWriter::begin() {
  if (!may_begin()) return {};
  if (!tuning_.snapshots_beside) return finish(make());
  try {
    making_ = std::make_unique<SnapshotMaking>(
        replica_.environment(), world_.disk, location_.directory(), journal_.id(),
        journal_.publisher().method(), journal_.publisher().durable(), world_.entropy.next());
  } catch (const std::system_error&) {  // there can be no thread now
    return finish(make());
  }
  return {};
}

// One process of a node at a time; one that died in the middle is forgotten after a while.
bool SnapshotWriter::may_begin() {
  const BootTime now = world_.clock.boot_now();
  std::int64_t begun = replica_.shared().snapshot_begun.load();
  if (begun != 0 && now - BootTime(begun) < kSnapshotPatience) return false;
  return replica_.shared().snapshot_begun.compare_exchange_strong(
      begun, std::max<std::int64_t>(now.count(), 1));
}

Result<Head> SnapshotWriter::make() {
  TORC_ASSIGN(const Txn txn, Txn::begin(replica_.environment(), Access::read));
  Head head;
  if (const int rc = read_head(txn, head); rc != 0)
    return replica_.failure(rc, "cannot read the head");
  TORC_TRY(write_snapshot(journal_, txn, head));
  return head;
}

Result<void> SnapshotWriter::finish(Result<Head> made) {
  replica_.shared().snapshot_begun = 0;
  // So that the hosts of a workflow do not all come to it at the same commit.
  jitter_ = world_.entropy.next() % (tuning_.checkpoint_commits / 16 + 1);
  if (!made.ok()) return std::move(made).error();
  if (snapshots_.learn({made->sequence, made->chain})) {
    journal_bytes_ = made->bytes;
    journal_bytes_of_ = made->sequence;
  }
  // Who makes a snapshot collects what it covers, in time.
  replica_.shared().owed = made->sequence;
  return {};
}

void SnapshotWriter::cancel() {
  if (!making_) return;
  making_.reset();
  replica_.shared().snapshot_begun = 0;
}

}  // namespace torc::store
