// What happens to a worker: all that its state machine (step.h) ever learns. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/request.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/exec/end/kill_tree.h"
#include "lib/exec/node/node_table.h"
#include "lib/exec/run/process_host.h"
#include "lib/worker/machine/allocation_use.h"
#include "lib/worker/machine/claimed_job.h"

namespace torc::worker {

// Whose fault it is that a command was not started.
enum class Blame : std::uint8_t {
  job,       // its program
  node,      // a directory or file that this node cannot use
  workflow,  // the working directory, which is not there: no job can be started
  unknown    // a filesystem does not answer, or is not mounted any more: of the files nothing is
             // known
};

namespace event {

// --- what happens by itself ---

// Everything that has happened was told: time to act. After each of these there is a time at which
// the next is due at the latest: wake_at().
struct Turn {
  std::uint32_t owed_to_others = 0;  // CPUs; see NodeLedger::owed_to_others()
};

// The lease as it is now, see exec::WatchedLease. Comes before the ends of jobs and each Turn.
struct LeaseSeen {
  bool stands = true;
  bool fenced = false;
  bool paused = false;
  BootTime paused_since{};
  std::optional<BootTime> due;
};

// This process did not run for so long, nor did its jobs (`scontrol suspend`).
struct StoodStill {
  std::chrono::nanoseconds time{};
};

// The batch system has moved the end of the allocation.
struct EndMoved {
  BootTime ends_at{};  // as Terms::ends_at
};

// A signal to this process; SIGUSR1 is not the state machine's.
struct Signal {
  int number = 0;
};

// Whoever started this worker has what was wanted, or does not want the rest: what runs is ended
// and given back, or may end by itself.
struct Halt {
  bool now = false;
};

// The command that was executed was not found, or something that it needs.
struct Fault {
  exec::StartStep step = exec::StartStep::none;
  int os_errno = 0;
  Blame blame = Blame::job;
};

// What a job has made of its output files.
struct OutputsMade {
  std::string signature;      // encoded, of all files that it declares; empty: none
  std::uint32_t missing = 0;  // the first that is not there, from 1; 0: none, or not known
  // Its filesystem may show late what another node has written.
  bool may_come = false;
};

// A command has ended, with all of its processes.
struct Ended {
  Run run{};
  exec::Ended how;
  OutputsMade outputs;
  std::optional<Fault> fault = {};  // of one that was not started, of which start() did not know
  // What its output says of its failure; asked for only where that may let it run again.
  claim::Trouble said = claim::Trouble::unknown;
};

// To command::LookAtOutputs.
struct OutputsSeen {
  Run run{};
  OutputsMade outputs;
};

// Of commands in the lane: one has begun; one never will, and start() has to say why.
struct Begun {
  Run run{};
  WallTime at{};
  BootTime since{};
};
struct Declined {
  std::vector<Run> runs;
};

// Another process committed something.
struct Changed {};

// Another worker says that there is work for this one since a commit, see bell_hearing.h.
struct Bell {
  std::uint64_t commit = 0;
  std::uint32_t place = 0;
};

// What was canceled while this worker held it.
struct Revoked {
  std::vector<claim::ClaimToken> tokens;
};

// What the store, as of that commit, says of the gang that this worker is part of; of none:
// nothing.
struct GangSeen {
  std::uint64_t commit = 0;
  std::optional<claim::GangPart> part;
  std::optional<ClaimedJob> job;  // Answered::gang_job
};

// The lease was found to be lost outside of an exchange.
struct LeaseLost {
  Error why;
};

// The bell of the node's ledger rang, or it was time to look.
struct ShareBell {
  exec::NodeHolding could_hold;
};

// The ledger was lost: what was held but not used may be others' by now.
struct ShareLost {
  exec::NodeHolding holding;  // what is held after it was entered again
};

// --- answers to commands ---

// To command::Submit.
struct Answered {
  // fenced, unknown, corrupt: the lease is lost, nothing of this worker counts any more. Others:
  // surely not committed; the exchange is to be sent again.
  std::optional<Error> error;
  claim::Answer answer;
  std::vector<ClaimedJob> jobs;  // the grants, in the order in which they should start
  bool wrote = false;
  std::chrono::nanoseconds cost{};  // of the commit
  std::uint64_t newest = 0;         // commit of anybody that was seen
  // The job of the gang that it is a member of, not the head, once for each.
  std::optional<ClaimedJob> gang_job;
};

// To command::EndGang.
struct GangCleared {
  claim::ClaimToken token;
  exec::Leftovers left = exec::Leftovers::none;
};

// To command::AskStore: what comes of it is seen at the lease. Why it came to nothing, if it did
// and that may pass.
struct AskAnswered {
  std::optional<Error> error;
};

// To command::LookAtAllocation. Nothing: something could not be read, and may be anything.
struct AllocationSeen {
  std::optional<AllocationUse> use;
};

// To command::StartJob, StartRecovery and StartAction, before anything else happens.
struct StartAnswer {
  enum class What : std::uint8_t {
    started,
    refused,   // nothing can be started here now
    postponed  // the lease is in doubt
  };
  // Its end is told all the same unless it is forgotten (command::ForgetRun).
  using Fault = event::Fault;
  Run run{};
  What what = What::started;
  WallTime at{};
  std::optional<Fault> fault;
  std::string why;  // refused
};

// To command::ArmJobs: those that cannot be started in the lane, in their order.
struct Armed {
  std::vector<Run> refused;
};

// To command::TakeBack: those that have not begun and never will, the newest last.
struct TakenBack {
  std::vector<Run> runs;
};

// To command::TakeShare.
struct ShareTaken {
  exec::NodeHolding holding;
  bool complete = false;          // see NodeLedger::Taken
  std::optional<BootTime> again;  // the same
};

// To command::KeepShare and WaitForShare.
struct ShareHeld {
  exec::NodeHolding holding;
};

// To command::Goodbye.
struct GoodbyeAnswer {
  std::optional<Error> error;
  claim::Answer answer;           // to what was said with it
  claim::WorkflowState workflow;  // afterwards
};

}  // namespace event

using Event =
    std::variant<event::Turn, event::LeaseSeen, event::StoodStill, event::EndMoved, event::Signal,
                 event::Halt, event::Ended, event::Begun, event::Declined, event::Changed,
                 event::Bell, event::Revoked, event::GangSeen, event::GangCleared, event::LeaseLost,
                 event::ShareBell, event::ShareLost, event::Answered, event::AskAnswered,
                 event::AllocationSeen, event::StartAnswer, event::Armed, event::TakenBack,
                 event::ShareTaken, event::ShareHeld, event::GoodbyeAnswer, event::OutputsSeen>;

}  // namespace torc::worker
