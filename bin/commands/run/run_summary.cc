#include "bin/commands/run/run_summary.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bin/commands/run/failures.h"
#include "bin/commands/run/working.h"
#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/report/file_count.h"
#include "lib/report/job_view.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

using claim::JobState;

// More are not counted: a run has ended when its jobs have.
constexpr std::uint64_t kMostFiles = 100'000;

std::string show_files(const report::FileCount& files) {
  if (!files.is_all) return fmt::format("more than {} files", show_count(files.files));
  return files.files == 1 ? "1 file" : fmt::format("{} files", show_count(files.files));
}

// Nobody had anything to do, from the beginning.
bool had_nothing_to_do(const RunEnd& end) {
  const worker::WorkerSummary& summary = end.summary;
  if (end.counts)
    return end.counts->all_completed() &&
           summary.completed + summary.failed + summary.given_back == 0;
  return end.was_over && summary.end == worker::WorkerEnd::workflow_finished &&
         summary.completed + summary.failed + summary.given_back == 0;
}

// Why the worker left before all was done.
void print_end(const App& app, const worker::WorkerSummary& summary) {
  if (summary.end == worker::WorkerEnd::time_up || summary.end == worker::WorkerEnd::idle) {
    say(app.out, "it left because {}{}\n",
        summary.end == worker::WorkerEnd::time_up ? "its time was up (--time-limit)"
                                                  : "it had no job for too long (--idle-timeout)",
        summary.given_back == 0
            ? ""
            : fmt::format("; {} that it had begun {} again", plural(summary.given_back, "job"),
                          summary.given_back == 1 ? "runs" : "run"));
  }
  if (was_interrupted(summary))
    say(app.out, "interrupted by {}\n", signal_name(summary.interrupted_by));
  if (const claim::WorkflowState& w = summary.workflow; w.halted()) {
    say(app.out, "nothing more was started after {}: max_failures is {}\n",
        plural(report::failures(w), "failure"), show_count(w.max_failures));
  }
}

// What keeps ready jobs from this machine.
void print_what_does_not_fit(const App& app, const worker::WorkerSummary& summary,
                             std::uint64_t ready, const std::string& shown) {
  const claim::WorkflowState& w = summary.workflow;
  if (w.budget_holds) {
    say(app.out, "the budget keeps {} from starting; see `torc status {}`\n",
        plural(ready, "ready job"), shown);
  } else if (w.limits_hold) {
    say(app.out,
        "a limit keeps {} from starting; see `torc status {}`, and `torc set --limit` "
        "to raise it\n",
        plural(ready, "ready job"), shown);
  } else {
    say(app.out, "{} cannot run on this worker; see `torc jobs {} --state ready`\n",
        plural(ready, "ready job"), shown);
    for (const std::string& line : summary.mismatches) say(app.out, "  {}\n", line);
  }
}

// Of a run of some jobs alone.
void print_chosen(const App& app, const RunEnd& end, const ChosenCounts& counts) {
  const worker::WorkerSummary& summary = end.summary;
  const claim::WorkflowState& w = summary.workflow;
  const std::string shown = workflow::shown_path(app, end.store);
  if (had_nothing_to_do(end)) {
    say(app.out, "{}: nothing to do: {} in {}\n", printable(w.name), show(counts), shown);
  } else {
    say(app.out, "{}: {} in {}; of the workflow {} of {} in {}\n", printable(w.name), show(counts),
        show_duration(end.took), show_count(w.of(JobState::completed)), show_count(w.jobs), shown);
  }
  print_end(app, summary);
  print(app.out, first_failures(app, end.store, w, end.chosen), shown, end.again);
  if (counts.of(JobState::held) > 0)
    say(app.out, "held jobs run when they are released: torc release {} --all\n", shown);
  if (summary.end == worker::WorkerEnd::nothing_fits)
    print_what_does_not_fit(app, summary, counts.of(JobState::ready), shown);
}

}  // namespace

