// torc actions: which there are, how far they are, and what they printed.
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/scheduling/firing.h"
#include "lib/exec/output/packed_reader.h"
#include "lib/report/job_output.h"
#include "lib/report/job_view.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/plan/plan_actions.h"

namespace torc::cli {
namespace {

struct ActionsOptions {
  std::string store;
  std::optional<std::uint32_t> output;  // print what this action printed
  bool json = false;
};

using nlohmann::ordered_json;

constexpr std::size_t kStep = 1 << 20;  // bytes read at once

// One row: an action that has not run, or one run of it.
struct ActionRow {
  std::uint32_t number = 0;
  claim::Action action;
  std::vector<std::string> commands;
  std::string scheduler;    // whose allocations it asks for; empty: it runs commands
  claim::WorkerEpoch of{};  // 0: the workflow's
  claim::ActionRun run;
  std::string host;  // of the worker that had it last
  Path file;         // where its output is; empty: it has not run
  Path root;         // below which no link is followed to it
};

void fill_place(const claim::Reader& reader, const Path& store, ActionRow& row) {
  if (claim::raw(row.run.worker) == 0) return;
  const auto worker = claim::read_worker(reader, row.run.worker);
  const bool elsewhere = worker && !worker->info.output_dir.empty();
  if (worker) row.host = worker->info.host;
  const Path directory =
      elsewhere ? Path(worker->info.output_dir) : worker::default_output_dir(store);
  row.file = worker::action_file(directory, row.number, row.run.nth, row.of);
  row.root = report::root_of_output(store, directory);
}

Result<std::vector<ActionRow>> look(store::Store& store, std::optional<std::uint32_t> only) {
  std::vector<ActionRow> rows;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    rows.clear();
    TORC_ASSIGN(const std::vector<claim::Action> actions, claim::read_actions(reader));
    TORC_ASSIGN(const std::vector<claim::Scheduler> schedulers, claim::read_schedulers(reader));
    if (only && (*only == 0 || *only > actions.size())) {
      return Error{ErrorKind::invalid, fmt::format("there is no action {}", *only),
                   actions.empty() ? "the workflow has none"
                                   : fmt::format("they have numbers from 1 to {}", actions.size())};
    }
    for (std::uint32_t n = 1; n <= actions.size(); ++n) {
      if (only && n != *only) continue;
      ActionRow row;
      row.number = n;
      row.action = actions[n - 1];
      row.commands =
          workflow::decode_commands(row.action.recipe).value_or(std::vector<std::string>{});
      if (row.action.schedule) {
        const std::uint32_t of = row.action.schedule->scheduler;
        row.scheduler = of <= schedulers.size() ? schedulers[of - 1].name : "?";
      }
      const std::size_t before = rows.size();
      const auto add = [&](claim::WorkerEpoch of, const claim::ActionRun& run) {
        ActionRow one = row;
        one.of = of;
        one.run = run;
        rows.push_back(std::move(one));
        return true;
      };
      if (const auto scanned = claim::scan_runs(reader, n, add); !scanned) return scanned;
      if (rows.size() == before) rows.push_back(std::move(row));
    }
    for (ActionRow& row : rows) fill_place(reader, store.directory(), row);
    return {};
  }));
  return rows;
}

std::string_view state_of(const ActionRow& row) {
  if (claim::is_failed(row.run)) return "failed";
  if (row.run.state == claim::RunState::ended) return "completed";
  return claim::to_string(row.run.state);
}

std::string shown_commands(const ActionRow& row) {
  if (row.action.schedule) {
    const std::uint32_t n = row.action.schedule->allocations;
    return fmt::format("asks for {} allocation{} of {}", n, n == 1 ? "" : "s",
                       printable(row.scheduler));
  }
  if (row.commands.empty()) return "?";
  std::string text = printable(row.commands.front());
  constexpr std::size_t kMost = 50;
  if (text.size() > kMost) text = text.substr(0, kMost) + "…";
  return row.commands.size() == 1 ? text
                                  : fmt::format("{} (and {} more)", text, row.commands.size() - 1);
}

