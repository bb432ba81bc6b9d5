// Puts into the replica what the files say: commits, by the rule of the reader, and whole
// snapshots. Everything here runs inside the gate, on a replica that is attached.
//
// What it has read is committed to the replica only when it is known to be the chain; after every
// other answer, and after an Error, the replica holds what it held. An Error of the replica itself
// is noted there (NodeReplica::failed()). It owns no state but what it has learnt of segments in
// this catching up, and when it last read a commit of another host. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "lib/store/format/journal.h"
#include "lib/store/journal/evidence.h"
#include "lib/store/journal/known_snapshots.h"
#include "lib/store/journal/location.h"
#include "lib/store/journal/survey.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

class ChainReader {
 public:
  struct Outcome {
    enum class State : std::uint8_t {
      accepted,
      contradicted,  // what was read does not continue the history, or is not the chain
      vanished       // a file was not there
    } state = State::contradicted;
    std::uint64_t missing = 0;  // the number at which it found no file that goes on; 0: at none
  };

  // All outlive this.
  ChainReader(Clock& clock, Journal& journal, const Location& location, NodeReplica& replica,
              KnownSnapshots& snapshots, Evidence& evidence, Survey& survey)
      : clock_(clock),
        journal_(journal),
        location_(location),
        replica_(replica),
        snapshots_(snapshots),
        evidence_(evidence),
        survey_(survey) {}

  // Another catching up begins: segments are of use again.
  void begin() { segments_usable_ = true; }
  // Whether segments were used for what was not accepted. They are no evidence, only single files
  // are: from now on they are left out.
  bool give_up_segments();

  // Applies the commits after `start`, which is the replica's head, to `highest` or further.
  // Errors: corrupt (a file is damaged, or `start` is lost), others of the filesystem.
  Result<Outcome> read(const Head& start, std::uint64_t highest);

  // Replaces the replica by the newest snapshot that is good and goes beyond it. It is never set
  // back: what it has beyond a snapshot may be nowhere else. Errors: corrupt (it has a commit that
  // the snapshot contradicts), busy (no listing shows the snapshot yet), others.
  Result<void> load_snapshot();

  // When a commit of another host was last read; nullopt: never, or at another place.
  [[nodiscard]] std::optional<BootTime> others_seen() const { return others_seen_; }
  void forget_others() { others_seen_.reset(); }

 private:
  using Passed = std::map<std::uint64_t, Hash128>;  // chain hash after each commit applied

  Result<Outcome> apply_run(Txn& txn, Head& head, std::uint64_t highest, Passed& passed);
  Result<void> apply_segments(Txn& txn, Head& head, std::uint64_t most, Passed& passed);
  // `bytes`: of the file; empty where they are more than kMostOfTail.
  Result<void> apply(Txn& txn, CommitFile file, std::string_view bytes, Head& head);
  Result<Outcome> keep(Txn& txn, const Head& head);
  // covered: the replica is what the snapshot says. differs: it has a commit that the snapshot
  // contradicts, and was left as it is.
  Result<Agreement> load(const SnapshotName& name);

  Clock& clock_;
  Journal& journal_;
  const Location& location_;
  NodeReplica& replica_;
  KnownSnapshots& snapshots_;
  Evidence& evidence_;
  Survey& survey_;
  bool segments_usable_ = true;
  bool segments_used_ = false;
  std::optional<BootTime> others_seen_;
};

}  // namespace torc::store
