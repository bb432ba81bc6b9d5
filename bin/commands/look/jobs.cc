// torc jobs: the list, streamed row by row.
#include <fmt/format.h>
#include <re2/re2.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bin/commands/commands.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

struct JobsOptions {
  std::string store;
  std::string state;
  std::string name;         // regular expression, searched in the name
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
             std::string(claim::to_string(job.state)),
             job.attempt == 0 ? "-" : std::to_string(job.attempt), report::show_exit(job),
             report::show_time_taken(job, now), ended ? report::show_peak(o) : "-",
             claim::raw(job.worker) == 0 ? "-" : std::to_string(claim::raw(job.worker))});
}

Result<Exit> run(const App& app, const JobsOptions& options) {
  const std::optional<JobState> state = claim::state_named(options.state);
  const RE2 pattern(options.name, RE2::Quiet);
  if (!pattern.ok()) {
    return Error{ErrorKind::invalid, fmt::format("--name '{}': {}", options.name, pattern.error()),
                 "write an RE2 regular expression, such as '^work_1.*'"};
  }
  TORC_ASSIGN(auto store, open_store(app, options.store));
  const WallTime now = app.clock.wall_now();
  Table page = new_page();
  std::uint64_t shown = 0;
  const auto list = [&](const claim::Reader& reader) -> Result<void> {
    workflow::RecipeBook book;
    if (options.json) say(app.out, "[");
    TORC_TRY(claim::scan_jobs(reader, state, [&](JobId id, const claim::Job& job) {
      if (!options.name.empty() &&
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
  c.argument("STORE", o.store, "store");
  c.option("--state", o.state, "only jobs in this state")
      .value("STATE")
      .choices(names_of(claim::all_states()));
  c.option("--name", o.name, "only jobs whose name matches").value("REGEX");
  c.option("--limit", o.limit, "at most N jobs").value("N").at_least_one();
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
