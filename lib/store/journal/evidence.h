// Whether the files still say what the replica holds: positive evidence, which no listing and no
// clock gives (docs/maintainer/store-protocol.md, "Positive evidence").
//
// Collection takes whole directories of commit files, in ascending order, and the files of one in
// ascending order (collection.cc). So as long as the file of commit N is there and is that commit,
// no number above N was ever free again: what was found or made there before that look is part of
// the chain.
//
// Where the file is gone, either a snapshot goes beyond it or it is lost. That is decided by a
// listing that this client asked for anew.
//
// It owns what is remembered of earlier looks: when the node last saw the newest file, which all
// its processes share, and which commit of this Store nothing has cast doubt on since. Precondition
// of all: the replica is attached. Errors other than a finding are of the filesystem, or busy: why
// something is missing cannot be learned by this node now. One thread at a time.
#pragma once

#include <cstdint>

#include "lib/store/format/journal.h"
#include "lib/store/journal/known_snapshots.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

// What the files say of the replica's newest commit. Where nothing can be learned: an Error.
enum class Agreement : std::uint8_t {
  agrees,   // its file is there and is that commit; nothing of its directory was ever collected
  covered,  // a snapshot goes beyond it
  lost,     // its file is gone and no snapshot explains it: copies alone have it
  differs   // another commit has its number: it was lost, and the number used again
};

class Evidence {
 public:
  // All outlive this.
  Evidence(Clock& clock, Journal& journal, NodeReplica& replica, KnownSnapshots& snapshots)
      : clock_(clock), journal_(journal), replica_(replica), snapshots_(snapshots) {}

  // Reads the file of `head`, and where that is not what the replica holds looks for the reason.
  Result<Agreement> of(const Head& head);
  // What is told of `head` when it is lost or differs. Whoever says so does not build on what this
  // Store committed last without looking first.
  Error finding(Agreement agreement, const Head& head);

  // `number`, which the replica has, is not listed, though its newest is. What others cannot read
  // nobody builds on: ok only when the file is there, or a snapshot covers it.
  Result<void> check_hole(const Head& head, std::uint64_t number);
  // Of a replica that was found: are all files there that others need to come as far? One listing
  // for each directory from the newest snapshot to the one of `head`, which is listed anyway.
  Result<void> check_directories(const Head& head);

  // The file of `sequence` was seen to be what the replica holds, by any process of the node.
  void note_seen(std::uint64_t sequence);
  // That of `head`, a few seconds ago: nobody asks again before a commit is built on it. After the
  // commit it is asked in any case.
  [[nodiscard]] bool seen_lately(const Head& head, BootTime now);

  // The last commit of this Store, unless something is known to be lost since; 0: none.
  [[nodiscard]] std::uint64_t own_newest() const { return own_newest_; }
  void note_own(std::uint64_t sequence) { own_newest_ = sequence; }
  // At another place.
  void forget_own() { own_newest_ = 0; }

 private:
  // For what is told: whose history it is of is not asked.
  bool segment_has(std::uint64_t number);
  Result<Agreement> without_file(const Head& head);
  // A file has the number and other bytes: another commit, or an Error that says how it is damaged.
  Result<Agreement> another_one(const Head& head, std::string bytes);

  Clock& clock_;
  Journal& journal_;
  NodeReplica& replica_;
  KnownSnapshots& snapshots_;
  std::uint64_t own_newest_ = 0;
};

// A commit file is not there, and whether it was collected or lost cannot be learned here.
[[nodiscard]] Error not_there_for_this_node(const Path& file);

}  // namespace torc::store
