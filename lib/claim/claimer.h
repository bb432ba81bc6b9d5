// The transactions of the claims: everything a worker or a command does to the state of jobs and
// workers. Each function runs the pure rules (transition.h, ready_queue.h, barrier.h, lease.h)
// inside one transaction that the caller owns, so that one commit can carry several of them. They
// have no clock: time comes as an argument and is only recorded. They touch what concerns the jobs
// named and nothing else: no cost grows with the number of jobs in the workflow beyond a logarithm.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/action.h"
#include "lib/claim/job.h"
#include "lib/claim/plan.h"
#include "lib/store/engine/beat.h"
#include "lib/store/engine/transaction.h"

namespace torc::claim {

using store::Reader;
using store::Transaction;

// --- making a workflow ---

// Writes the whole initial state: templates, classes, dependency sets, ready queues, counters. Jobs
// have no record of their own until something happens to them.
Result<void> write_plan(Transaction& tx, const Plan& plan);

// --- reading ---

using Counts = std::array<std::uint64_t, kJobStates>;  // indexed by JobState

struct WorkflowState {
  std::string name;
  std::string settings;
  std::uint64_t jobs = 0;
  Counts counts{};
  // Of the canceled: never needed, since the condition on which they start cannot come true.
  std::uint64_t unmet = 0;
  // Of the canceled: not yet ended by the worker that had them, which may be gone. They hold what
  // they were granted, slots and budget too, and may be to run again.
  std::uint64_t ending = 0;
  // Of an answer: the budget kept jobs from being granted.
  bool budget_holds = false;
  [[nodiscard]] std::uint64_t of(JobState s) const { return counts[static_cast<std::size_t>(s)]; }
  std::uint32_t max_failures = 0;  // 0: as many as there are
  ActionTally actions;             // zeros where there are none
  // So many jobs have failed that nothing more is claimed.
  [[nodiscard]] bool halted() const {
    return max_failures != 0 && of(JobState::failed) + of(JobState::terminated) >= max_failures;
  }
  // No job runs or is being ended, and nothing more will be claimed. Jobs that remain blocked or
  // held run only if a person changes something.
  [[nodiscard]] bool jobs_over() const {
    const std::uint64_t waiting = of(JobState::ready) + of(JobState::delayed);
    return of(JobState::claimed) + of(JobState::running) + ending == 0 &&
           (halted() || waiting == 0);
  }
  // Nor is there an action that runs, or that was set off and nobody runs yet.
  [[nodiscard]] bool finished() const { return jobs_over() && actions.due + actions.running == 0; }
  // Everything that was needed.
  [[nodiscard]] bool all_completed() const { return of(JobState::completed) + unmet == jobs; }
};

// O(1). Error corrupt also where counters, spans and templates do not agree on how many jobs there
// are.
[[nodiscard]] Result<WorkflowState> read_workflow(const Reader& reader);
[[nodiscard]] std::optional<Job> read_job(const Reader& reader, JobId id);
// Whether the attempt with this token has its job: claimed or running, and not taken back. All of
// the token counts: the number of an attempt that was given back before it started is used again.
[[nodiscard]] bool is_held_by(const Reader& reader, const ClaimToken& token);
// Number of the commit that changed recipes last; 0: they are those of the first commit.
[[nodiscard]] std::uint64_t read_edition(const Reader& reader);
// Gives a template another recipe. Its jobs, their names and what they wait for must stay the same.
// Error invalid: there is no such template.
Result<void> replace_recipe(Transaction& tx, JobId first, std::string_view recipe);
// The template of a job; nullopt: no such job.
[[nodiscard]] std::optional<Template> read_template(const Reader& reader, JobId id);
[[nodiscard]] JobClass read_class(const Reader& reader, std::uint32_t job_class);
// The scans answer with Error corrupt when they meet a record that cannot be read, or that does not
// agree with the templates and the counters; `visit` may have been called before. None of them
// makes more steps than there are jobs and records.
//
// Every template with more than one job, in id order: to find a job by its name.
Result<void> scan_sweeps(const Reader& reader, const std::function<bool(const Template&)>& visit);
// Every template, in id order: to look at all names.
Result<void> scan_templates(const Reader& reader,
                            const std::function<bool(const Template&)>& visit);
// Ids of the single-job templates with this name hash (usually one).
Result<std::vector<JobId>> find_by_name_hash(const Reader& reader, std::uint64_t hash);
// Visits jobs in id order; with a state, only those, without reading the others where an index
// exists (ready, claimed, running, and those set aside: failed, canceled, terminated, held).
Result<void> scan_jobs(const Reader& reader, std::optional<JobState> state,
                       const std::function<bool(JobId, const Job&)>& visit);
Result<void> scan_classes(const Reader& reader, const std::function<bool(const JobClass&)>& visit);
// Every class that has ready jobs, with the job of each that a claim would look at first.
Result<void> scan_ready_classes(const Reader& reader,
                                const std::function<bool(const JobClass&, JobId head)>& visit);
// The direct upstream jobs that a blocked job still waits for, in id order, at most `limit`.
[[nodiscard]] std::vector<JobId> waits_for(const Reader& reader, JobId id, std::size_t limit);

// --- workers ---

struct WorkerInfo {
  std::string host;
  std::uint64_t pid = 0;
  std::uint64_t pid_start = 0;  // field 22 of /proc/pid/stat, clock ticks since boot
  std::string boot_id;
  std::string pid_namespace;
  std::vector<std::uint64_t> above;  // its parent, that one's, … when it began; empty: not known
  std::string user;        // uid and user namespace: whose processes its jobs are; empty: not known
  std::string allocation;  // Slurm job id ("1234", "1234_7"); empty without one
  std::string cluster;     // of which Slurm the id is; empty: not known, so the id means nothing
  WallTime allocation_start{};  // as Slurm says it; a requeued one has another; 0: not known
  std::string scheduler;
  std::string label;
  bool any_binding = false;        // it serves every scheduler and label (`torc run`)
  bool ignores_resources = false;  // it counts jobs and nothing else (--max-parallel-jobs)
  std::string output_dir;          // where it keeps its jobs' output; empty: in the store
  std::uint32_t cpus = 0;
  std::uint32_t gpus = 0;
  ByteCount memory;
  WallTime registered_at{};
  WallTime ends_at{};                   // end of its walltime; 0: none
  std::chrono::seconds lease_ttl{300};  // as asked for; in a crowd leases are longer
  std::chrono::seconds lease_beat{0};   // as asked for; 0: a fifth of that
  WallTime claims_from{};      // when its first claim is due, see turn_to_claim() of pace.h
  bool own_beat_file = false;  // set by register_worker(): one of the first store::kOwnBeatFiles
};

enum class WorkerStatus : std::uint8_t { living, released, expired };
[[nodiscard]] std::string_view to_string(WorkerStatus status);

struct Worker {
  WorkerEpoch epoch{};
  WorkerInfo info;
  WorkerStatus status = WorkerStatus::living;
  WallTime last_seen{};        // wall time that it wrote with its newest commit; for people
  WallTime gone_at{};          // when it left, or another one ended its lease; 0: it lives
  std::uint64_t renewals = 0;  // counter that changes with every commit of the worker
  std::uint64_t held = 0;      // jobs that it holds now
  std::uint64_t ending = 0;    // canceled jobs that it has not yet reported as ended
  std::uint64_t finished = 0;  // jobs that it brought to an end; those to run again do not count
  std::chrono::seconds ttl{};  // the silence that it may keep, as of its newest commit
  bool barred = false;         // by bar_worker()
};

// How many take part. O(1).
struct Crowd {
  std::uint64_t workers = 0;             // living
  std::uint64_t hosts = 0;               // with at least one of them
  std::chrono::milliseconds job_time{};  // how long jobs run lately; 0: not known
  std::uint64_t ready = 0;               // jobs
};
[[nodiscard]] Result<Crowd> read_crowd(const Reader& reader);

// The epoch is tx.sequence(): one registration a commit. Its lease is the one asked for, or longer
// in a crowd (lease_ttl() of lease.h).
Result<WorkerEpoch> register_worker(Transaction& tx, WorkerInfo info);
// Gives back the jobs that it holds, and leaves: claimed ones as never started; one that it
// reported as running will run again with its attempt used up (EndCause::stopped). Refused (fenced)
// after its expiry. Precondition: each start was reported, at the latest in this transaction; a
// worker that cannot say what it started leaves without a release, and its lease runs out.
Result<void> release_worker(Transaction& tx, WorkerEpoch worker, WallTime now);
// For decisions. nullopt: it never registered; Error corrupt: its record or lease cannot be read.
[[nodiscard]] Result<std::optional<Worker>> find_worker(const Reader& reader, WorkerEpoch epoch);
// For what is shown: nullopt also where its record cannot be read.
[[nodiscard]] std::optional<Worker> read_worker(const Reader& reader, WorkerEpoch epoch);
// In the order of their epochs. This and what follows: Error corrupt when a record cannot be read.
Result<void> scan_workers(const Reader& reader, bool living_only,
                          const std::function<bool(const Worker&)>& visit);
// The living worker that registered last.
Result<std::optional<Worker>> newest_worker(const Reader& reader);
// Where the worker's heartbeats are; they stay there for as long as it lives.
[[nodiscard]] store::BeatPlace beat_place(const Worker& worker);
[[nodiscard]] store::BeatPlace beat_place(const Reader& reader, WorkerEpoch worker);
// Whether a living worker has an epoch in [first, last]. One seek.
Result<bool> is_anybody_of(const Reader& reader, std::uint64_t first, std::uint64_t last);
// The living workers on a host of this name, a seek each.
Result<std::vector<WorkerEpoch>> workers_on(const Reader& reader, std::string_view host);
// The next `count` living workers after `self` in the ring of epochs, `self` excluded; all others
// when fewer.
Result<std::vector<WorkerEpoch>> successors(const Reader& reader, WorkerEpoch self,
                                            std::size_t count);

// Before anything of `worker` is ended from outside, because its process was found gone: from here
// on nothing that it says counts. Its exchanges and its release are refused (fenced); what it holds
// it still holds, so that nobody begins it before it has surely ended here, until its expiry. Who
// kills says so first: should the worker live after all, it does not take the SIGKILL of a job for
// the job's own end. false: it renewed since it was `observed`, or is gone already. True as well
// when it was barred before.
Result<bool> bar_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed);

