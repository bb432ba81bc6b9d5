// A job as reading commands show it: the claims' record, its name, the worker that had it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "lib/base/resources.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

// As people number them, of an attempt that `worker` has or had; 0: nobody had it, or its jobs have
// no alternatives.
[[nodiscard]] std::uint32_t shown_alternative(const claim::Reader& reader,
                                              workflow::RecipeBook& book, JobId id,
                                              claim::WorkerEpoch worker, std::uint32_t alternative);

// An item of `torc jobs --json` (job_record of docs/schema/common.json).
[[nodiscard]] nlohmann::ordered_json job_json(const claim::Reader& reader,
                                              workflow::RecipeBook& book, JobId id,
                                              const claim::Job& job);

// "3 completed, 1 failed"; empty: no jobs.
[[nodiscard]] std::string show_counts(const claim::Counts& counts);
// Jobs in states of which all of `traits` holds (lib/claim/rules/job.h).
[[nodiscard]] std::uint64_t jobs_with(const claim::WorkflowState& workflow, unsigned traits);
// Those that failed for good, for whatever reason.
[[nodiscard]] std::uint64_t failures(const claim::WorkflowState& workflow);
// By the names of all states.
[[nodiscard]] nlohmann::ordered_json counts_json(const claim::Counts& counts);

// What several documents have in common, each as its schema in docs/schema says; null where it has
// not ended, is not known, or there is none.
// Adds {cause, exit_code, signal}.
void add_end(nlohmann::ordered_json& out, const claim::Outcome& outcome, bool ended);
// Adds {cpu_seconds, peak_memory_bytes}.
void add_use(nlohmann::ordered_json& out, const claim::Outcome& outcome, bool ended);
// Adds {worker, host}.
void add_worker(nlohmann::ordered_json& out, claim::WorkerEpoch worker, const std::string& host);
// null: there is no job 0.
[[nodiscard]] nlohmann::ordered_json job_name_json(const claim::Reader& reader,
                                                   workflow::RecipeBook& book, JobId id);
// Adds {read_bytes, written_bytes}.
void add_io(nlohmann::ordered_json& out, const std::optional<Traffic>& io);

// Adds {cpus, memory_bytes, gpus, nodes, runtime_seconds}.
void add_needs(nlohmann::ordered_json& out, const Resources& needs);
// Of these the kinds that the jobs of a worker share.
void add_shared(nlohmann::ordered_json& out, const Resources& has, std::string_view prefix = "");

// As printed: indented, or on one line. Bytes that are no UTF-8 (a path may have them) are
// replaced.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json);
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& json);

// "0", "3", "0:9" (exit code:signal, as sacct writes them), "152:15" (torc's code for the end that
// the signal brought), "-" before the end.
[[nodiscard]] std::string show_exit(const claim::Job& job);
[[nodiscard]] std::string show_exit(const claim::Outcome& ended);
// "-" where it is not known.
[[nodiscard]] std::string show_peak(const claim::Outcome& ended);
[[nodiscard]] std::string show_read(const claim::Outcome& ended);
[[nodiscard]] std::string show_written(const claim::Outcome& ended);
// How long its newest attempt took, and of one that runs how long it has by now, as the clocks of
// its node and of this one say. "-": none.
[[nodiscard]] std::string show_time_taken(const claim::Job& job, WallTime now);
// Whether it ran, and somebody could tell what it used.
[[nodiscard]] bool is_measured(const claim::Outcome& ended);
// Of an attempt that ended: {read_bytes, written_bytes, storage_read_bytes, storage_written_bytes,
// voluntary_switches, involuntary_switches}; null where they are not known.
void add_activity(nlohmann::ordered_json& out, const claim::Outcome& ended);

// Of a finished workflow with blocked jobs: whether all that they wait for is over, so that nothing
// reaches them any more.
[[nodiscard]] bool never_reached(const claim::WorkflowState& workflow);
// "wait for the decision about what failed (pending_failed)", "were never reached: …".
[[nodiscard]] std::string show_blocked(const claim::WorkflowState& workflow);

// "2 jobs that were at work when wf.yaml was applied are not what it says: `torc run wf.yaml` …".
// Empty: there are none.
[[nodiscard]] std::string show_outdated(const claim::WorkflowState& workflow);

// What the worker leaves undone that the states of jobs do not tell: "1 canceled job that a
// worker … still has to end". Empty: nothing.
[[nodiscard]] std::string show_left(const claim::WorkflowState& workflow);

// Whole-workflow verdict: completed, failed, running, waiting (something is to do and nobody is at
// work; or all that is left is held).
[[nodiscard]] std::string_view workflow_verdict(const claim::WorkflowState& workflow,
                                                bool anybody_at_work);

}  // namespace torc::report
