// A job as the claims see it: a state, who holds it and how its last attempt ended. Names and
// commands are not here: they are formatted from the template's recipe when somebody needs them.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/activity.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"

namespace torc::claim {

enum class JobState : std::uint8_t {
  blocked,         // a dependency has not completed
  ready,           // may be claimed
  claimed,         // a worker holds it and has not reported its start
  running,         // its worker reported the start
  completed,       // exit code 0
  failed,          // ended otherwise, no attempt left
  canceled,        // on request; will not run
  terminated,      // ended by its worker's or its own time limit
  held,            // will not be claimed until it is released, whatever its dependencies
  pending_failed,  // failed by no rule's word: a person decides whether it runs again or has failed
  delayed          // failed, and waits a while before it is tried again
};
// Where jobs of a state are found without a look at all others.
enum class Listing : std::uint8_t { barriers, ready_queues, leases, set_aside, delayed, records };
// How pictures show it; of several the first that there is.
enum class Tone : std::uint8_t { failed, running, held, canceled, ready, blocked, completed };

// What holds of a state: a set of these.
namespace trait {
inline constexpr unsigned kTerminal = 1;     // it has ended, and only a person has it run again
inline constexpr unsigned kOver = 2;         // its newest attempt has ended; see is_over()
inline constexpr unsigned kLive = 4;         // a worker holds it
inline constexpr unsigned kWaits = 8;        // it has not begun, or will begin again
inline constexpr unsigned kTroubled = 16;    // it went wrong
inline constexpr unsigned kCancelable = 32;  // by a person
inline constexpr unsigned kHoldable = 64;
inline constexpr unsigned kResettable = 128;
inline constexpr unsigned kSettable = 256;
}  // namespace trait

struct StateRow {
  std::string_view name;
  Tone tone;
  Listing listing;
  unsigned traits;
};

// All that is to be known of a state, by JobState. What a rule does with it is in transition.h.
inline constexpr auto kStates = [] {
  using namespace trait;
  constexpr unsigned kAny = kCancelable | kSettable;
  constexpr unsigned kEnded = kTerminal | kOver | kResettable;
  return std::array{
      StateRow{"blocked", Tone::blocked, Listing::barriers, kAny | kWaits | kHoldable},
      StateRow{"ready", Tone::ready, Listing::ready_queues, kAny | kWaits | kHoldable},
      StateRow{"claimed", Tone::running, Listing::leases, kAny | kLive},
      StateRow{"running", Tone::running, Listing::leases, kAny | kLive},
      StateRow{"completed", Tone::completed, Listing::records, kEnded},
      StateRow{"failed", Tone::failed, Listing::set_aside, kEnded | kTroubled | kSettable},
      StateRow{"canceled", Tone::canceled, Listing::set_aside, kEnded | kSettable},
      StateRow{"terminated", Tone::failed, Listing::set_aside, kEnded | kTroubled | kSettable},
      StateRow{"held", Tone::held, Listing::set_aside, kAny | kWaits},
      StateRow{"pending_failed", Tone::failed, Listing::set_aside,
               kAny | kOver | kTroubled | kResettable},
      StateRow{"delayed", Tone::ready, Listing::delayed, kAny | kWaits | kHoldable},
  };
}();
inline constexpr std::size_t kJobStates = kStates.size();
using Counts = std::array<std::uint64_t, kJobStates>;  // indexed by JobState

[[nodiscard]] constexpr const StateRow& row_of(JobState state) {
  return kStates[static_cast<std::size_t>(state)];
}
[[nodiscard]] constexpr bool has(JobState state, unsigned trait) {
  return (row_of(state).traits & trait) != 0;
}
[[nodiscard]] constexpr std::string_view to_string(JobState state) {
  const auto at = static_cast<std::size_t>(state);
  return at < kJobStates ? kStates[at].name : "?";
}
// nullopt: no state has that name.
[[nodiscard]] std::optional<JobState> state_named(std::string_view name);
[[nodiscard]] std::vector<JobState> all_states();
[[nodiscard]] std::vector<JobState> states_with(unsigned trait);

[[nodiscard]] constexpr bool is_terminal(JobState s) {
  return has(s, trait::kTerminal);
}
// Its newest attempt has ended, and nothing but a person's word starts another one.
[[nodiscard]] constexpr bool is_over(JobState s) {
  return has(s, trait::kOver);
}
// Listed by itself, since nothing but a person's word makes it run.
[[nodiscard]] constexpr bool is_set_aside(JobState s) {
  return row_of(s).listing == Listing::set_aside;
}
[[nodiscard]] constexpr bool is_live(JobState s) {
  return has(s, trait::kLive);
}

// Identifies one worker process for ever: the sequence number of the commit that registered it. 0:
// nobody.
enum class WorkerEpoch : std::uint64_t {};
constexpr std::uint64_t raw(WorkerEpoch e) {
  return static_cast<std::uint64_t>(e);
}

// The fencing token of one claim. A start, completion or return with a token that is no longer the
// job's is refused.
struct ClaimToken {
  JobId job{};
  std::uint32_t attempt = 0;  // from 1
  std::uint64_t claim =
      0;  // sequence number of the commit that granted it; grows with every claim of a job
  auto operator<=>(const ClaimToken&) const = default;
};

// Why an attempt ended. `exited` covers exit code 0 too.
enum class EndCause : std::uint8_t {
  none,  // has not ended
  exited,
  signaled,
  timed_out,        // its time limit: exit_code is timeout_exit_code (152)
  out_of_memory,    // its memory limit: exit_code is oom_exit_code (137)
  not_started,      // exec failed: os_errno says why
  worker_lost,      // killed with its worker: the worker's process has gone
  stopped,          // its worker was told to stop, ended it and gave it back
  canceled,         // on request
  unmet,            // never ran: the condition on which it was to start can no longer come true
  upstream_failed,  // never ran: what it depends on ended otherwise, and it was to be canceled then
  allocation_ended,  // its worker's time was up, or Slurm says that the allocation has ended
  lease_lost,     // its worker said nothing for too long: dead with its node, hanging, or cut off
  removed,        // canceled: the workflow file has it no more
  output_missing  // it exited with 0 and had not made all of its output files
};
inline constexpr EndCause kLastEndCause = EndCause::output_missing;
[[nodiscard]] std::string_view to_string(EndCause cause);
// Its worker could not say how it ended: others found the worker gone or silent.
[[nodiscard]] constexpr bool is_loss(EndCause cause) {
  return cause == EndCause::worker_lost || cause == EndCause::lease_lost;
}
// Its worker ended it for reasons that are not the job's.
[[nodiscard]] constexpr bool is_interruption(EndCause cause) {
  return cause == EndCause::stopped || cause == EndCause::allocation_ended;
}

// What was missing when an attempt could not start.
enum class StartFault : std::uint8_t {
  unknown,
  directory,    // the working directory
  stdout_file,  // the file for its output
  stderr_file,
  cpus,  // that it was to be bound to
  program
};
inline constexpr StartFault kLastStartFault = StartFault::program;

// Why a job failed, as far as that decides what helps (recovery.h).
enum class Trouble : std::uint8_t {
  memory,     // it had too little
  runtime,    // it had too little
  transient,  // nothing of the job's: it may well succeed the next time
  mend,       // a person has to mend something first
  unknown
};
[[nodiscard]] std::string_view to_string(Trouble trouble);

struct Outcome {
  EndCause cause = EndCause::none;
  int exit_code = -1;  // -1: none (signaled, not started, lost)
  int signal = 0;
  int os_errno = 0;
  WallTime started_at{};  // 0: never started
  WallTime ended_at{};
  ByteCount max_rss;  // peak of its tree; 0: not known
  std::chrono::microseconds cpu_time{};
  // unmet, upstream_failed: the job that it waited for; removed: the one that spawned it and is to
  // run again, or has (0: a person or the workflow file took it out)
  JobId because{};
  Activity activity;
  StartFault fault = StartFault::unknown;  // not_started, with os_errno
  // Of a job whose command ran on several nodes: that it ended so on another one than the head. 0:
  // on the head, or there were none.
  std::uint32_t rank = 0;
  WorkerEpoch member{};  // with `rank`: the worker of that node
  // output_missing: the first that is not there of the output files of its recipe, from 1.
  std::uint32_t missing_output = 0;
  auto operator<=>(const Outcome&) const = default;
};

// Whether a canceled job may still run: its worker has not yet said that it ended it.
enum class Revoked : std::uint8_t {
  no,
  ending,
  ending_then_again  // it is to run again, but not beside itself
};

// What the losses of its workers say of a job. When a worker is lost, each job that it had may be
// the one that took it down, also one whose start nobody was told of; most are innocent.
enum class Suspicion : std::uint8_t {
  none,
  silence,  // a worker fell silent with it: suspended or cut off as likely as dead
  suspect,  // a worker died with it, or a second one fell silent: it is started alone
  prime     // of the suspects that a worker was lost with the one that it had started last; or its
            // next loss would be its last
};

// What a worker may have when it is granted a job. Nothing is granted together with a job that
// is to be alone.
enum class Alone : std::uint8_t {
  no,
  among_suspects,  // nothing but other suspects, which have outlived their probation
  entirely         // nothing
};

struct Job {
  JobState state = JobState::blocked;
  std::uint32_t attempt = 0;   // attempts granted so far; 0: never claimed
  std::uint32_t forgiven = 0;  // of these, granted before the newest retry: no limit counts them
  // Of the attempts since then:
  std::uint32_t lost = 0;     // had started and took the worker with them, see lose()
  std::uint32_t stopped = 0;  // its worker ended it or could not start it, or it was cut off with
                              // its allocation: no fault of the job
  Revoked revoked = Revoked::no;
  Suspicion suspicion = Suspicion::none;
  std::uint64_t claim = 0;  // claim sequence of the newest attempt
  WorkerEpoch worker{};     // holder of the newest attempt
  WallTime claimed_at{};
  std::uint32_t alternative = 0;  // of its class (plan.h) that the newest attempt has
  // Of a delayed job: when it may be tried again, by the clock of whoever reported its failure, and
  // how long after that. See is_due() in queries.h.
  WallTime not_before{};
  std::chrono::seconds delay{0};
  Outcome outcome;  // of the newest attempt that ended; started_at also while running
  auto operator<=>(const Job&) const = default;
};
// Canceled by what became of the jobs that it depends on, not by a person.
[[nodiscard]] constexpr bool is_passed_over(const Job& job) {
  return job.state == JobState::canceled &&
         (job.outcome.cause == EndCause::unmet || job.outcome.cause == EndCause::upstream_failed);
}
// It will not run since the workflow file has it no more.
[[nodiscard]] constexpr bool is_removed(const Job& job) {
  return job.state == JobState::canceled && job.outcome.cause == EndCause::removed;
}
// The attempt that spawned it counts no more: it is no job of the workflow unless a later one
// spawns it again.
[[nodiscard]] constexpr bool is_withdrawn(const Job& job) {
  return is_removed(job) && raw(job.outcome.because) != 0;
}
// It was not needed, or is not any more: no failure of the workflow.
[[nodiscard]] constexpr bool is_unmet(const Job& job) {
  return job.state == JobState::canceled &&
         (job.outcome.cause == EndCause::unmet || job.outcome.cause == EndCause::removed);
}
// It is started alone, and a loss counts against it from its claim on, whatever was told of its
// start.
[[nodiscard]] constexpr bool is_suspect(const Job& job) {
  return job.suspicion >= Suspicion::suspect;
}
[[nodiscard]] constexpr Alone alone(const Job& job) {
  if (!is_suspect(job)) return Alone::no;
  return job.suspicion == Suspicion::prime ? Alone::entirely : Alone::among_suspects;
}
// It may have begun to run.
[[nodiscard]] constexpr bool may_have_started(const Job& job) {
  return job.state == JobState::running || (job.state == JobState::claimed && is_suspect(job));
}
// Its slot is taken and its resources may be in use.
[[nodiscard]] constexpr bool is_occupied(const Job& job) {
  return is_live(job.state) || job.revoked != Revoked::no;
}

}  // namespace torc::claim
