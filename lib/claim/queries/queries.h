// What a workflow is and how far it is, read without changing anything: single jobs, entries,
// classes, limits, actions. job_scan.h visits jobs, workers.h workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/rules/budget.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// O(1). Error corrupt also where counters, spans and templates do not agree on how many jobs there
// are.
[[nodiscard]] Result<WorkflowState> read_workflow(const Reader& reader);
[[nodiscard]] std::optional<Job> read_job(const Reader& reader, JobId id);
// Whether the attempt with this token has its job: claimed or running, and not taken back. All of
// the token counts: the number of an attempt that was given back before it started is used again.
[[nodiscard]] bool is_held_by(const Reader& reader, const ClaimToken& token);
// Number of the commit that changed recipes last; 0: they are those of the first commit.
[[nodiscard]] std::uint64_t read_edition(const Reader& reader);
// How many jobs there are; the first of an addition is the next.
[[nodiscard]] Result<std::uint64_t> count_jobs(const Reader& reader);
// The template of a job; nullopt: no such job.
[[nodiscard]] std::optional<Template> read_template(const Reader& reader, JobId id);
[[nodiscard]] JobClass read_class(const Reader& reader, std::uint32_t job_class);
// Where a job waits; nullopt: no such job.
[[nodiscard]] std::optional<Rank> read_rank(const Reader& reader, JobId id);
// What a job waits for or waited for, without its members.
[[nodiscard]] DependencySet read_dependencies(const Reader& reader, JobId id);
// nullopt: the workflow has no budget.
[[nodiscard]] std::optional<Expense> read_expense(const Reader& reader);

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
Result<void> scan_classes(const Reader& reader, const std::function<bool(const JobClass&)>& visit);
// Every class that has ready jobs, with those of each that a claim would look at first.
Result<void> scan_ready_classes(
    const Reader& reader,
    const std::function<bool(const JobClass&, const ReadyRange& head)>& visit);
[[nodiscard]] Result<std::uint64_t> count_ready(const Reader& reader, std::uint32_t job_class);
// The first range of the queue of each class, as stored. A seek each.
void each_ready_head(State& state, const std::function<bool(const ReadyRange&)>& visit);

// What jobs that are claimed, run or are still to be ended have of a limit.
struct LimitState {
  Limit limit;
  std::uint64_t used = 0;
  std::uint32_t number = 0;
  // Whether there is too little left for a job that has so much of it.
  [[nodiscard]] bool is_full(std::uint64_t amount = 1) const { return used + amount > limit.most; }
};
// nullopt: there is no such limit. One look each.
[[nodiscard]] std::optional<LimitState> read_limit(const Reader& reader, std::uint32_t limit);
// In the order of their numbers, which follow one another from 1. Error corrupt when they do not,
// or when one cannot be read.
Result<void> scan_limits(const Reader& reader, const std::function<bool(const LimitState&)>& visit);

// Whether the job was there in an earlier version of the file, and is not in the newest; or a
// person has taken it out.
[[nodiscard]] bool is_removed(const Reader& reader, JobId id);
// How a removed job failed, and so it comes back. nullopt: it is not removed, or did not fail.
[[nodiscard]] std::optional<Job> kept_failure(const Reader& reader, JobId id);

// A job that a worker had when the workflow file was applied: it goes by what that said before.
struct Behind {
  JobId job{};
  bool is_outdated = false;  // so that its result is of that, and is to be made again
};
// Those that were not removed since, in the order of their numbers. Error corrupt.
Result<void> scan_behind(const Reader& reader, const std::function<void(const Behind&)>& visit);
// Takes them out of the counts, for people: the store counts them as it counts all jobs. Costs what
// there are of them. Error corrupt: one cannot be read.
Result<void> leave_out_removed(const Reader& reader, WorkflowState& workflow);
// Those of `jobs` of which that holds, which are sorted. Costs what there are of them. Error
// corrupt: the list of them cannot be read.
[[nodiscard]] Result<std::vector<JobRange>> removed_jobs(const Reader& reader,
                                                         std::span<const JobRange> jobs);

// The actions by number; nothing where there are none. Error corrupt: one of them cannot be read.
[[nodiscard]] Result<std::vector<Action>> read_actions(const Reader& reader);
// For reading commands.
[[nodiscard]] ActionTally read_action_tally(const Reader& reader);
// The runs of an action, of the workflow or by worker. Error corrupt: one of them cannot be read.
Result<void> scan_runs(const Reader& reader, std::uint32_t number,
                       const std::function<bool(WorkerEpoch, const ActionRun&)>& visit);

// --- jobs that have failed and wait a while before they are tried again ---
//
// A delayed job carries a moment by the clock of the worker that reported its failure, and is made
// ready by the first worker that asks for jobs after that moment by its own clock. No two clocks
// are trusted to agree: one that is wrong shifts a delay, and as long as the clocks run on, to no
// more than twice its length.

// May the job be tried again? Also when the moment lies more than twice the delay ahead: then it
// was written by a clock that is not this one's.
[[nodiscard]] bool is_due(WallTime not_before, std::chrono::seconds delay, WallTime now);

// The job in the key that a look into the list of delayed ones found; nullopt: its end.
[[nodiscard]] std::optional<std::uint64_t> listed_id(State& state,
                                                     const std::optional<store::Entry>& entry);
// From `now` until the next delayed job is due; nullopt: none is delayed.
[[nodiscard]] std::optional<std::chrono::microseconds> next_due(State& state, WallTime now);

}  // namespace torc::claim
