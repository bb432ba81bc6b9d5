// Bringing the replica to the newest state: what to read, and what may be concluded where there is
// no way on (docs/maintainer/store-protocol.md, "Catching up").
//
// It decides; the parts that it is given list, read and remember. It has no state of its own.
// Precondition of both calls: the replica is attached. After an Error the replica holds what was
// true once, and is not called the newest. One thread at a time.
#pragma once

#include <cstdint>

#include "lib/store/format/journal.h"
#include "lib/store/journal/chain_reader.h"
#include "lib/store/journal/evidence.h"
#include "lib/store/journal/known_snapshots.h"
#include "lib/store/journal/location.h"
#include "lib/store/journal/survey.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

class CatchUp {
 public:
  // All outlive this.
  CatchUp(Clock& clock, Journal& journal, const Location& location, NodeReplica& replica,
          KnownSnapshots& snapshots, Evidence& evidence, Survey& survey, ChainReader& reader)
      : clock_(clock),
        journal_(journal),
        location_(location),
        replica_(replica),
        snapshots_(snapshots),
        evidence_(evidence),
        survey_(survey),
        reader_(reader) {}

  // Without the gate and with one request: is what this node has the newest? `false` may mean
  // "don't know".
  Result<bool> quiet();
  // Inside the gate. Errors: corrupt (a commit is lost or damaged; it names the file), busy (why
  // something is missing cannot be learned by this node yet), others of the filesystem.
  Result<void> run();

 private:
  // What can be said when there is no way on from the replica's newest commit to what is listed.
  enum class Next : std::uint8_t {
    none,       // it is the newest
    snapshot,   // a snapshot goes beyond it
    look_again  // what was missing is there now
  };

  Result<void> validate();
  Result<void> check_directories();
  Result<void> check_beginning(const Extent& extent);
  Result<bool> is_newest(const Head& head, const Extent& extent, BootTime asked);
  Result<Next> explain(const Head& head, const Extent& extent, const ChainReader::Outcome& read);
  [[nodiscard]] bool view_is_old(BootTime now);
  // Everything that was there at `asked` is in the replica.
  void note_newest(BootTime asked);

  Clock& clock_;
  Journal& journal_;
  const Location& location_;
  NodeReplica& replica_;
  KnownSnapshots& snapshots_;
  Evidence& evidence_;
  Survey& survey_;
  ChainReader& reader_;
};

}  // namespace torc::store