// What the loss of a worker says of the jobs that it ran.
enum class Charge : std::uint8_t {
  no,    // the worker itself says that it lives, and only lost its lease
  stop,  // its allocation was ended, and not by them: see cut_off()
  yes    // they may have taken it with them
};

// Expires `worker` if its renewal counter is still `observed`: requeues its jobs with their attempt
// used up; see lose() for what counts, and for `crash_limit`, which holds for templates
// that have none of their own. Failure handlers are asked about those that had started. `why` is
// how the caller knows that it is gone: worker_lost, lease_lost or allocation_ended. `alive_at` is
// the last sign of life that the caller knows of, 0: its newest commit; its attempts end then, lest
// time is counted in which nothing ran. `charge` no: `lost` stays, no limit ends a job, no handler
// is asked; stop: cut_off(), with allocation_ended. Of the suspects that it held the one that was
// granted last is the prime one afterwards. false: it renewed meanwhile or is gone already. (The
// beat counter is compared by the caller just before, in the same body.)
Result<bool> expire_worker(Transaction& tx, WorkerEpoch worker, std::uint64_t observed,
                           WallTime now, std::uint32_t crash_limit,
                           EndCause why = EndCause::worker_lost, WallTime alive_at = {},
                           Charge charge = Charge::yes);

// --- a worker's exchange ---

