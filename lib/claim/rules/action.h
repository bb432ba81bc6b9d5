// Actions: commands (or allocations to be asked for) that something that happens to the workflow,
// or to a worker, sets off. Values and their encodings; firing.h has the rules.
//
// Each firing of an action is a run. A worker takes a run as it takes a job, by a transaction, and
// has it under its lease: exactly one end of each run is accepted. Of a worker that is lost in the
// middle the run goes to another one, which begins with the first command whose end was not
// reported; so a command that was cut off, or whose end was not reported in time, runs again.
// What is set off by workers is theirs alone: a run that is lost with its worker has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/claim/rules/job.h"

namespace torc::claim {

enum class Trigger : std::uint8_t {
  workflow_start,     // no job is granted before it has ended
  workflow_complete,  // nothing runs, nothing more will, nothing is held or waits for a decision
  jobs_ready,         // what some jobs wait for is as it has to be
  jobs_complete,      // some jobs are over, in whatever way
  worker_start,       // before the worker's first job
  worker_complete     // after its last one
};
inline constexpr std::size_t kTriggers = 6;
[[nodiscard]] std::string_view to_string(Trigger trigger);  // "on_workflow_start", …
[[nodiscard]] constexpr bool is_of_worker(Trigger t) {
  return t == Trigger::worker_start || t == Trigger::worker_complete;
}

// Allocations that an action asks for, instead of commands: they are wanted in the very commit that
// sets it off, and its run has ended with that.
struct ScheduleNodes {
  std::uint32_t scheduler = 0;  // its number, from 1
  std::uint32_t allocations = 1;
  std::uint32_t max_parallel_jobs = 0;  // of each of their workers; 0: by resources
  auto operator<=>(const ScheduleNodes&) const = default;
};

struct Action {
  Trigger trigger = Trigger::workflow_start;
  // Of the workflow's own: fires again when its trigger comes true again, after it had ceased to
  // be (jobs were reset; the workflow went on). Workers fire theirs once each, whatever this says.
  bool persistent = false;
  std::string recipe;  // opaque here: its commands
  std::optional<ScheduleNodes> schedule = {};
};
[[nodiscard]] std::string encode(const Action& action);
[[nodiscard]] std::optional<Action> decode_action(std::string_view value);

// Runs of the workflow's own actions that were lost with their workers before one is given up.
inline constexpr std::uint32_t kMostActionLosses = 5;

enum class RunState : std::uint8_t {
  armed,    // has not fired, or may again
  due,      // has fired; nobody runs it
  running,  // a worker has it
  ended
};
[[nodiscard]] std::string_view to_string(RunState state);

// The newest run of an action, or of one on one worker.
struct ActionRun {
  RunState state = RunState::armed;
  std::uint32_t nth = 0;    // firings so far
  std::uint32_t lost = 0;   // workers that were lost with this run
  std::uint32_t done = 0;   // commands of it that ended well
  bool again = false;       // it fired once more while it ran
  std::uint64_t claim = 0;  // number of the commit that granted it last
  WorkerEpoch worker{};     // that had it last
  Outcome outcome;          // started_at: of the newest grant; the rest once it has ended
  auto operator<=>(const ActionRun&) const = default;
};
[[nodiscard]] constexpr bool is_failed(const ActionRun& run) {
  return run.state == RunState::ended &&
         (run.outcome.cause != EndCause::exited || run.outcome.exit_code != 0);
}
[[nodiscard]] std::string encode(const ActionRun& run);
[[nodiscard]] std::optional<ActionRun> decode_run(std::string_view value);

// How many there are; absent where the workflow has no actions.
struct ActionTally {
  std::uint64_t actions = 0;
  std::uint64_t gates = 0;    // on_workflow_start: not ended
  std::uint64_t due = 0;      // runs of the workflow's own actions
  std::uint64_t running = 0;  // the same
  std::uint64_t ended = 0;    // newest runs that have, workers' own too
  std::uint64_t failed = 0;   // of these
  std::uint64_t armed = 0;    // on_workflow_complete that can fire
  std::uint64_t spent = 0;    // persistent ones of these that have fired
  auto operator<=>(const ActionTally&) const = default;
};
[[nodiscard]] std::string encode(const ActionTally& tally);
[[nodiscard]] std::optional<ActionTally> decode_action_tally(std::string_view value);

// --- in an exchange ---

// Which runs the worker would take.
struct ActionWish {
  bool due = false;              // one of the workflow's
  bool workflow_over = false;    // also on_workflow_complete, if nothing is left to do
  bool worker_start = false;     // all of its own that it has not had yet
  bool worker_complete = false;  // the same
};

struct ActionGrant {
  std::uint32_t action = 0;  // its number, from 1
  std::uint64_t claim = 0;   // token of this grant, with the number
  std::uint32_t nth = 0;
  std::uint32_t done = 0;  // commands that need not be run any more
};

struct ActionReport {
  enum class What : std::uint8_t {
    went_on,  // a further command ended well
    ended,    // all ended well, or `outcome` is that of one that did not
    returned  // somebody else shall run it, from `done` on
  };
  std::uint32_t action = 0;
  std::uint64_t claim = 0;
  What what = What::ended;
  std::uint32_t done = 0;
  Outcome outcome;
};

}  // namespace torc::claim
