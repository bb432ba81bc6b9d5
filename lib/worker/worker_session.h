// The loop of one worker, see worker.h. Split over worker_session.cc (loop, starts, ends of jobs),
// worker_talk.cc (what it says to the store and when), worker_end.cc (time, leaving),
// worker_signals.cc (what it is told from outside), worker_pause.cc (doubts about its lease),
// worker_recovery.cc (what follows a failure), worker_actions.cc, worker_node.cc (what it has of
// its node), worker_measure.cc (CPUs and samples), worker_mounts.cc (starts that a filesystem
// prevents), worker_lane.cc (short jobs without a moment between them).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/claim/rules/ceiling.h"
#include "lib/claim/rules/pace.h"
#include "lib/exec/machine/cpus.h"
#include "lib/exec/process/process_host.h"
#include "lib/exec/process/watched_lease.h"
#include "lib/worker/action_runner.h"
#include "lib/worker/blame.h"
#include "lib/worker/committer.h"
#include "lib/worker/job_command.h"
#include "lib/worker/node_share.h"
#include "lib/worker/output_keeper.h"
#include "lib/worker/repeats.h"
#include "lib/worker/series_keeper.h"
#include "lib/worker/worker.h"

namespace torc::worker {

// After a refused commit; it backs off from here …
inline constexpr std::chrono::nanoseconds kFirstRetry = std::chrono::seconds(1);
inline constexpr std::chrono::nanoseconds kLastRetry = std::chrono::seconds(30);    // … to here,
inline constexpr std::chrono::nanoseconds kRetryLeaving = std::chrono::seconds(2);  // or here when
                                                                                    // told to leave

// A job that ends of a signal so soon after the worker got one ended of the same.
inline constexpr std::chrono::nanoseconds kExplains = std::chrono::seconds(5);
// An exchange that takes longer does not keep what its jobs could need from others on the node.
inline constexpr std::chrono::nanoseconds kShareInFlight = std::chrono::seconds(1);

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
  claim::ClaimToken token;
  claim::Requirement need;
  std::vector<std::string> gpus;
  std::string name;
  HeldOutput output;
  JobFiles declared;
  std::uint32_t stopped = 0;  // earlier attempts that a worker ended
  bool revoked = false;       // canceled: it was told to end, and its result does not count
  std::shared_ptr<const claim::Handler> handler;  // what to do when it fails; null: nothing
  claim::RetryCounts retries;
  ByteCount memory_ceiling;
  int checkpoint_exit_code = 0;
  exec::Command command;  // kept only for a recovery script
  // How it ended, while its recovery script runs in its place.
  std::optional<claim::Finished> failed;
  std::string label;         // of whoever wants to hear of its end
  exec::CpuList cpus;        // that it is bound to; empty: to none
  std::string line;          // its command, to say what could not be started
  Blame blame = Blame::job;  // when it was not started
  bool suspect = false;
  bool in_lane = false;  // what it uses is held for the lane
};

// What is known of a job's start beside the job.
struct Beginning {
  std::vector<std::string> gpus;
  HeldOutput output;
  std::string label;
  Blame blame = Blame::job;
  WallTime at{};
  BootTime since{};
  bool in_lane = false;
  bool revoked = false;  // canceled before that
};

// Surely not committed, and worth another try.
[[nodiscard]] inline bool may_pass(const Error& error) {
  return error.kind != ErrorKind::fenced && error.kind != ErrorKind::unknown &&
         error.kind != ErrorKind::corrupt;
}

inline constexpr std::string_view kTooLate =
    "this worker could not renew its lease in time (frozen, or its filesystem hangs)";

// One registration of a worker: from its epoch to its release or the loss of its lease. One thread;
// the store is talked to through the Committer.
class Session {
 public:
  Session(const workflow::Context& context, const WorkerSetup& setup, const WorkerEvents& events,
          exec::ProcessHost& host, NodeShare& share);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // What fails once it was told to stop is in the summary; an Error may be tried again.
  Result<WorkerSummary> run(std::unique_ptr<store::Store> store);
  // Something was said to the store that it has not answered yet.
  [[nodiscard]] bool awaits_store() const {
    return committer_ != nullptr && (committer_->busy() || committer_->asking());
  }