void print(const App& app, const std::vector<ActionRow>& rows) {
  if (rows.empty()) {
    say(app.out, "the workflow has no actions\n");
    return;
  }
  Table table({{"action", Align::right},
               {"trigger"},
               {"state"},
               {"run", Align::right},
               {"worker", Align::left, Shorten::yes},
               {"started"},
               {"done", Align::right},
               {"how it ended", Align::left, Shorten::yes},
               {"commands", Align::left, Shorten::yes}});
  for (const ActionRow& r : rows) {
    const bool ran = claim::raw(r.run.worker) != 0;
    table.add({std::to_string(r.number), std::string(claim::to_string(r.action.trigger)),
               std::string(state_of(r)), r.run.nth == 0 ? "-" : std::to_string(r.run.nth),
               ran ? fmt::format("{} on {}", claim::raw(r.run.worker), printable(r.host)) : "-",
               show_time(r.run.outcome.started_at),
               r.action.schedule ? "-" : fmt::format("{}/{}", r.run.done, r.commands.size()),
               r.run.state == claim::RunState::ended && !r.action.schedule
                   ? worker::show_outcome(r.run.outcome)
                   : "-",
               shown_commands(r)});
  }
  say_table(app, table);
}

ordered_json to_json(const ActionRow& r) {
  const claim::Outcome& o = r.run.outcome;
  const bool ended = r.run.state == claim::RunState::ended;
  ordered_json out;
  out["action"] = r.number;
  out["trigger"] = claim::to_string(r.action.trigger);
  out["persistent"] = r.action.persistent;
  out["commands"] = r.commands;
  out["scheduler"] = json_or_null(r.scheduler);
  out["asked_allocations"] = json_if(r.action.schedule.has_value(),
                                     r.action.schedule ? r.action.schedule->allocations : 0);
  out["state"] = state_of(r);
  out["run"] = json_or_null(r.run.nth);
  out["lost_workers"] = r.run.lost;
  out["completed_commands"] = r.run.done;
  report::add_worker(out, r.run.worker, r.host);
  out["started_at"] = json_time(o.started_at);
  out["ended_at"] = json_time(ended ? o.ended_at : WallTime{});
  report::add_end(out, o, ended);
  out["output_file"] = json_or_null(r.file.string());
  return out;
}

// What is there, with `title` above it; false: no such file.
Result<bool> print_file(const App& app, const Path& root, const Path& file,
                        const std::string& title = {}) {
  for (std::uint64_t from = 0;;) {
    TORC_ASSIGN(const auto part, exec::read_part(root, file, 0, std::nullopt, from, kStep));
    if (!part) return false;
    if (from == 0) say(app.out, "{}", title);
    if (part->bytes.empty()) return true;
    say(app.out, "{}", part->bytes);
    from += part->bytes.size();
  }
}

// The runs of a persistent action before its newest, where they are beside it.
Result<void> print_earlier(const App& app, const ActionRow& r) {
  for (std::uint32_t n = 1; n < r.run.nth; ++n) {
    const Path file = worker::action_file(r.file.parent_path().parent_path(), r.number, n, r.of);
    TORC_TRY(print_file(app, r.root, file, fmt::format("==> run {} <==\n", n)));
  }
  if (r.run.nth > 1) say(app.out, "==> run {} <==\n", r.run.nth);
  return {};
}

Result<void> print_output(const App& app, const std::vector<ActionRow>& rows) {
  for (const ActionRow& r : rows) {
    if (r.action.schedule) {
      say(app.err, "torc: action {} asks for allocations, and prints nothing\n", r.number);
      continue;
    }
    if (r.file.empty()) {
      say(app.err, "torc: action {} has not run\n", r.number);
      continue;
    }
    if (rows.size() > 1) say(app.out, "==> worker {} <==\n", claim::raw(r.run.worker));
    if (claim::raw(r.of) == 0) TORC_TRY(print_earlier(app, r));
    TORC_ASSIGN(const bool there, print_file(app, r.root, r.file));
    if (!there) say(app.err, "torc: action {} has no output in {}\n", r.number, r.file.string());
  }
  return {};
}

Result<Exit> run(const App& app, const ActionsOptions& options) {
  TORC_ASSIGN(auto store, open_store(app, options.store));
  TORC_ASSIGN(const auto rows, look(*store, options.output));
  if (options.output) {
    TORC_TRY(print_output(app, rows));
    return Exit::ok;
  }
  if (options.json) {
    ordered_json all = ordered_json::array();
    for (const ActionRow& r : rows) all.push_back(to_json(r));
    say(app.out, "{}\n", report::json_text(all));
  } else {
    print(app, rows);
  }
  return Exit::ok;
}

}  // namespace

void add_actions(Command& c) {
  auto& o = c.options<ActionsOptions>();
  c.about("Show the actions of a workflow, how far they are, how they ended");
  c.argument("STORE", o.store, "store");
  const Flag output = c.option("--output", o.output, "print what action N printed").value("N");
  c.flag("--json", o.json, "machine-readable output").excludes(output);
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
