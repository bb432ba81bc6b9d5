// Engine `journal`: the chain of commit files on a shared filesystem is the truth, LMDB on the node
// a copy of it. docs/maintainer/store-protocol.md has the protocol and why each rule is there.
//
// A JournalStore is made of parts with one job each. It owns them all, and only it knows what the
// work of one means for another: no part calls it. Each stands on parts further down in this list,
// and is given them when it is made.
//
//   ChainWriter     adds a commit, by the rule of the writer
//   CatchUp         brings the replica to the newest state
//   ChainReader     reads commits and snapshots into the replica, by the rule of the reader
//   Survey          tells which commits listings show
//   Evidence        tells whether the files still say what the replica holds
//   Collection      deletes what nobody needs any more
//   SnapshotWriter  decides when a snapshot is made, and has it made
//   SegmentWriter   writes many commits into one file
//   KnownSnapshots  knows the newest snapshot, and since when the node knows it
//   NodeReplica     is the node's copy in use
//   Location        knows where the store lies, what the mount does, and the retention
//   Journal         names, reads and publishes the files
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/store/engine/engines.h"
#include "lib/store/format/journal.h"
#include "lib/store/journal/catch_up.h"
#include "lib/store/journal/chain_reader.h"
#include "lib/store/journal/chain_writer.h"
#include "lib/store/journal/collection.h"
#include "lib/store/journal/evidence.h"
#include "lib/store/journal/known_snapshots.h"
#include "lib/store/journal/location.h"
#include "lib/store/journal/segment_writer.h"
#include "lib/store/journal/snapshot_writer.h"
#include "lib/store/journal/survey.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

class JournalStore final : public Store {
 public:
  JournalStore(const World& world, const Path& directory, const Meta& meta, const Tuning& tuning);
  JournalStore(const JournalStore&) = delete;  // its parts know each other
  JournalStore& operator=(const JournalStore&) = delete;

  // Before all else: what hosts have agreed on, and a first look at the state.
  Result<void> start();
  Result<Commit> commit(std::uint64_t author, const Body& body) override;
  Result<void> view(Freshness freshness,
                    const std::function<Result<void>(const Reader&)>& body) override;
  void expect(std::uint64_t sequence) override { survey_.expect(sequence); }
  Result<void> maintain() override;
  [[nodiscard]] int changes_fd() const override { return replica_.changes_fd(); }
  void clear_changes() override { replica_.clear_changes(); }
  void forget_copy() override;
  [[nodiscard]] const Identity& identity() const override { return location_.identity(); }
  [[nodiscard]] const Path& directory() const override { return location_.directory(); }
  [[nodiscard]] const std::string& note() const override { return note_; }
  // Where this process keeps its copy now; empty: nowhere.
  [[nodiscard]] Path replica_directory() const { return replica_.directory(); }

 private:
  Result<void> look_at_mounts();
  void forget_place();
  Result<void> attach();
  void leave_replica(NodeReplica::Why why);
  Result<Commit> inside_gate(const std::function<Result<Commit>()>& work);

  World world_;
  Tuning tuning_;
  std::string note_;
  Location location_;
  Journal journal_;
  NodeReplica replica_;
  KnownSnapshots snapshots_;
  Evidence evidence_;
  Survey survey_;
  ChainReader reader_;
  CatchUp catch_up_;
  ChainWriter writer_;
  SegmentWriter segments_;
  SnapshotWriter snapshot_writer_;  // after replica_, which it reads from until it is gone
  Collection collection_;
};

}  // namespace torc::store
