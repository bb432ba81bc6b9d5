// All that a worker knows and plans between its registration and its release. A value: it can be
// copied, and what follows from it and the next event is always the same (step.h).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/rules/pace.h"
#include "lib/claim/rules/request.h"
#include "lib/exec/machine/cpus.h"
#include "lib/worker/machine/bell_hearing.h"
#include "lib/worker/machine/claimed_job.h"
#include "lib/worker/machine/event.h"
#include "lib/worker/machine/node_share.h"
#include "lib/worker/machine/own_gang.h"
#include "lib/worker/machine/repeated_signals.h"
#include "lib/worker/machine/summary.h"

namespace torc::worker {

// After a refused commit it backs off from here …
inline constexpr std::chrono::nanoseconds kFirstRetry = std::chrono::seconds(1);
inline constexpr std::chrono::nanoseconds kLastRetry = std::chrono::seconds(30);    // … to here,
inline constexpr std::chrono::nanoseconds kRetryLeaving = std::chrono::seconds(2);  // or here when
                                                                                    // told to leave

// What does not change in the life of a worker, but for the end of its time.
struct Terms {
  claim::WorkerEpoch self{};
  NodeShare::Most machine;                         // what it may use
  std::optional<std::uint64_t> max_parallel_jobs;  // queue-depth mode: count jobs, ignore resources
  bool in_allocation = false;                      // of Slurm's
  std::uint32_t most_nodes = 0;  // that its group can ever have; 0: anybody may join it
  std::string scheduler;
  std::string labels;  // as lib/base/labels.h writes them
  bool also_unlabelled = true;
  bool any_scheduler = false;
  std::shared_ptr<const std::vector<claim::JobRange>> only;  // claim::Offer::only
  BootTime begun{};
  // End of its time on the boot clock: a wall clock that is set meanwhile moves nothing.
  std::optional<BootTime> ends_at;
  std::optional<std::chrono::seconds> idle_timeout;
  // So long its allocation may be without use; nothing: for ever.
  std::optional<std::chrono::seconds> workers_idle;
  bool leaves_alone = false;  // its node is of use to others when it leaves, whatever they have
  std::chrono::nanoseconds grace{};  // from SIGTERM to the SIGKILL of the last job
  std::chrono::nanoseconds reserve{};
  std::chrono::nanoseconds lease_ttl{};  // as asked for
  bool stays = false;                    // also when the workflow is finished
  bool starts_one_by_one = false;        // it has no lane
  // Of the workflow:
  std::chrono::nanoseconds sigterm_lead{};
  bool signal_is_warning = false;  // who ends well between it and SIGKILL has completed
  std::chrono::nanoseconds wait_for_new_jobs{};
  int timeout_exit_code = 152;
  int oom_exit_code = 137;
  bool use_pending_failed = false;
  struct Action {
    claim::Trigger trigger{};
    std::size_t commands = 0;
  };
  std::vector<Action> actions;  // by number, from 1
};

enum class Phase : std::uint8_t {
  working,
  draining,  // claims nothing more; what runs may end by itself
  stopping   // what runs was told to end
};

// How urgently it was told to leave, from outside.
enum class Asked : std::uint8_t {
  nothing,
  to_drain,        // once by SIGINT: jobs may end by themselves
  to_end_in_time,  // once by SIGTERM or SIGHUP: the same, but not for long
  to_stop,
  to_kill
};

struct Running {
  BootTime started{};
  ClaimedJob job;
  std::vector<claim::PieceUse> pieces;  // GPUs, and what else is handed out by the piece
  exec::CpuList cpus;                   // that it is bound to; empty: to none
  bool revoked = false;             // canceled: it was told to end, and its result does not count
  bool in_lane = false;             // what it uses is held for the lane
  bool doubtful = false;            // it ran when the node's ledger was lost
  event::StartAnswer::Fault fault;  // when it was not started; of nobody else then
  // How it ended, while its recovery script runs in its place.
  std::optional<claim::Finished> failed;
  bool of_gang = false;  // what it uses is held for its gang
  // Of the head: how it ended here, until the end of all of the gang can be said.
  std::optional<claim::Finished> ended;
  [[nodiscard]] const claim::ClaimToken& token() const { return job.grant.token; }
};

// Handed to the host, which begins it as soon as a slot becomes free.
struct ArmedJob {
  ClaimedJob job;
  bool revoked = false;  // canceled since then
};

// The jobs that the lane may run at the same time, and what each of them may use: held for it.
struct Lane {
  std::map<Run, ArmedJob> armed;  // in their order
  std::size_t held = 0;
  claim::Requirement need;
  BootTime not_before{};
  std::size_t let_run = 0;  // as the host was told
  bool returning = false;   // what is taken back is for others
};

// After jobs were given back that did not fit: no such large ones are claimed for a while.
struct Narrow {
  BootTime until{};
  std::uint32_t cpus = UINT32_MAX;  // the most that one may need
  std::uint32_t gpus = UINT32_MAX;
  ByteCount memory{UINT64_MAX};
};

// Of starts that a filesystem prevented which did not answer: since the last one that went well,
// and of each job since the first of its own.
struct DeadMount {
  struct Failures {
    BootTime first{}, last{};
    // One more; after `gap` without any they are others.
    void add(BootTime now, std::chrono::nanoseconds gap) {
      if (now > last + gap) first = now;
      last = now;
    }
  };
  std::optional<Failures> here;
  std::map<JobId, Failures> of_jobs;
  std::optional<BootTime> last_start;  // that went well
};

// A job that an earlier worker was lost with: nothing is started or claimed beside it before that.
// One that outlived it stays here until the next one begins, or it ends.
struct Probation {
  claim::ClaimToken token;
  BootTime until{};
};

// Ended, still in `running`.
struct Suspect {
  BootTime until{};
  event::Ended ended;
};

// Ended well but for an output file that may still come, or all of a gang has; still in `running`.
struct Unmade {
  Run run{};
  BootTime look_at{};
  std::size_t looks = 0;                   // that are not the first
  bool looking = false;                    // not answered yet
  std::optional<event::Ended> ended = {};  // nothing: of the gang
};

// Ends counted in the summary that no commit has told yet.
struct Tally {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
};

// What there is to say to the store, and what was said and not answered yet.
struct Talk {
  std::vector<claim::Started> starts;
  std::vector<claim::Finished> finishes;
  std::vector<claim::ClaimToken> returns;
  std::vector<claim::GangWord> gang;
  Tally unsaid;
  bool took_share = false;  // everything free of the node was asked for, for the exchange due now
  bool busy = false;        // with `in_flight`
  claim::Exchange in_flight;
  Tally in_flight_tally;
  std::deque<ClaimedJob> offered;  // the end of the queue, offered as spare in it
  // Canceled, and not known here before the answer that is awaited is read.
  std::vector<claim::ClaimToken> unplaced;
  bool was_answered = false;  // an offer, at least once
  BootTime last_sent{};
  std::optional<BootTime> last_written;  // a commit of ours
  BootTime not_before{};                 // after a failed commit
  std::chrono::nanoseconds retry_delay = kFirstRetry;
  std::optional<BootTime> speak_by;  // whatever the window
  // The newest answer said so; a change or the poll timer clears it.
  bool nothing_claimable = false;
  BootTime next_poll{};
  bool heard_bell = false;  // of the node, while an exchange was under way
  BellHearing bells;        // of other workers
  // It tries once more to say what it has to say, with its release, and leaves whatever comes of
  // it.
  bool tries_no_more = false;
  [[nodiscard]] bool has_words() const {
    return !starts.empty() || !finishes.empty() || !returns.empty() || !gang.empty();
  }
};

// The actions that the worker runs: one at a time, in the order of their grants, the commands of
// each one after the other until one fails. They run beside jobs and take nothing of what is
// counted for these.
struct Actions {
  bool any = false;             // the workflow has some
  bool asked_welcome = true;    // for those of on_worker_start
  bool welcoming = false;       // they are not over yet
  bool asked_farewell = false;  // for those of on_worker_complete
  bool workflow_over = false;   // nobody waits for new jobs any more
  std::deque<claim::ActionGrant> waiting;
  std::optional<claim::ActionGrant> current;
  Run run{};              // a command of it, unless `between`
  bool between = false;   // its next command is to be started
  bool stopping = false;  // nothing more is started of what was granted so far
  std::vector<claim::ActionReport> reports;
  [[nodiscard]] bool busy() const { return current.has_value() || !waiting.empty(); }
  // Running, or with something to say.
  [[nodiscard]] bool active() const { return busy() || !reports.empty(); }
};

// What is doubtful about its lease.
struct Doubt {
  std::optional<BootTime> ask_at;  // the store, again; nothing: the lease is not paused
  BootTime since{};                // it was paused, and for all that was seen never stood since
  std::chrono::nanoseconds delay{};
  bool asking = false;
  bool told_no_answer = false;
  std::optional<Error> no_answer;
};

// Of a worker that leaves when its allocation is of no use any more (idle_allocation.cc).
struct IdleAllocation {
  bool looks = false;    // that is not answered yet
  BootTime looked_at{};  // the newest look began then
  std::chrono::nanoseconds pause{};
  std::optional<BootTime> unused_since;  // for all that every look since has shown
  std::optional<BootTime> last_ask;      // it asks for jobs once more, since then
  bool others_live = false;              // one who holds something elsewhere, since then
  BootTime not_before{};                 // to leave: it was needed
  bool last_look = false;                // the look that is not answered follows on that
};

// What it was told from outside.
struct Orders {
  Asked asked = Asked::nothing;
  RepeatedSignals repeated;
  // The newest SIGTERM or SIGHUP, echo or not; later by the time in which the worker stood still.
  std::optional<BootTime> terminated_at;
  std::optional<BootTime> drain_until;  // its jobs must have ended by then …
  std::optional<BootTime> stop_at;      // … and are told so then
};

// After its last job.
struct Leaving {
  bool begun = false;
  bool over = false;
  BootTime since{};
  BootTime asked{};
  std::chrono::nanoseconds delay{};
  std::optional<BootTime> again;
  std::optional<Error> failure;
};

// What the machine waits for before it goes on with the event at hand.
enum class Awaited : std::uint8_t { nothing, start, armed, taken_back, share, goodbye };

// How far the turn at hand is.
enum class Stage : std::uint8_t { time, leaving, others, actions, gang, lane, jobs, words, done };

struct State {
  Terms terms;
  SeededEntropy dice{0};  // what the worker spreads at random follows from its seed
  NodeShare share;
  std::uint32_t owed_to_others = 0;       // CPUs
  std::optional<exec::CpuPool> cpu_pool;  // only when jobs are bound
  event::LeaseSeen lease;
  std::uint64_t last_run = 0;