 private:
  Result<WorkerSummary> live(std::unique_ptr<store::Store> store);
  // Waits for its turn to register; false: told to end before it came.
  Result<bool> enter(store::Store& store);
  // The three steps of the loop.
  void start_jobs();
  void send_if_due();
  Result<void> wait();

  bool start(PreparedJob job);
  void begin(exec::RunId id, PreparedJob job, Beginning beginning);
  // worker_lane.cc
  bool fill_lane();
  [[nodiscard]] bool lane_pays() const;
  [[nodiscard]] bool lane_serves(const PreparedJob& job) const;
  [[nodiscard]] std::size_t lane_depth() const;
  bool arm(PreparedJob& job);
  void widen_lane();
  void narrow_lane();
  void recall();
  void disarm(exec::RunId id);
  void take_lane_news(const exec::ProcessHost::Wakeup& wakeup);
  [[nodiscard]] std::size_t running_in_lane() const;
  // Nothing runs, as far as is known, and nothing is about to.
  [[nodiscard]] bool is_quiet() const { return running_.empty() && armed_.empty(); }
  // Precondition: recall() was called. What the host has just begun counts.
  [[nodiscard]] std::size_t running_count() const { return running_.size() + armed_.size(); }
  // Claimed, and not known to run.
  [[nodiscard]] std::size_t waiting() const { return queue_.size() + armed_.size(); }
  // worker_node.cc
  bool share_gives(const PreparedJob& job);
  void let_others();
  void settle_share();
  void look_at_share();
  void say_who_holds_the_node();
  // worker_mounts.cc
  [[nodiscard]] Blame blame(exec::RunId id, const PreparedJob& job) const;
  [[nodiscard]] std::string dead_mount(exec::RunId id, JobId job);
  void note_start(JobId job);
  void leave_dead_mount(const std::string& obstacle);
  void look_at_inputs(JobFiles& declared) const;
  [[nodiscard]] std::string signature_of(Running& job) const;
  void put_in_place(PreparedJob& job, const std::vector<std::string>& gpus) const;
  void job_ended(const exec::Ended& ended);
  void conclude(const exec::Ended& ended);
  void conclude_suspects();
  [[nodiscard]] bool is_explained() const;
  [[nodiscard]] bool was_meant_for_worker(const exec::Ended& ended) const;
  [[nodiscard]] std::chrono::nanoseconds patience_with(const exec::Ended& ended) const;
  void tell_end(const Running& job, const claim::Finished& finished) const;
  void report_end(Running job, const exec::Ended& ended, claim::Finished finished);
  // worker_measure.cc
  void bind_jobs();
  [[nodiscard]] exec::CpuList take_cpus(const PreparedJob& job);
  void release(const claim::Requirement& need, const std::vector<std::string>& gpus,
               const exec::CpuList& cpus);
  void keep_samples(const std::vector<exec::Sample>& samples);
  // worker_recovery.cc
  [[nodiscard]] bool may_be_checkpoint(const Running& job, const exec::Ended& ended) const;
  [[nodiscard]] bool is_checkpoint(const Running& job, const exec::Ended& ended) const;
  [[nodiscard]] const claim::RetryRule* retry_rule(const Running& job,
                                                   const claim::Finished& end) const;
  // What its handler would have given more of, were there more.
  [[nodiscard]] claim::Ceiling ceiling(const Running& job, const claim::Finished& end) const;
  bool recover(Running& job, claim::Finished& end);
  void recovered(Running job, const exec::Ended& script);
  void say_again(const Running& job, const claim::Finished& end) const;
  void say_ceiling(const Running& job, const claim::Finished& end) const;
  void say_undecided(const Running& job, const claim::Finished& end);
  // worker_actions.cc
  [[nodiscard]] bool is_starting() const;
  [[nodiscard]] bool wants_welcome() const;
  [[nodiscard]] bool wants_farewell() const;
  [[nodiscard]] bool acts() const;
  void ask_for_actions(claim::Exchange& exchange);
  void take_actions(const std::vector<claim::ActionGrant>& grants);
  void run_actions();
  bool awaits_actions(const claim::WorkflowState& workflow);
  claim::Finished verdict(const Running& job, const exec::Ended& ended) const;
  void take_reply();
  void end_revoked(std::vector<claim::ClaimToken> tokens);
  void keep_for_later(const Error& error);
  void tell_refused(const std::vector<claim::Refused>& refused) const;
  // worker_signals.cc
  void handle_signals();
  void end_in_time();
  void stop_now(int request);
  void kill_now();
  void tell_what_goes_on() const;
  void hurry();
  [[nodiscard]] bool gives_up() const;
  void stop_trying();
  void give_up(const Error& error);
  void forget_unconfirmed();
  void check_time();
  void check_done(const claim::Answer& answer);
  bool waits_for_new_jobs();
  void tell_it_stays();
  void return_queue();
  void stop_running(std::chrono::nanoseconds lead, claim::EndCause why);
  void lose_lease(std::string why);
  void follow_lease();  // worker_pause.cc
  void go_on_after_pause(BootTime now);
  void close_killed(exec::RunId id);
  void await_killed();
  void finish(WorkerEnd end);
  [[nodiscard]] std::vector<std::string> misfits(const claim::Reader& reader) const;
  [[nodiscard]] std::string how_ended(const Running& job, const claim::Outcome& outcome) const;

