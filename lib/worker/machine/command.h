// What a worker's state machine (step.h) wants done. Values. Those marked "answered" are answered
// by the event of the same section of event.h before anything else is told to the machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/request.h"
#include "lib/exec/machine/cpus.h"
#include "lib/exec/node/node_table.h"
#include "lib/worker/machine/claimed_job.h"
#include "lib/worker/machine/notice.h"

namespace torc::worker::command {

// --- commands of the workflow ---

struct StartJob {  // answered: StartAnswer
  Run run{};
  std::shared_ptr<Load> load;
  std::vector<std::string> gpus;  // the names of its own
  exec::CpuList cpus;             // that it is bound to; empty: to none
  // Of a job of several nodes; null: it has one.
  std::shared_ptr<const claim::GangPart> gang = nullptr;
  // What it has of each resource with a name: its pieces, or how much. No GPUs.
  std::vector<std::pair<std::string, std::string>> named = {};
};

// The recovery script of a job that has ended, in its place.
struct StartRecovery {  // answered: StartAnswer
  Run run{};
  std::shared_ptr<Load> load;
  claim::Finished failed;
  std::string script;
};

struct StartAction {  // answered: StartAnswer
  Run run{};
  claim::ActionGrant grant;        // `done`: which of its commands
  std::chrono::nanoseconds limit;  // 0: none
};

// Jobs that the host's own threads begin in this order, see ProcessHost::queue().
struct ArmJobs {  // answered: Armed
  std::vector<std::pair<Run, std::shared_ptr<Load>>> jobs;
};
struct LetRun {
  std::size_t jobs = 0;  // of the lane, at the same time
};
struct TakeBack {};  // answered: TakenBack

struct StopRun {
  Run run{};
  std::chrono::nanoseconds lead{};
};
struct KillRun {
  Run run{};
};
// Its start is as if it had never been.
struct ForgetRun {
  Run run{};
};
// Whatever runs on this node for the gang of that token is killed, whoever started it: by its
// environment.
struct EndGang {  // answered in its time: GangCleared
  claim::ClaimToken token;
};
// Once more, or of a job that several nodes run at all only when all of them have ended.
struct LookAtOutputs {  // answered in its time: OutputsSeen
  Run run{};
  std::shared_ptr<Load> load;
};
// The output of a job is complete; `keep`: its files, whatever the job asks for.
struct CloseOutput {
  Run run{};
  bool completed = false;
};

// --- the store ---

struct Submit {  // answered in its time: Answered
  claim::Exchange exchange;
};
// Whether the paused lease still stands.
struct AskStore {};  // answered in its time: AskAnswered
// What the workers of its allocation have to do, in the newest state.
struct LookAtAllocation {};  // answered in its time: AllocationSeen

// --- the lease ---

// What ran in its name counts no more; all of it is ended, and what it wrote is kept as it is.
struct LoseLease {};
// Nothing runs in its name, and it is not needed any more.
struct LetGoOfLease {};

// --- the node ---

struct TakeShare {  // answered: ShareTaken
  exec::NodeAmount want;
};
struct KeepShare {  // answered: ShareHeld
  exec::NodeHolding rest;
};
struct WaitForShare {  // answered: ShareHeld
  bool waits = false;
};

// --- people ---

struct Tell {
  Notice notice;
};
struct ShowProgress {};  // State::summary has a newer workflow
struct TellJobOver {     // not one that is tried again
  std::shared_ptr<Load> load;
  claim::Finished finished;
};
struct TellFailure {
  std::shared_ptr<Load> load;
  claim::Outcome outcome;
};

// --- the end ---

// No more exchanges and no more jobs.
struct CloseShop {};
// What is still to be said and the release, in one commit: never the one without the other.
struct Goodbye {  // answered: GoodbyeAnswer
  claim::Exchange words;
  bool speaks = false;  // there are any
};
struct Leave {
  std::optional<Error> failure;  // the store could not be told
};

}  // namespace torc::worker::command

namespace torc::worker {

using Command =
    std::variant<command::StartJob, command::StartRecovery, command::StartAction, command::ArmJobs,
                 command::LetRun, command::TakeBack, command::StopRun, command::KillRun,
                 command::ForgetRun, command::EndGang, command::LookAtOutputs, command::CloseOutput,
                 command::Submit, command::AskStore, command::LookAtAllocation, command::LoseLease,
                 command::LetGoOfLease, command::TakeShare, command::KeepShare,
                 command::WaitForShare, command::Tell, command::ShowProgress, command::TellJobOver,
                 command::TellFailure, command::CloseShop, command::Goodbye, command::Leave>;
using Commands = std::vector<Command>;

}  // namespace torc::worker