  Phase phase = Phase::working;
  std::optional<WorkerEnd> end;                           // why, once it is decided
  claim::EndCause stop_cause = claim::EndCause::stopped;  // of jobs that it tells to end
  Orders orders;

  std::deque<ClaimedJob> queue;  // claimed, not started, in order
  Lane lane;
  std::map<Run, Running> running;
  std::deque<Suspect> suspects;
  std::vector<Unmade> unmade;
  std::optional<Probation> alone;
  std::optional<OwnGang> gang;
  std::uint64_t left_gang = 0;  // the newest claim of a gang that it has said it left
  std::uint64_t gang_seen = 0;  // the newest commit by which it knows of its gang, or of none
  bool reserved = false;        // its node is kept for a gang that waits
  std::optional<claim::WaitingGang> could_be_part;
  std::uint32_t nodes_seen = 0;  // the most of its group that it has seen at the same time
  Narrow narrow;
  DeadMount dead_mount;
  BootTime
      no_start_before{};   // after a refused start; what there is to report does not wait for it
  int refused_starts = 0;  // in a row: this host can start nothing
  int faulty_starts = 0;   // in a row: its directories cannot be used

  Talk talk;
  claim::Pace pace{claim::Sharing::local};
  Actions actions;
  Doubt doubt;
  Leaving leaving;
  IdleAllocation allocation;
  std::uint64_t live_workers = 1;  // workers, as the newest answer said

