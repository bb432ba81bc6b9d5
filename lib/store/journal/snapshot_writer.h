// Decides when a Store makes a snapshot of its node's replica, and has it made: in place, or beside
// its commits on a thread of its own (snapshot_making.h). Nothing here delays or fails a commit.
//
// It owns the making of a snapshot that is under way, which reads from the replica: cancel() comes
// before that is left or grows, since LMDB waits for every transaction then. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/store/format/journal.h"
#include "lib/store/format/snapshot_making.h"
#include "lib/store/journal/known_snapshots.h"
#include "lib/store/journal/location.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

class SnapshotWriter {
 public:
  // All outlive this.
  SnapshotWriter(const World& world, const Tuning& tuning, Journal& journal,
                 const Location& location, NodeReplica& replica, KnownSnapshots& snapshots)
      : world_(world),
        tuning_(tuning),
        journal_(journal),
        location_(location),
        replica_(replica),
        snapshots_(snapshots) {}
  ~SnapshotWriter() { cancel(); }
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // Begins a snapshot when one is due, and takes note of one that is finished: what it covers is
  // owed to collection then. `head` and `state_bytes` (of its pages) are those of the replica,
  // which is attached. Errors: that of a snapshot that could not be made; it becomes due again.
  Result<void> maintain(const Head& head, std::uint64_t state_bytes);
  // Waits for the rest of the disk's work when it came so far.
  void cancel();
  // At another place: when the next one is due is reckoned anew.
  void forget() { journal_bytes_of_ = UINT64_MAX; }

 private:
  [[nodiscard]] bool is_due(const Head& head, std::uint64_t state_bytes) const;
  Result<void> begin();
  bool may_begin();
  Result<Head> make();
  Result<void> finish(Result<Head> made);

  const World& world_;
  const Tuning& tuning_;
  Journal& journal_;
  const Location& location_;
  NodeReplica& replica_;
  KnownSnapshots& snapshots_;
  std::uint64_t journal_bytes_ = 0;  // length of the journal when the newest was first seen here
  std::uint64_t journal_bytes_of_ = UINT64_MAX;  // the snapshot that this is about
  std::uint64_t jitter_ = 0;                     // commits
  std::unique_ptr<SnapshotMaking> making_;
};

}  // namespace torc::store
