// Adds a commit to the chain: runs the body of a transaction, publishes what it wrote under the
// next number, and settles what became of that, by the rule of the writer
// (docs/maintainer/store-protocol.md, "The commit").
//
// It owns the hint against races (the `lock` file) and what it owes to those who come later: the
// segment that ends with its own commit. Everything that can fail locally fails before the number
// is asked for; after an Error of kind unknown the commit may or may not be part of the history,
// and nothing is run again; after any other Error it surely is not. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/store/disk/advisory_lock.h"
#include "lib/store/format/journal.h"
#include "lib/store/journal/catch_up.h"
#include "lib/store/journal/chain_reader.h"
#include "lib/store/journal/evidence.h"
#include "lib/store/journal/known_snapshots.h"
#include "lib/store/journal/location.h"
#include "lib/store/journal/survey.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

class ChainWriter {
 public:
  // The parts of the Store that it stands on; all outlive it.
  struct Parts {
    Journal& journal;
    const Location& location;
    NodeReplica& replica;
    KnownSnapshots& snapshots;
    Evidence& evidence;
    Survey& survey;
    ChainReader& reader;
    CatchUp& catch_up;
  };

  // `world` outlives this. `lock_wait`: at most so long for the lock, after races were seen.
  ChainWriter(const World& world, const Parts& parts, std::chrono::nanoseconds lock_wait)
      : world_(world),
        parts_(parts),
        lock_wait_(lock_wait),
        lock_(world.disk, world.clock, world.entropy, parts.journal.lock_file()) {}

  // Precondition: inside the gate, and the replica is attached. `conflicts` goes up by the times
  // that another host was first. The lock may be held afterwards.
  Result<Commit> commit(std::uint64_t author, const Store::Body& body, std::uint32_t& conflicts);
  void release_lock() { lock_.release(); }

  // The segment that ends with the last commit, to be written between commits; nullopt: none is
  // due, or it was taken already.
  std::optional<SegmentName> take_due_segment();

 private:
  struct Attempt {
    enum class Outcome : std::uint8_t {
      committed,
      nothing,
      refused,
      conflict
    } outcome = Outcome::nothing;
    std::uint64_t sequence = 0;
    Error refusal;  // what the body said
  };
  enum class Fate : std::uint8_t {
    counts,    // it is part of the chain
    not_ours,  // nothing of it ever is: the number is another's, or nobody's yet
    covered    // a snapshot goes beyond its number: the state itself must be asked
  };

  Result<bool> may_skip_listing();
  Result<Attempt> attempt(std::uint64_t author, const Store::Body& body);
  Result<Attempt> publish(Txn& txn, std::uint64_t author, const Head& head, const WriteSet& writes);
  // What became of a publication.
  Result<Fate> settle(const Head& head, const CommitHeader& header, Publication published);
  Result<Fate> without_directory(const Head& head, const CommitHeader& header);
  Result<Attempt> decide_by_ring(const CommitHeader& header);
  void remove_own(std::uint64_t sequence, const CommitId& id);
  [[nodiscard]] Error unknown(std::uint64_t sequence, const std::string& why,
                              const std::string& remedy = {}) const;

  const World& world_;
  Parts parts_;
  std::chrono::nanoseconds lock_wait_;
  AdvisoryLock lock_;
  std::optional<SegmentName> due_segment_;
};

}  // namespace torc::store
