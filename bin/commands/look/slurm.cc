// torc slurm: what the allocations of a workflow cost, and what their steps and the jobs used.
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/workers.h"
#include "lib/report/accounted_attempts.h"
#include "lib/report/job_view.h"
#include "lib/report/slurm_usage.h"

namespace torc::cli {
namespace {

struct SlurmOptions {
  std::string store;
  std::string allocation;  // empty: all
  bool json = false;
};

using nlohmann::ordered_json;

// So many rows are in memory at a time, whatever the number of jobs.
constexpr std::size_t kStatsPage = 1000;

Table new_stats_page() {
  return Table({{"job", Align::left, Shorten::yes},
                {"attempt", Align::right},
                {"state"},
                {"exit", Align::right},
                {"time", Align::right},
                {"CPU time", Align::right},
                {"peak memory", Align::right},
                {"node", Align::left, Shorten::yes},
                {"allocation"},
                {"from"}});
}

// The newest attempts of the jobs that ended in an allocation, as their workers measured them.
class JobStats {
 public:
  JobStats(const App& app, bool json, report::AccountedAttempts accounted)
      : app_(app), json_(json), accounted_(std::move(accounted)) {}

  Result<void> show(const claim::Reader& reader) {
    TORC_TRY(claim::scan_jobs(reader, {}, [&](JobId id, const claim::Job& job) {
      if (job.attempt > 0 && !claim::is_live(job.state) && report::is_measured(job.outcome))
        add(reader, id, job);
      return true;
    }));
    if (!json_ && !page_.empty()) say_table(app_, page_);
    return {};
  }
  [[nodiscard]] std::uint64_t shown() const { return shown_; }

 private:
  struct Place {
    std::string node;
    std::string allocation;
  };

  const Place& place_of(const claim::Reader& reader, claim::WorkerEpoch worker) {
    const auto [at, fresh] = places_.try_emplace(worker);
    if (fresh) {
      if (const auto known = claim::read_worker(reader, worker)) {
        const claim::WorkerInfo& info = known->info;
        at->second = {info.node.empty() ? info.host : info.node, info.allocation};
      }
    }
    return at->second;
  }

  void add(const claim::Reader& reader, JobId id, const claim::Job& job) {
    const Place& place = place_of(reader, job.worker);
    if (place.allocation.empty()) return;
    const std::string name = workflow::job_name(book_, reader, id);
    claim::Outcome o = job.outcome;
    const auto told = accounted_.find({id, job.attempt});
    const bool by_sacct = told != accounted_.end() && report::merge(told->second, o);
    const std::string_view from =
        report::to_string(by_sacct ? report::Source::sacct : report::Source::torc);
    const WallTime elapsed = o.started_at.count() != 0 && o.ended_at > o.started_at
                                 ? o.ended_at - o.started_at
                                 : WallTime{};
    ++shown_;
    if (json_) {
      ordered_json row;
      row["job_id"] = raw(id);
      row["job"] = name;
      row["attempt"] = job.attempt;
      row["state"] = claim::to_string(job.state);
      report::add_end(row, o, true);
      row["elapsed_seconds"] = json_seconds(elapsed);
      report::add_use(row, o, true);
      row["node_name"] = place.node;
      row["allocation"] = place.allocation;
      row["told_by"] = from;
      say(app_.out, "{}\n  {}", shown_ == 1 ? "" : ",", report::json_line(row));
      return;
    }
    page_.add({printable(name), std::to_string(job.attempt),
               std::string(claim::to_string(job.state)), report::show_exit(o),
               show_duration(elapsed), show_duration(o.cpu_time), report::show_peak(o),
               printable(place.node), printable(place.allocation), std::string(from)});
    if (page_.rows() < kStatsPage) return;
    say_table(app_, page_);
    page_ = new_stats_page();
  }

