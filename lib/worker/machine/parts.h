// The parts of a step, and what they need of each other. Internal to lib/worker/machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lib/worker/machine/step.h"

namespace torc::worker {

// One step: the state, the time, and what is to be done.
struct Step {
  State& w;
  BootTime now;
  WallTime wall;
  Commands& out;

  template <class C>
  void order(C command) const {
    out.emplace_back(std::move(command));
  }
  void tell(Notice notice) const { out.emplace_back(command::Tell{std::move(notice)}); }
};

// A number in [0, 1).
[[nodiscard]] double roll(State& w);
[[nodiscard]] Run next_run(State& w);

// --- starts.cc: jobs that the worker starts one by one ---
// False: an answer is awaited.
bool start_jobs(const Step& s);
void take_start(const Step& s, const event::StartAnswer& answer);
void begin(const Step& s, Run run, ClaimedJob job, Running with, WallTime at, BootTime since);
void note_start(const Step& s, JobId job);
// A filesystem that does not answer keeps a command from being started, which is not to count as a
// start, however long that lasts: the job would fail for it in the end. False: it counts, since
// others were started meanwhile, so that it is the job's own files that nobody can use.
bool is_prevented_by_mount(const Step& s, JobId job);
// When that has lasted for long, the worker leaves: others may have mounts that answer.
void leave_dead_mount(const Step& s, const Notice& obstacle);
void release(State& w, const Running& job);
// None when this worker was told to use more CPUs than there are, and all are taken.
[[nodiscard]] exec::CpuList take_cpus(State& w, const ClaimedJob& job);

// --- lane.cc: short jobs without a moment between them ---
bool fill_lane(const Step& s);
void narrow_lane(const Step& s);
// What has not begun comes back to the queue. False: that is awaited; the event is run again then.
bool settle_lane(const Step& s);
void take_back(const Step& s, const event::TakenBack& answer);
void take_armed(const Step& s, const event::Armed& answer);
void take_begun(const Step& s, const event::Begun& begun);
void take_declined(const Step& s, const event::Declined& declined);
[[nodiscard]] std::size_t running_in_lane(const State& w);

// --- queue.cc: jobs that were prefetched and do not fit ---
[[nodiscard]] bool room_for_more(const State& w);
[[nodiscard]] std::optional<BootTime> next_unfit(const State& w);
void return_unfit(const Step& s);
void narrow(const State& w, BootTime now, claim::Offer& offer);
// All of it, and what the lane has not begun: others are to run it.
void return_queue(const Step& s);

// --- share.cc: what it leaves to other workers of its node ---
void let_others(const Step& s);
void settle_share(const Step& s);
void look_at_share(const Step& s, const exec::NodeHolding& could_hold);

// --- talk.cc: what it says to the store, and when ---
[[nodiscard]] std::uint64_t slots(const State& w);
[[nodiscard]] bool idle_slot(const State& w);
[[nodiscard]] bool may_be_halted(const State& w);
[[nodiscard]] bool runs_alone(const State& w, BootTime now);
[[nodiscard]] bool wants_jobs(const State& w, BootTime now);
[[nodiscard]] bool queue_stands(const State& w, BootTime now);
[[nodiscard]] BootTime window_end(const State& w);
[[nodiscard]] BootTime due_at(const State& w);
// From the termination signal to SIGKILL; a worker with little time keeps most of it for work.
[[nodiscard]] std::chrono::nanoseconds term_lead(const State& w);
// False: an answer is awaited.
bool send_if_due(const Step& s);
void hear_bell(const Step& s, const event::Bell& bell);

// --- answer.cc ---
// Whether something is to be ended or returned, for which the lane must be settled.
[[nodiscard]] bool ends_something(const State& w, const event::Answered& answer);
void take_answer(const Step& s, event::Answered& answer);
void end_revoked(const Step& s, std::vector<claim::ClaimToken> tokens);
void tell_refused(const Step& s, const std::vector<claim::Refused>& refused);

// --- gang.cc: its part in a job of several nodes, up to the start ---
// What the store says of it as of that commit, and what it would run here, when that is told.
void see_gang(const Step& s, std::uint64_t commit, const std::optional<claim::GangPart>& part,
              std::optional<ClaimedJob> job);
// False: an answer is awaited.
bool run_gang(const Step& s);
void take_gang_start(const Step& s, const event::StartAnswer& answer);
// It looks at the store now, without anything to say.
[[nodiscard]] bool asks_of_gang(const State& w, BootTime now);
// When it next has something to do for its gang, unless something happens.
[[nodiscard]] std::optional<BootTime> gang_wake(const State& w, BootTime now);

// --- gang_end.cc: how its part in a gang ends ---
// Whether the end of a command of a gang is not to be said now.
bool keep_gang_end(const Step& s, const Running& job, claim::Finished& finished);
// Whether what was canceled is the gang that it is the head of, and has not started.
bool revoke_gang(const Step& s, const claim::ClaimToken& token);
// What it is told to do when it is to leave: true: the command of a gang goes on for now.
[[nodiscard]] bool goes_on_for_gang(const State& w, const Running& job);
// A member leaves before its gang is over, which ends that.
void leave_gang_early(const Step& s);
// While its jobs are to end in time, the same for all nodes, a gang whose command may save its
// state goes on: until then nobody leaves it, and the head waits for the others.
[[nodiscard]] std::optional<BootTime> saves_until(const State& w);
[[nodiscard]] bool waits_for_saves(const State& w, BootTime now);
// Nothing of it counts any more, or it has come to its end: what is left is ended, then it leaves.
// False: it goes on.
bool end_gang(const Step& s);
void gang_cleared(const Step& s, const event::GangCleared& cleared);
// The lease is lost.
void forget_gang(const Step& s);

// --- ends.cc: how jobs ended ---
void job_ended(const Step& s, const event::Ended& ended);
void conclude_suspects(const Step& s);
// What has ended is over, whatever could still be found out.
void conclude(const Step& s, const event::Ended& ended);
void report_end(const Step& s, const Running& job, claim::Finished finished);
// Whether this node could start it: one that cannot start several in a row leaves.
void count_start(const Step& s, const Running& job);
// Whether it ended of a signal that ends whole groups, or says so by its exit code (128 and the
// number): so do programs that end in their own way, and a shell whose child was ended.
[[nodiscard]] bool ended_of_signal(const exec::Ended& ended);
// Whether a signal that ended a job was meant for its worker.
[[nodiscard]] bool was_meant_for_worker(const State& w, const exec::Ended& ended, BootTime now);

// --- outputs.cc: whether a job has made its output files ---
// Whether the end waits for a file that may still come.
[[nodiscard]] bool await_outputs(const Step& s, const event::Ended& ended);
// Looks again for what is due.
void look_for_outputs(const Step& s);
void see_outputs(const Step& s, const event::OutputsSeen& seen);
[[nodiscard]] std::optional<BootTime> next_output_look(const State& w);
// Of what completed, when its files are known.
void judge_outputs(claim::Finished& finished, const event::OutputsMade& outputs);
// Of a command on each node, all of which ended well. False: not known yet.
[[nodiscard]] bool judge_gang_outputs(const Step& s, Run kept, const Running& head,
                                      claim::Finished& whole);

// --- recovery.cc: what follows a failure ---
[[nodiscard]] bool may_be_checkpoint(const State& w, const Running& job, const exec::Ended& ended);
[[nodiscard]] bool is_checkpoint(const State& w, const Running& job, const exec::Ended& ended,
                                 BootTime now);
// The rule by which the store will let the job be tried again after this end; null: it is final.
[[nodiscard]] const claim::RetryRule* retry_rule(const Running& job, const claim::Finished& end);
// What the store will do without a person about this end, which no rule is for, before the job runs
// again; nullopt: nothing.
[[nodiscard]] std::optional<claim::Proposal> recovery(const Running& job,
                                                      const claim::Finished& end);
// Starts the recovery script in the place of the job, which keeps what it holds. False: none is
// due, and `job` is as before.
bool recover(const Step& s, Running& job, claim::Finished& end);
void take_recovery_start(const Step& s, const event::StartAnswer& answer);
void recovered(const Step& s, Running job, const exec::Ended& script);
void tell_retry(const Step& s, const Running& job, const claim::Finished& end);
void tell_final(const Step& s, const Running& job, const claim::Finished& end);

// --- actions.cc ---
[[nodiscard]] bool is_starting(const State& w);
[[nodiscard]] bool wants_welcome(const State& w);
[[nodiscard]] bool wants_farewell(const State& w);
void ask_for_actions(const Step& s, claim::Exchange& exchange);
void take_actions(const Step& s, const std::vector<claim::ActionGrant>& grants);
// False: an answer is awaited.
bool run_actions(const Step& s);
void take_action_start(const Step& s, const event::StartAnswer& answer);
// Whether this was one of its commands; `told`: a signal that ended it was meant for the worker.
bool action_ended(const Step& s, const event::Ended& ended, bool told);
bool awaits_actions(const Step& s, const claim::WorkflowState& workflow);
// Nothing more is started: what waits is returned, the command that runs may end by itself.
void drain_actions(State& w);
// The same, and what runs is told to end.
void stop_actions(const Step& s, std::chrono::nanoseconds lead);
void kill_actions(const Step& s);
// The lease is lost: nothing of them counts any more.
void forget_actions(State& w);

// --- lease.cc: doubts about its lease, and its loss ---
void follow_lease(const Step& s, const event::LeaseSeen& seen);
// Of a store that is gone: what the worker ends with.
void lose_lease(const Step& s, const Error& why);
void lose_lease(const Step& s, Notice why);

// --- orders.cc: what it is told from outside ---
void take_signal(const Step& s, int number);
void take_halt(const Step& s, bool now);
[[nodiscard]] bool is_explained(const State& w, BootTime now);
[[nodiscard]] std::chrono::nanoseconds patience_with(const State& w, const exec::Ended& ended,
                                                     BootTime now);
// What there is to say is said soon, whatever the window.
void hurry(const Step& s);
[[nodiscard]] bool gives_up(const State& w, BootTime now);

// --- time.cc ---
// False: an answer is awaited.
bool check_time(const Step& s);
void stand_still(State& w, std::chrono::nanoseconds time);
void move_end(State& w, BootTime ends_at);
void finish(const Step& s, WorkerEnd end);
void stop_running(const Step& s, std::chrono::nanoseconds lead, claim::EndCause why);
[[nodiscard]] bool is_idle(const State& w);

// --- idle_allocation.cc: leaving an allocation of which nothing is used any more ---
void follow_allocation(const Step& s);
void see_allocation(const Step& s, const event::AllocationSeen& seen);
[[nodiscard]] std::optional<BootTime> allocation_wake(const State& w, BootTime now);

// --- leave.cc ---
[[nodiscard]] bool is_over(const State& w);
[[nodiscard]] bool may_leave(const State& w, BootTime now);
// Leaves, or goes on leaving. False: an answer is awaited.
bool leave(const Step& s);
void take_goodbye(const Step& s, event::GoodbyeAnswer& answer);
// What was counted and not committed does not count.
void forget_unconfirmed(State& w);
void stop_trying(const Step& s);

// What is said of a gang others wait for, and is said at once.
inline void say_of_gang(const Step& s, claim::GangWord word) {
  s.w.talk.gang.push_back(std::move(word));
  s.w.talk.speak_by = s.now;
}

// An exchange that takes longer does not keep what its jobs could need from others on the node.
inline constexpr std::chrono::nanoseconds kShareInFlight = std::chrono::seconds(1);

// A job that ends of a signal so soon after the worker got one ended of the same.
inline constexpr std::chrono::nanoseconds kExplains = std::chrono::seconds(5);

// Surely not committed, and worth another try.
[[nodiscard]] inline bool may_pass(const Error& error) {
  return error.kind != ErrorKind::fenced && error.kind != ErrorKind::unknown &&
         error.kind != ErrorKind::corrupt;
}

}  // namespace torc::worker
