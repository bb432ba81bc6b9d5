#include "bin/commands/look/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bin/locate.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/table.h"
#include "lib/exec/output/series.h"
#include "lib/report/job_output.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

using exec::SeriesPoint;
using nlohmann::ordered_json;
using std::chrono::microseconds;
using Points = std::vector<SeriesPoint>;

constexpr std::size_t kSeriesPage = 1000;

// nullopt: nobody kept any.
Result<std::optional<Points>> points_of(const report::AttemptOutput& attempt) {
  const exec::AttemptKey key{raw(attempt.job), attempt.attempt};
  for (const Path& output : attempt.directories) {
    const beneath::Root root(report::root_of_output(attempt.store, output));
    const Path directory = exec::series_directory(output);
    std::optional<std::uint64_t> worker = attempt.worker;
    if (attempt.worker == 0) {
      TORC_ASSIGN(worker, exec::series_worker(root, directory, key));
    }
    if (!worker) continue;
    TORC_ASSIGN(auto points, exec::read_series(root, {directory, *worker}, key));
    if (points) return points;
  }
  return std::optional<Points>();
}

// CPUs that were busy since the point before.
double busy(const Points& points, std::size_t i) {
  if (i == 0) return 0;
  const double time = json_seconds(points[i].at - points[i - 1].at);
  const double used = json_seconds(points[i].cpu_time - points[i - 1].cpu_time);
  return time > 0 ? std::max(used, 0.0) / time : 0;
}

void show_json(const App& app, const report::JobNow& now, const Points& points) {
  const ordered_json head = {
      {"job_id", raw(now.output.job)}, {"job", now.name}, {"attempt", now.output.attempt}};
  std::string text = report::json_text(head);
  text.erase(text.rfind('\n'));
  say(app.out, "{},\n  \"points\": [", text);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SeriesPoint& p = points[i];
    ordered_json row;
    row["at"] = json_seconds(p.at);
    row["used_memory_bytes"] = p.memory.value;
    row["cpu_seconds"] = json_seconds(p.cpu_time);
    report::add_io(row, p.io);
    row["processes"] = p.processes;
    say(app.out, "{}\n    {}", i == 0 ? "" : ",", report::json_line(row));
  }
  say(app.out, "{}]\n}}\n", points.empty() ? "" : "\n  ");
}

void show_table(const App& app, const Points& points) {
  const auto new_page = [] {
    return Table({{"time"},
                  {"memory", Align::right},
                  {"CPUs busy", Align::right},
                  {"CPU time", Align::right},
                  {"read", Align::right},
                  {"written", Align::right},
                  {"processes", Align::right}});
  };
  Table page = new_page();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SeriesPoint& p = points[i];
    page.add({show_time(p.at), show_bytes(p.memory),
              i == 0 ? "-" : fmt::format("{:.2f}", busy(points, i)), show_duration(p.cpu_time),
              p.io ? show_bytes(p.io->read) : "-", p.io ? show_bytes(p.io->written) : "-",
              std::to_string(p.processes)});
    if (page.rows() < kSeriesPage) continue;
    say(app.out, "{}", page.text());
    page = new_page();
  }
  if (!page.empty()) say(app.out, "{}", page.text());
}

}  // namespace

Result<Exit> print_series(const App& app, const std::string& named, const SeriesOptions& options) {
  TORC_ASSIGN(auto store, open_store(app, named));
  workflow::RecipeBook book;
  TORC_ASSIGN(auto now, report::look_at_job(*store, book, options.job));
  if (!now) return workflow::no_such_job(options.job);
  if (options.attempt > 0) report::choose_attempt(now->output, options.attempt);
  TORC_ASSIGN(auto points, points_of(now->output));
  if (!points) {
    return Error{ErrorKind::invalid,
                 fmt::format("there is no time series of '{}', attempt {}", options.job,
                             now->output.attempt),
                 "workers keep one of each job that runs for 0.1 s or longer when the workflow "
                 "has `resource_monitor: {granularity: time_series}` and no `enabled: false` in "
                 "it, also not under its `jobs`"};
  }
  if (options.json) {
    show_json(app, *now, *points);
  } else {
    show_table(app, *points);
  }
  return Exit::ok;
}

}  // namespace torc::cli