  const App& app_;
  bool json_;
  report::AccountedAttempts accounted_;
  workflow::RecipeBook book_;
  std::map<claim::WorkerEpoch, Place> places_;
  Table page_ = new_stats_page();
  std::uint64_t shown_ = 0;
};

void say_silence(const App& app, const report::SlurmUsage& usage) {
  const std::string why = report::show_silence(usage);
  if (!why.empty()) say(app.err, "torc: {}\n", why);
}

Result<Exit> show_usage(const App& app, const SlurmOptions& options) {
  TORC_ASSIGN(const auto store, open_store(app, options.store));
  TORC_ASSIGN(const report::SlurmUsage usage, report::look_at_usage(app, *store));
  if (options.json) {
    say(app.out, "{}\n", report::json_text(report::to_json(usage)));
    return Exit::ok;
  }
  say(app.out, "{}", report::to_text(usage, table_columns(app)));
  say_silence(app, usage);
  return Exit::ok;
}

Result<Exit> show_stats(const App& app, const SlurmOptions& options) {
  TORC_ASSIGN(const auto store, open_store(app, options.store));
  TORC_ASSIGN(const report::SlurmUsage usage, report::look_at_usage(app, *store));
  if (options.json) {
    ordered_json head;
    head["workflow"] = usage.workflow;
    head["accounting"] = report::accounting_json(usage);
    head["steps"] = ordered_json::array();
    for (const slurm::Accounted& step : usage.steps)
      head["steps"].push_back(report::step_json(step));
    std::string text = report::json_line(head);
    text.pop_back();  // its brace
    say(app.out, "{}, \"job_results\": [", text);
  } else {
    const std::string steps = report::steps_text(usage, table_columns(app));
    say(app.out, "{}{}", steps, steps.empty() ? "" : "\n");
  }
  report::KeptAttempts kept = report::read_accounted(store->directory());
  if (!kept.whole) say(app.err, "torc: {}\n", report::kKeptInPart);
  JobStats jobs(app, options.json, std::move(kept.attempts));
  TORC_TRY(store->view(store::Freshness::latest,
                       [&](const claim::Reader& reader) { return jobs.show(reader); }));
  if (options.json) {
    say(app.out, "{}]}}\n", jobs.shown() == 0 ? "" : "\n");
    return Exit::ok;
  }
  if (jobs.shown() == 0) say(app.out, "no job has ended in an allocation\n");
  say_silence(app, usage);
  return Exit::ok;
}

// Whose steps are jobs; of other allocations there is nothing to keep.
Result<Exit> collect(const App& app, const SlurmOptions& options) {
  TORC_ASSIGN(const auto store, open_store(app, options.store));
  TORC_ASSIGN(const report::SlurmUsage usage, report::look_at_usage(app, *store));
  std::map<std::string, std::vector<slurm::Accounted>> by_allocation;
  for (const slurm::Accounted& step : usage.steps) {
    if (options.allocation.empty() || step.allocation == options.allocation)
      by_allocation[step.allocation].push_back(step);
  }
  std::size_t kept = 0;
  for (const auto& [allocation, steps] : by_allocation) {
    const report::AccountedAttempts attempts = report::attempts_among(steps);
    if (attempts.empty()) continue;
    TORC_TRY(report::keep_accounted(store->directory(), allocation, attempts));
    kept += attempts.size();
  }
  say(app.out, "figures of {} kept\n", plural(kept, "attempt"));
  say_silence(app, usage);
  return Exit::ok;
}

void add_look(Command& c, SlurmOptions& o) {
  c.argument("STORE", o.store, "store");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
}

}  // namespace

void add_slurm(Command& c) {
  c.about("Show what allocations cost, and what steps and jobs in them used");
  c.footer(
      "\nFigures come from Slurm's accounting (sacct) where it answers within 10 s, and otherwise "
      "from what\ntorc knows of its workers; `from` says which.");
  Command& usage = c.add("usage");
  auto& of_usage = usage.options<SlurmOptions>();
  usage.about("Node and core time of all allocations in which workers of the workflow were");
  add_look(usage, of_usage);
  usage.run([&of_usage](const App& app) { return show_usage(app, of_usage); });
  Command& stats = c.add("stats");
  auto& of_stats = stats.options<SlurmOptions>();
  stats.about("What each step of these allocations used, and each job that ended in one");
  add_look(stats, of_stats);
  stats.run([&of_stats](const App& app) { return show_stats(app, of_stats); });
  Command& collected = c.add("collect");
  auto& of_collect = collected.options<SlurmOptions>();
  collected.about(
      "Keep what the accounting says about jobs that were steps, for torc results (mode slurm; "
      "batch scripts use this)");
  collected.argument("STORE", of_collect.store, "store");
  collected.option("--allocation", of_collect.allocation, "only of this allocation").value("ID");
  collected.run([&of_collect](const App& app) { return collect(app, of_collect); });
  c.only_names_others("use `torc slurm usage` or `torc slurm stats`");
}

}  // namespace torc::cli