  claim::Offer offer() const;
  std::vector<claim::ClaimToken> spare_jobs();
  std::uint64_t slots() const;
  bool idle_slot() const;
  bool may_be_halted() const;
  [[nodiscard]] bool runs_alone() const;
  [[nodiscard]] std::size_t startable() const;
  [[nodiscard]] bool may_start_beside(const PreparedJob& job) const;
  void tell_whom_it_awaits(const claim::WorkflowState& workflow);
  // worker_queue.cc
  [[nodiscard]] bool room_for_more() const;
  [[nodiscard]] std::optional<BootTime> next_unfit() const;
  void return_unfit();
  void narrow(claim::Offer& offer) const;
  bool is_idle() const;
  bool wants_jobs() const;
  bool has_reports() const {
    return !starts_.empty() || !finishes_.empty() || !returns_.empty() ||
           (actions_ != nullptr && actions_->has_reports());
  }
  // When the next exchange is due, if there is something to say or to ask.
  BootTime due_at() const;
  // Nothing is left to do but to say the rest, which can go with the release.
  bool is_over() const;
  bool may_leave() const;
  std::chrono::nanoseconds window() const;
  bool queue_stands() const;
  double dice() const {
    return static_cast<double>(context_.world2.entropy.next() >> 11) * 0x1p-53;
  }
  std::chrono::nanoseconds term_lead() const;
  std::optional<BootTime> wake_at() const;
  void notice(const std::string& line) const {
    if (events_.notice) events_.notice(line);
  }
  Result<WorkerSummary> leave();
  Result<void> say_goodbye(store::Store& store);
  void pause(std::chrono::nanoseconds time);

  const workflow::Context& context_;
  Clock& clock_;
  const WorkerSetup& setup_;
  const WorkerEvents& events_;
  exec::ProcessHost& host_;
  NodeShare& share_;
  int watched_share_ = -1;                 // descriptor that tells of capacity
  std::optional<exec::CpuPool> cpu_pool_;  // only when jobs are bound
  exec::WatchedLease own_lease_;           // when nobody watches
  exec::WatchedLease& lease_;
  int signal_fd_;
  std::string mounted_;  // mountinfo at the start
  RepeatedSignals repeated_;
  std::unique_ptr<JobPreparer> preparer_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<OutputKeeper> output_;
  std::unique_ptr<ActionRunner> actions_;  // null: the workflow has none
  bool asked_welcome_ = false;             // for those of on_worker_start
  bool welcoming_ = false;                 // they are not over yet
  bool asked_farewell_ = false;            // for those of on_worker_complete
  bool workflow_over_ = false;             // nobody waits for new jobs any more
  std::unique_ptr<SeriesKeeper> series_;
  claim::WorkerEpoch self_{};
  // End of its time on the boot clock: a wall clock that is set meanwhile moves nothing.
  std::optional<BootTime> ends_at_;
  std::chrono::nanoseconds lease_ttl_;  // as asked for
  BootTime begun_;

