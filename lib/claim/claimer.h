// The transactions of the claims: everything a worker or a command does to the state of jobs and
// workers. Each function runs the pure rules (transition.h, ready_queue.h, barrier.h, lease.h)
// inside one transaction that the caller owns, so that one commit can carry several of them. They
// have no clock: time comes as an argument and is only recorded. They touch what concerns the jobs
// named and nothing else: no cost grows with the number of jobs in the workflow beyond a logarithm.
#pragma once

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
#include "lib/claim/budget.h"
#include "lib/claim/job.h"
#include "lib/claim/offer.h"
#include "lib/claim/plan.h"
#include "lib/claim/request.h"
#include "lib/claim/transaction.h"
#include "lib/claim/transition.h"
#include "lib/claim/worker.h"
#include "lib/claim/workflow_state.h"
#include "lib/store/beat.h"

namespace torc::claim {

// --- making a workflow ---

// Writes the whole initial state: templates, classes, dependency sets, ready queues, counters. Jobs
// have no record of their own until something happens to them.
Result<void> write_plan(Transaction& tx, const Plan& plan);

// --- reading ---

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
// nullopt: the workflow has no budget.
[[nodiscard]] std::optional<Expense> read_expense(const Reader& reader);
// The direct upstream jobs that a blocked job still waits for, in id order, at most `limit`.
[[nodiscard]] std::vector<JobId> waits_for(const Reader& reader, JobId id, std::size_t limit);

// --- workers ---

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

// Finishes, starts, returns, renews the lease, then claims; no jobs before all actions of
// on_workflow_start have ended. Error fenced: the worker was expired or
// released; the caller stops everything it runs. Error corrupt: the tables contradict themselves.
// Error invalid: one of `finishes` is no end. After any Error the caller aborts the transaction.
// Stale tokens are answered in `refused`. A worker is granted no more than it can hold: 2^20 jobs.
// At most one exchange of a worker in one transaction: the sequence number tells its claims apart.
Result<Answer> exchange(Transaction& tx, const Exchange& request);

// What `worker` has to end, as in Answer::revoked: for one that has nothing to say for a while.
[[nodiscard]] std::vector<ClaimToken> read_revoked(const Reader& reader, WorkerEpoch worker);

// --- checking ---

// Recounts everything: each job in exactly one state, counters, ready queues, barriers, holdings,
// dependencies respected by what has run. Names the first wrong thing. O(jobs).
Result<void> verify_state(const Reader& reader);

}  // namespace torc::claim
