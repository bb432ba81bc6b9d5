// The snapshots that a Store knows of, and since when its node has known them. Their names are
// enough for the rules of reader and writer: a snapshot that goes beyond a number covers it.
//
// What it knows only grows: a listing may be older than one before it. One thread at a time.
#pragma once

#include <cstdint>

#include "lib/store/format/journal.h"
#include "lib/store/journal/location.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

class KnownSnapshots {
 public:
  // All outlive this.
  KnownSnapshots(Clock& clock, Journal& journal, const Location& location, NodeReplica& replica)
      : clock_(clock), journal_(journal), location_(location), replica_(replica) {}

  // The newest that this Store has ever seen here.
  [[nodiscard]] const SnapshotName& newest() const { return newest_; }
  // Lists snapshot/ and answers the newest that is shown, which may be an older one. Errors: fenced
  // or io when the directory is not there, others of the filesystem; what is known stays.
  Result<SnapshotName> look();
  // The same, past what this client remembers of the directory. false: nothing can be made there,
  // so the listing may be as old as any.
  Result<bool> refresh();
  // One of which this Store knows otherwise. Whether it is the newest now.
  bool learn(const SnapshotName& name);
  // At another place.
  void forget() { newest_ = {}; }

  // The notes are shared by the processes of the node, so workers that live for less than the
  // retention add up. Precondition: the replica is attached.

  // That the node knows of `snapshot` now. Inside the gate, and not before
  // Location::read_retention(): who does not know of a longer one writes notes so often that none
  // grows old.
  void note(const SnapshotName& snapshot);
  // The newest number that this node knew a retention ago; 0: none, or somebody is in the gate,
  // which it enters itself.
  [[nodiscard]] std::uint64_t matured();

 private:
  Clock& clock_;
  Journal& journal_;
  const Location& location_;
  NodeReplica& replica_;
  SnapshotName newest_;
};

}  // namespace torc::store