  Phase phase_ = Phase::working;
  std::optional<WorkerEnd> end_;                           // why, once it is decided
  claim::EndCause stop_cause_ = claim::EndCause::stopped;  // of jobs that it tells to end
  std::deque<PreparedJob> queue_;                          // claimed, not started, in order
  // Handed to the host, which begins them as slots become free; by run, in their order.
  struct Armed {
    PreparedJob job;
    Beginning beginning;
  };
  std::map<std::uint64_t, Armed> armed_;
  // The jobs that the lane may run at the same time, and what each of them may use: held for it.
  std::size_t lane_held_ = 0;
  claim::Requirement lane_need_;
  BootTime no_lane_before_{};
  std::deque<PreparedJob> offered_;  // its end, offered as spare in the exchange under way
  std::unordered_map<std::uint64_t, Running> running_;
  struct Suspect {
    BootTime until{};
    exec::Ended ended;
  };
  std::deque<Suspect> suspects_;  // ended, still in running_
  std::vector<claim::Started> starts_;
  std::vector<claim::Finished> finishes_;
  std::vector<claim::ClaimToken> returns_;
  claim::Exchange in_flight_;
  // Ends counted in the summary that no commit has told yet: waiting, and with the exchange under
  // way.
  struct Tally {
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
  };
  Tally unsaid_;
  Tally in_flight_tally_;
  // Output of jobs that were killed when the lease was lost, until they have ended.
  std::unordered_map<std::uint64_t, HeldOutput> killed_;

  BootTime last_sent_{};
  std::optional<BootTime> last_written_;     // a commit of ours
  claim::Pace pace_{claim::Sharing::local};  // until the engine is known
  bool nothing_claimable_ =
      false;  // the newest answer said so; a change or the poll timer clears it
  // After jobs were given back that did not fit: no such large ones are claimed for a while.
  struct Narrow {
    BootTime until{};
    std::uint32_t cpus = UINT32_MAX;  // the most that one may need
    std::uint32_t gpus = UINT32_MAX;
    ByteCount memory{UINT64_MAX};
  } narrow_;
  BootTime next_poll_{};
  BootTime not_before_{};  // after a failed commit
  BootTime
      no_start_before_{};  // after a refused start; what there is to report does not wait for it
  std::chrono::nanoseconds retry_delay_ = kFirstRetry;
  BootTime idle_since_{};
  std::optional<BootTime> finished_since_;  // the workflow, as the answers say without a break
  int refused_starts_ = 0;                  // in a row: this host can start nothing
  int faulty_starts_ = 0;                   // in a row: its directories cannot be used
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
  } dead_mount_;
  std::uint64_t living_ = 1;  // workers, as the newest answer said
  Asked asked_ = Asked::nothing;
  std::optional<BootTime> terminated_at_;  // the newest SIGTERM or SIGHUP, echo or not
  std::optional<BootTime> drain_until_;    // its jobs must have ended by then …
  std::optional<BootTime> stop_at_;        // … and are told so then
  std::optional<BootTime> speak_by_;       // whatever the window
  BootTime quiet_since_{};                 // stopping began, or the last job ended then
  bool heard_bell_ = false;                // of the node, while an exchange was under way
  // It tries once more to say what it has to say, with its release, and leaves whatever comes of
  // it.
  bool tries_no_more_ = false;
  // Canceled, and not known here before the answer that is awaited is read.
  std::vector<claim::ClaimToken> unplaced_;
  // A job that an earlier worker was lost with: nothing is started or claimed beside it before
  // that. One that outlived it stays here until the next one begins, or it ends.
  struct Probation {
    claim::ClaimToken token;
    BootTime until{};
  };
  std::optional<Probation> alone_;
  bool told_awaited_ = false;
  std::optional<BootTime> ask_at_;  // about the paused lease, again; nothing: it is not paused
  std::chrono::nanoseconds ask_delay_{};
  bool told_no_answer_ = false;
  bool told_undecided_ = false;
  bool told_starved_ = false;  // who has the node, since this worker last had a part of it
  WorkerSummary summary_;
};

}  // namespace torc::worker
