// A gang: one attempt of a job of several nodes, and the workers that hold their nodes for it. All
// of them belong to one group: one run of an allocation, or workers that were told the same
// `--group`. Values; what changes them is in exchange.h and membership.h.
//
// A worker whose node is free offers it with its exchange, and that binds it: it starts nothing
// until an exchange grants it something. Whoever finds, in the order of the ready jobs, a gang for
// which its own node and the offers of its group are enough claims all of them in that one commit,
// by one token, and is its head. The others take their whole node and confirm; once all have, the
// head starts the command. Each holds its node, and starts nothing else, until the attempt is over.
// Then it ends what is left of it on its node, says so, and is free.
//
//   forming --all confirmed--> complete --started--> running --finished--> over
//   any of them --a member leaves, is lost or cannot; the job is canceled--> over
//
// A loss ends the attempt in the very commit that sees it: the job is requeued (or has failed), its
// token is dead, and all that are alive are told `over`, the head too.
//
// A command whose ranks are on several nodes fails when one of these dies, and often long before
// anybody knows of that death. So a failure is the job's own only when every other member has shown
// life after it: the head says that the command has failed (its own `lives`), by which the others
// are asked, each of them says `lives`, and then the head reports the end. One that is dead says
// nothing, its lease runs out, and that is how the attempt ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/claim/rules/job.h"

namespace torc::claim {

// A job may ask for so many at most.
inline constexpr std::uint32_t kMostGangNodes = 4096;

// A group that is one run of an allocation of Slurm is called so, with a blank, as no name has that
// a person gives: it gets no more nodes than it began with.
inline constexpr std::string_view kAllocationGroup = "Slurm ";

// Of the jobs of several nodes that wait and concern a worker's group, the one that lacks fewest.
struct WaitingGang {
  std::uint32_t nodes = 0;  // of the group that could be part of it, up to as many as it needs
  std::uint32_t lacks = 0;  // so many more
};

enum class GangStage : std::uint8_t {
  forming,   // some have not confirmed
  complete,  // all have: the head may start
  running,   // the head has reported the start
  over       // nothing of it counts any more: end what is left, leave
};
inline constexpr GangStage kLastGangStage = GangStage::over;

// A node of it. Ranks are places in the list; 0 is the head, which holds the job's token.
struct GangMember {
  WorkerEpoch worker{};
  std::string node;  // by which the others reach it: Slurm's name, `--node-name`, or its host
  bool confirmed = false;
  bool left = false;
  // Where each node runs the command (`launch: all`): how it ended here.
  std::optional<Outcome> end;
  // Of the head: the command has failed, and the others are asked whether they live. Of another: it
  // has said so since.
  bool lives = false;
  // With `end`: it was told to end, has saved its state, and can go on from there.
  bool saved = false;
  auto operator<=>(const GangMember&) const = default;
};

struct Gang {
  ClaimToken token;
  std::uint32_t job_class = 0;
  GangStage stage = GangStage::forming;
  std::uint16_t port = 0;  // that the head chose for what the members run together; 0: none yet
  std::vector<GangMember> members;  // by rank, at least two; node names differ

  // The command has failed, and who has not said since that it lives is awaited.
  [[nodiscard]] bool asks() const { return members.front().lives; }
  // A member has saved its state: the others are to do the same, and end.
  [[nodiscard]] bool is_saved() const {
    return std::any_of(members.begin(), members.end(), [](const GangMember& m) { return m.saved; });
  }
  [[nodiscard]] bool all_live() const {
    return std::all_of(members.begin(), members.end(), [](const GangMember& m) { return m.lives; });
  }
  auto operator<=>(const Gang&) const = default;
};

// What a member says of the gang that it is part of, in an exchange. One that names no gang of the
// worker, or comes too late, changes nothing.
struct GangWord {
  enum class What : std::uint8_t {
    confirmed,  // it has its whole node
    declined,   // it cannot have it: the attempt is given back unstarted, by rank 0 for others that
                // do not confirm (`rank`); who is declined is free only by its own next word
    ended,      // `launch: all`: the command has ended here, with `outcome`; the head says so when
                // it has saved its state
    lives,      // of the head: it has failed, do the others live; of another: it does
    leaves,     // it cannot go on: the attempt ends by that, and is over. What runs of it here is
                // ended next; until `left` it is part of it
    left        // nothing of it runs here any more, and the node is free
  };
  ClaimToken token;
  What what = What::confirmed;
  Outcome outcome;         // ended
  bool saved = false;      // ended: as GangMember::saved
  std::uint16_t port = 0;  // of the head, with its confirmation or its start; 0: as before
  std::vector<std::uint32_t> silent;  // ranks, with `declined` of the head
};

// What a worker is told of the gang that it is part of, in every answer as long as it is.
struct GangPart {
  Gang gang;
  std::uint32_t rank = 0;  // its own
  // Of one that is over: how its attempt ended, `none` where that is not known any more, and
  // whether the job is to run again.
  EndCause why = EndCause::none;
  bool runs_again = false;
  std::vector<std::uint32_t> lost;  // ranks whose workers are there no longer, the first of them
};

}  // namespace torc::claim