struct Started {
  ClaimToken token;
  WallTime at{};
};
struct Finished {
  ClaimToken token;
  // completed, failed, terminated; `ready`: run again, attempt used up
  JobState state = JobState::completed;
  Outcome outcome;
  // The recovery script of the rule that is for this end was run, and succeeded (retry.h).
  bool recovered = false;
  // The job saved its state and is to go on: `state` is ready, and limits on attempts start anew.
  bool checkpointed = false;
  // Encoded Signature (signature.h) of what it took and made, kept when the job is over; empty: it
  // has neither files nor user data.
  std::string signature = {};
};

// What the worker could start now, and beyond that what it wants to hold ready.
struct Offer {
  std::uint32_t cpus = 0;  // free now
  std::uint32_t gpus = 0;
  ByteCount memory;
  std::uint32_t total_cpus = 0;  // a job that needs more than the total never fits
  std::uint32_t total_gpus = 0;
  ByteCount total_memory;
  std::uint32_t nodes = 1;
  // Until the worker must have ended its jobs; none: unlimited.
  std::optional<std::chrono::seconds> remaining;
  std::string scheduler;  // jobs bound to another scheduler or label never fit
  std::string label;
  bool any_binding = false;  // one machine serves everybody (`torc run`): neither of them binds
  bool ignore_resources = false;  // queue-depth mode (--max-parallel-jobs): only `max_jobs` counts
  std::uint64_t max_jobs = 0;     // at most this many jobs for free capacity, in either mode
  // And up to this many more that will fit when capacity frees (claim-ahead), but no more than a
  // fair share: (jobs that are still ready) / (2 * living workers).
  std::uint64_t ahead = 0;
};