void print_json(const App& app, const RunEnd& end) {
  const worker::WorkerSummary& summary = end.summary;
  const claim::WorkflowState& w = summary.workflow;
  const report::FileCount files = report::count_files(end.store, kMostFiles);
  const nlohmann::ordered_json out = {
      {"workflow", w.name},
      {"store", end.store.string()},
      {"end", words_of(summary.end).name},
      {"interrupted_by", json_if(was_interrupted(summary), signal_name(summary.interrupted_by))},
      {"jobs", w.jobs},
      {"jobs_by_state", report::counts_json(w.counts)},
      {"not_needed_jobs", w.unmet},
      {"asked_for", end.counts ? to_json(*end.counts) : nlohmann::ordered_json()},
      {"elapsed_seconds", json_seconds(end.took)},
      {"files", files.files},
      {"all_files_counted", files.is_all},
      {"nothing_to_do", had_nothing_to_do(end)},
      {"first_failures", to_json(first_failures(app, end.store, w, end.chosen))}};
  say(app.out, "{}\n", report::json_text(out));
}

void print_summary(const App& app, const RunEnd& end) {
  if (end.counts) return print_chosen(app, end, *end.counts);
  const worker::WorkerSummary& summary = end.summary;
  const Path& store = end.store;
  const claim::WorkflowState& w = summary.workflow;
  const std::uint64_t bad = report::failures(w);
  const std::uint64_t canceled = w.of(JobState::canceled) - w.unmet;
  const bool idle = had_nothing_to_do(end);
  say(app.out, "{}: {}{} of {} completed", printable(w.name), idle ? "nothing to do: " : "",
      show_count(w.of(JobState::completed)), plural(w.jobs, "job"));
  if (bad > 0) say(app.out, ", {} failed", show_count(bad));
  if (canceled > 0) say(app.out, ", {} canceled", show_count(canceled));
  if (w.unmet > 0) say(app.out, ", {} not needed", show_count(w.unmet));
  if (const auto n = w.of(JobState::pending_failed); n > 0)
    say(app.out, ", {} failed and to be decided", show_count(n));
  if (const auto n = w.of(JobState::held); n > 0) say(app.out, ", {} held", show_count(n));
  const auto tell = [&](std::uint64_t n, std::string_view what) {
    if (n > 0) say(app.out, ", {} {}", show_count(n), what);
  };
  tell(w.of(JobState::ready), "ready");
  tell(w.of(JobState::delayed), "to be tried again");
  tell(w.of(JobState::claimed) + w.of(JobState::running), "with other workers");
  const std::uint64_t blocked = w.jobs_over() ? w.of(JobState::blocked) : 0;
  tell(w.of(JobState::blocked),
       blocked > 0 && report::never_reached(w) ? "never reached" : "waiting");
  const std::string shown = workflow::shown_path(app, store);
  if (idle)
    say(app.out, " in {}\n", shown);
  else
    say(app.out, " in {}; {} in {}\n", show_duration(end.took),
        show_files(report::count_files(store, kMostFiles)), shown);
  if (blocked > 0 && !report::never_reached(w)) say(app.out, "{}\n", report::show_blocked(w));
  if (w.actions.failed > 0)
    say(app.out, "{} failed; see: torc actions {}; torc actions {} --output NUMBER\n",
        plural(w.actions.failed, "action"), shown, shown);
  if (const std::string left = report::show_left(w); !left.empty()) say(app.out, "{}\n", left);
  if (w.of(JobState::held) > 0)
    say(app.out, "held jobs run when they are released: torc release {} --all\n", shown);
  print_end(app, summary);
  print(app.out, first_failures(app, store, w), shown, end.again);
  if (summary.end == worker::WorkerEnd::nothing_fits) {
    print_what_does_not_fit(app, summary, w.of(JobState::ready), shown);
  } else if (!w.finished()) {
    say(app.out, "go on with: {}\n", end.again);
  }
}

}  // namespace torc::cli
