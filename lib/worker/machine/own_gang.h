// The gang that a worker is part of, as its head or as another node of it, and how far the worker
// is with its part (gang.cc, gang_end.cc). What all parts are together is in
// lib/claim/rules/gang.h. A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/claim/rules/gang.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/room.h"
#include "lib/worker/machine/claimed_job.h"
#include "lib/worker/machine/event.h"

namespace torc::worker {

// A head gives a gang up that is not complete so long after its claim. A member without a bell, or
// that lost it, looks for work every 37 s at the latest (Pace::next_poll(); among more than 600
// workers a sixteenth of a second later for each), and may need kNodePatience; whoever takes longer
// is dead or cut off, and all the others hold idle nodes for it.
inline constexpr std::chrono::nanoseconds kGangPatience = std::chrono::seconds(60);
inline constexpr std::chrono::nanoseconds kGangPatienceEach = std::chrono::milliseconds(63);
inline constexpr std::chrono::nanoseconds kGangPatienceMore = std::chrono::seconds(20);
// With other workers of its node, that let go of what they have as soon as their jobs end.
inline constexpr std::chrono::nanoseconds kNodePatience = std::chrono::seconds(5);
// A part of a gang looks at the store so often, since a bell may be lost. With kGangLead a gang
// that is over ends on all nodes within ten seconds.
inline constexpr std::chrono::nanoseconds kGangLook = std::chrono::seconds(5);
// From the termination signal to SIGKILL, of a gang that does not count any more.
inline constexpr std::chrono::nanoseconds kGangLead = std::chrono::seconds(4);
// A head whose command has failed, and that waits for the others to show life, looks so soon at
// first, since bells may be lost.
inline constexpr std::chrono::nanoseconds kFirstLifeLook = std::chrono::milliseconds(500);
// One that waits longer than that says so.
inline constexpr std::chrono::nanoseconds kLifeUnusual = std::chrono::seconds(2);
// A member that is told to leave says so first, and waits so long for the store; and so long for
// what it ends.
inline constexpr std::chrono::nanoseconds kLeftPatience = std::chrono::seconds(2);
// For what cannot be killed: then the node is free all the same.
inline constexpr std::chrono::nanoseconds kClearPatience = std::chrono::seconds(30);
// For what cannot be looked at. One in the middle of an execution can be soon; one that is not
// dumpable (an ssh-agent, a set-user-ID program) never can, and mostly has nothing to do with it.
inline constexpr std::chrono::nanoseconds kUnseenPatience = std::chrono::seconds(5);

struct OwnGang {
  claim::GangPart part;  // as it was seen last
  BootTime since{};      // it has known of it
  bool gone = false;     // the store has it as a part of it no longer
  // Of the head, until it runs; of a member, what the gang is about.
  std::optional<ClaimedJob> job;

  // What it has of its node, which is all that it may use.
  bool has_node = false;
  claim::Requirement node;
  std::vector<claim::PieceUse> pieces;

  // Said, whether or not the store has heard it.
  bool confirmed = false;
  bool declined = false;
  std::optional<BootTime> leaves;  // before its end, by a worker that cannot go on
  bool unheard = false;            // the store did not say that it has heard that
  bool look = false;               // is under way
  // Of the head: it has said that the command failed, and since when; of a member: that it lives.
  std::optional<BootTime> showed_life;
  bool told_silent = false;
  bool told_loss = false;
  BootTime look_at{};

  int refusals = 0;        // of its start here
  std::optional<Run> run;  // its command, or the recovery script in its place
  bool stopped = false;    // that was told to end
  bool may_save = false;   // its command says by its exit code that it saved its state
  bool saves = false;      // it was told to, since another node has saved its state
  bool ended_here = false;
  bool recovered = false;                // the failure was followed by its recovery script
  bool revoked = false;                  // canceled, before the head had started it
  std::optional<claim::Finished> whole;  // what all of it came to; of the head
  bool asked_outputs = false;            // when all nodes had ended well
  std::optional<event::OutputsMade> outputs;

  // Whether something of it may be left on this node, and what is done about it.
  bool cleared = false;
  bool clearing = false;  // not answered yet
  bool swept = false;     // of a member: once, when the head said that the command has failed
  std::optional<BootTime> clear_since;
  BootTime clear_at{};
  std::chrono::nanoseconds clear_delay = std::chrono::milliseconds(250);

  [[nodiscard]] const claim::Gang& gang() const { return part.gang; }
  [[nodiscard]] const claim::ClaimToken& token() const { return part.gang.token; }
  [[nodiscard]] bool is_head() const { return part.rank == 0; }
  [[nodiscard]] bool is_over() const {
    return gone || revoked || unheard || part.gang.stage == claim::GangStage::over;
  }
  // It, or its head, may have started something here.
  [[nodiscard]] bool may_have_run() const { return is_head() ? run || ended_here : confirmed; }
};

}  // namespace torc::worker