// One commit carries everything a worker has to say.
struct Exchange {
  WorkerEpoch worker{};
  WallTime now{};
  std::vector<Started> starts;  // one of a job that is also in `finishes` does no harm
  std::vector<Finished> finishes;
  // Claimed, never started: back to ready, the attempt not used up, also of a suspect. One that was
  // reported as running counts as stopped, its attempt as used up.
  std::vector<ClaimToken> returns;
  // Claimed, not to be started before the next exchange. While ready jobs are scarce (fewer than
  // two for each living worker) they go back like `returns`, and Answer::took_spares says so.
  std::vector<ClaimToken> spares;
  // None: claim nothing (draining). As long as a suspect is in its probation or runs alone to its
  // end there is none: the store takes an offer for the word that none is.
  std::optional<Offer> offer;
  // The silence that the worker may keep from here on; 0: as before.
  std::chrono::seconds ttl{};
  std::vector<ActionReport> actions;
  ActionWish wish;  // which runs of actions it would take
  // How long jobs run here lately, by the boot clock; 0: nothing to say. For other workers to plan
  // by.
  std::chrono::milliseconds job_time{};
};

struct Grant {
  ClaimToken token;
  std::uint32_t job_class = 0;
  std::int32_t priority = 0;
  std::uint32_t stopped = 0;  // Job::stopped
  // It is a suspect, and the only grant of its answer, no action beside it: the worker starts
  // nothing beside it and offers nothing before it has shown to be harmless. Job::lost says how
  // often it has not been.
  bool alone = false;
  std::uint32_t lost = 0;
};

enum class Refusal : std::uint8_t { superseded, finished, no_such_job, canceled };
struct Refused {
  ClaimToken token;
  Refusal why = Refusal::superseded;
  WorkerEpoch holder{};  // who has the job now; 0: nobody
};

struct Answer {
  std::vector<Grant> grants;  // in the order in which they should start
  std::vector<Refused> refused;
  std::vector<ActionGrant> actions;      // in the order in which they should run
  WorkflowState workflow;                // after this exchange; `settings` left empty
  std::uint64_t living = 0;              // workers
  std::chrono::milliseconds job_time{};  // how long jobs run lately, on all workers; 0: not known
  bool took_spares = false;
  bool promoted = false;  // jobs whose delay is over were made ready
  // By the asker's clock, until the next delayed job may be claimed; nullopt: none is delayed.
  std::optional<std::chrono::microseconds> next_due;
  // What the worker must end, now: canceled while it held it. Told in every answer until one of
  // `finishes` or `returns` says that it is over.
  std::vector<ClaimToken> revoked;
};

// Finishes, starts, returns, renews the lease, then claims; no jobs before all actions of
// on_workflow_start have ended. Error fenced: the worker was expired or
// released; the caller stops everything it runs. Error corrupt: the tables contradict themselves.
// Error invalid: one of `finishes` is no end. After any Error the caller aborts the transaction.
// Stale tokens are answered in `refused`. A worker is granted no more than it can hold: 2^20 jobs.
// At most one exchange of a worker in one transaction: the sequence number tells its claims apart.
Result<Answer> exchange(Transaction& tx, const Exchange& request);

// What `worker` has to end, as in Answer::revoked: for one that has nothing to say for a while.
[[nodiscard]] std::vector<ClaimToken> read_revoked(const Reader& reader, WorkerEpoch worker);

// Whether a job of this class could ever run on a worker that offers this: used to explain waiting.
[[nodiscard]] bool could_fit(const JobClass& job_class, const Offer& offer);
// What a registered worker could ever offer, as far as its record tells. `now` by the asker's wall
// clock: good enough to explain, never to decide.
[[nodiscard]] Offer whole_offer(const WorkerInfo& info, WallTime now);

// --- checking ---

// Recounts everything: each job in exactly one state, counters, ready queues, barriers, holdings,
// dependencies respected by what has run. Names the first wrong thing. O(jobs).
Result<void> verify_state(const Reader& reader);

}  // namespace torc::claim
