// torc jobs: the list, streamed row by row.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "bin/tables.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

struct JobsOptions {
  SelectOptions jobs;       // [STORE] [NAME…], states, and a regular expression
  bool failed = false;      // in one of the states of what went wrong
  std::uint64_t limit = 0;  // 0: all
  bool json = false;
};

using claim::JobState;

// Rows of a table are kept only up to here; a longer list is printed in pages of this size, each
// with its own widths, so that a million jobs need no memory.
constexpr std::size_t kJobsPage = 1000;

Table new_page() {
  return Table({{"id", Align::right},
                {"name", Align::left, Shorten::yes},
                {"state"},
                {"attempt", Align::right},
                {"exit", Align::right},
                {"time", Align::right},
                {"peak memory", Align::right},
                {"worker", Align::right}});
}

void add_row(Table& table, const claim::Reader& reader, workflow::RecipeBook& book, JobId id,
             const claim::Job& job, WallTime now) {
  const claim::Outcome& o = job.outcome;
  const bool ended = claim::is_over(job.state) && o.started_at.count() != 0;
  table.add({std::to_string(raw(id)), printable(workflow::job_name(book, reader, id)),
             fmt::format("{}{}", claim::to_string(job.state),
                         claim::is_removed(reader, id) ? ", removed" : ""),
             job.attempt == 0 ? "-" : std::to_string(job.attempt), report::show_exit(job),
             report::show_time_taken(job, now), ended ? report::show_peak(o) : "-",
             claim::raw(job.worker) == 0 ? "-" : std::to_string(claim::raw(job.worker))});
}

// Those that were named, in one of the states, by their numbers; of several states one after the
// other. `visit` returns whether to go on.
Result<void> scan(const claim::Reader& reader,
                  const std::optional<std::vector<claim::JobRange>>& of,
                  const std::vector<JobState>& states,
                  const std::function<bool(JobId, const claim::Job&)>& visit) {
  if (of) {
    return claim::scan_jobs_of(reader, *of, [&](JobId id, const claim::Job& job) {
      const bool wanted = states.empty() || std::ranges::find(states, job.state) != states.end();
      return !wanted || visit(id, job);
    });
  }
  if (states.empty()) return claim::scan_jobs(reader, std::nullopt, visit);
  bool goes_on = true;
  for (const JobState state : states) {
    if (!goes_on) break;
    TORC_TRY(claim::scan_jobs(
        reader, state, [&](JobId id, const claim::Job& job) { return goes_on = visit(id, job); }));
  }
  return {};
}

Result<Exit> run(const App& app, const JobsOptions& options) {
  const RE2 pattern(options.jobs.name, RE2::Quiet);
  if (!pattern.ok()) {
    return Error{ErrorKind::invalid,
                 fmt::format("--name '{}': {}", options.jobs.name, pattern.error()),
                 "write an RE2 regular expression, such as '^work_1.*'"};
  }
  TORC_ASSIGN(const auto where, locate_store_and_names(app, options.jobs.words));
  TORC_ASSIGN(auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  const std::vector<JobState> states =
      options.failed ? claim::states_with(claim::trait::kTroubled) : states_of(options.jobs);
  const WallTime now = app.clock.wall_now();
  Table page = new_page();
  std::uint64_t shown = 0;
  const auto list = [&](const claim::Reader& reader) -> Result<void> {
    workflow::RecipeBook book;
    std::optional<std::vector<claim::JobRange>> named;
    if (!where.names.empty()) {
      TORC_ASSIGN(named, select_jobs(reader, Selection{where.names, "", {}, false}));
    }
    if (options.json) say(app.out, "[");
    TORC_TRY(scan(reader, named, states, [&](JobId id, const claim::Job& job) {
      if (!options.jobs.name.empty() &&
          !RE2::PartialMatch(workflow::job_name(book, reader, id), pattern))
        return true;
      if (options.json) {
        say(app.out, "{}\n  {}", shown == 0 ? "" : ",",
            report::json_line(report::job_json(reader, book, id, job)));
      } else {
        add_row(page, reader, book, id, job, now);
        if (page.rows() == kJobsPage) {
          say_table(app, page);
          page = new_page();
        }
      }
      ++shown;
      return options.limit == 0 || shown < options.limit;
    }));
    if (options.json) say(app.out, "{}]\n", shown == 0 ? "" : "\n");
    return {};
  };
  TORC_TRY(store->view(store::Freshness::latest, list));
  if (!options.json) {
    if (!page.empty()) say_table(app, page);
    if (shown == 0) say(app.out, "no such jobs\n");
  }
  return Exit::ok;
}

}  // namespace

void add_jobs(Command& c) {
  auto& o = c.options<JobsOptions>();
  c.about("List jobs");
  c.argument("NAME", o.jobs.words,
             "[STORE] [NAME…]: jobs by name, by #NUMBER, 'align_*', stage:align, @FILE or - "
             "(default: all)")
      .value("[STORE] [NAME…]");
  const Flag failed =
      c.flag("--failed", o.failed, "only jobs that failed, were terminated or wait for a decision");
  add_state(c, o.jobs, claim::all_states(), "only jobs in one of these states, with commas")
      .excludes(failed);
  c.option("--name", o.jobs.name, "only jobs whose name matches").value("REGEX");
  c.option("--limit", o.limit, "at most N jobs").value("N").at_least_one();
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