  BootTime idle_since{};                   // not before the first answer
  BootTime quiet_since{};                  // stopping began, or the last job ended then
  std::optional<BootTime> finished_since;  // the workflow, as the answers say without a break
  bool told_awaited = false;
  bool told_undecided = false;
  bool told_starved = false;  // who has the node, since this worker last had a part of it
  WorkerSummary summary;

  // Where the machine is in what it does now.
  std::deque<Event> agenda;  // the event at hand, and those that came meanwhile
  Awaited awaited = Awaited::nothing;
  Stage stage = Stage::done;
  bool lane_settled = false;  // for the event at hand: what had not begun was taken back
  bool share_asked = false;   // the same, for the job or the exchange at hand: for all there is
  std::size_t scan = 0;       // the job of the queue that is looked at
  Run starting{};             // what is awaited was asked about this one

  // Nothing runs, as far as is known, and nothing is about to.
  [[nodiscard]] bool is_quiet() const { return running.empty() && lane.armed.empty(); }
  // Precondition: the lane is settled. What the host has just begun counts.
  [[nodiscard]] std::size_t running_count() const { return running.size() + lane.armed.size(); }
  // Claimed, and not known to run.
  [[nodiscard]] std::size_t waiting() const { return queue.size() + lane.armed.size(); }
  [[nodiscard]] bool lost_lease() const { return end == WorkerEnd::lease_lost; }
  [[nodiscard]] bool has_reports() const { return talk.has_words() || !actions.reports.empty(); }
};

}  // namespace torc::worker
