// torc run: the laptop way. A spec is made into a store first, unless its store is there already.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "bin/commands/commands.h"
#include "bin/commands/run/progress.h"
#include "bin/commands/run/working.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "bin/guard.h"
#include "bin/locate.h"
#include "bin/trust.h"
#include "lib/base/dead_mount.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/report/file_count.h"
#include "lib/report/job_view.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/change/same_work.h"
#include "lib/workflow/change/stale.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

struct RunOptions {
  std::string target;  // a spec or a store; empty: the store found as for other commands
  std::string store;   // for a spec: where to make the store
  std::string engine = "auto";
  bool spec_flags = false;  // flags were given that only a spec can use
  bool json = false;
  worker::WorkerOptions worker;
};

using claim::JobState;

// What is run is what the store says: it is to be what the file says.
Result<void> refuse_what_differs(const App& app, store::Store& store,
                                 const workflow::LoadedSpec& loaded,
                                 workflow::Directory directory) {
  const claim::Plan plan = workflow::make_plan(loaded, app.directory);
  std::optional<std::string> other;
  bool reinit_helps = false;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(other, workflow::other_work(reader, plan, workflow::user_data_of(*loaded.expansion),
                                            directory));
    if (!other) return {};
    const auto taken =
        workflow::compare_with_store(reader, plan, workflow::user_data_of(*loaded.expansion));
    reinit_helps = taken && (!taken->changed.empty() || taken->left_out > 0 ||
                             !taken->user_data.empty() || !taken->added.templates.empty());
    return {};
  }));
  if (!other) return {};
  const std::string shown = workflow::shown_path(app, store.directory());
  const std::string file = shell_word(loaded.file);
  return Error{
      ErrorKind::exists,
      fmt::format("{} would not run what {} says: {}", store.directory().string(), loaded.file,
                  *other),
      fmt::format("{2}`torc run {0}` goes on with it as it is; `torc init --force {1}` starts anew "
                  "and keeps the old one; --store names another place",
                  shown, file,
                  reinit_helps ? fmt::format("`torc reinit {} --spec {}` takes over what can be; ",
                                             shown, file)
                               : std::string())};
}

// Where the file says nothing of output, the store may have two files a job of any number of jobs:
// so did versions that did not look at the number.
Result<void> refuse_other_work(const App& app, store::Store& store,
                               const workflow::LoadedSpec& loaded, workflow::Directory directory) {
  Result<void> refused = refuse_what_differs(app, store, loaded, directory);
  const spec::Stdio& output = loaded.workflow->execution.stdio;
  if (refused || !output.by_size || output.mode == spec::StdioMode::separate) return refused;
  TORC_ASSIGN(
      const workflow::LoadedSpec before,
      workflow::load_spec(app, loaded.file, workflow::Purpose::run, {}, spec::StdioMode::separate));
  const bool same = before.expansion && refuse_what_differs(app, store, before, directory).ok();
  return same ? Result<void>() : std::move(refused);
}

// Opens the store that belongs to a spec, or makes it. Error exists: it would run something else.
Result<std::unique_ptr<store::Store>> store_of_spec(const App& app, const RunOptions& options,
                                                    const workflow::LoadedSpec& loaded) {
  const Path directory = options.store.empty() ? workflow::default_store(app, loaded)
                                               : (app.directory / options.store).lexically_normal();
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(directory, error))) {
    TORC_ASSIGN(const store::Engine engine, workflow::parse_engine(options.engine));
    auto made = workflow::make_store(app, loaded, directory, engine, workflow::Existing::refuse);
    if (made) {
      TORC_TRY(check_found_store(app, directory));  // that it was not exchanged
      return std::move(made->store);
    }
    // Another `torc run` may have been first: join it.
    if (made.error().kind != ErrorKind::exists) return std::move(made).error();
  }
  if (options.store.empty()) TORC_TRY(check_found_store(app, directory));
  workflow::write_for_group_of(app, directory);
  TORC_ASSIGN(auto store, store::Store::open(app.world, directory, workflow::worker_tuning()));
  TORC_TRY(refuse_other_work(
      app, *store, loaded,
      options.store.empty() ? workflow::Directory::compared : workflow::Directory::any));
  return store;
}

// More are not counted: a run has ended when its jobs have.
constexpr std::uint64_t kMostFiles = 100'000;

std::string show_files(const report::FileCount& files) {
  if (!files.is_all) return fmt::format("more than {} files", show_count(files.files));
  return files.files == 1 ? "1 file" : fmt::format("{} files", show_count(files.files));
}

void print_json(const App& app, const worker::WorkerSummary& summary, const Path& store,
                WallTime took) {
  const claim::WorkflowState& w = summary.workflow;
  const report::FileCount files = report::count_files(store, kMostFiles);
  const nlohmann::ordered_json out = {{"workflow", w.name},
                                      {"store", store.string()},
                                      {"end", words_of(summary.end).name},
                                      {"jobs", w.jobs},
                                      {"jobs_by_state", report::counts_json(w.counts)},
                                      {"not_needed_jobs", w.unmet},
                                      {"elapsed_seconds", json_seconds(took)},
                                      {"files", files.files},
                                      {"all_files_counted", files.is_all}};
  say(app.out, "{}\n", report::json_text(out));
}

void print_summary(const App& app, const worker::WorkerSummary& summary, const Path& store,
                   WallTime took) {
  const claim::WorkflowState& w = summary.workflow;
  const std::uint64_t bad = report::failures(w);
  const std::uint64_t canceled = w.of(JobState::canceled) - w.unmet;
  say(app.out, "{}: {} of {} job(s) completed", printable(w.name),
      show_count(w.of(JobState::completed)), show_count(w.jobs));
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
  say(app.out, " in {}; {} in {}\n", show_duration(took),
      show_files(report::count_files(store, kMostFiles)), shown);
  if (blocked > 0 && !report::never_reached(w))
    say(app.out, "{} job(s) {}\n", show_count(blocked), report::show_blocked(w));
  if (w.actions.failed > 0)
    say(app.out, "{} action(s) failed; see: torc actions {}; torc actions {} --output NUMBER\n",
        show_count(w.actions.failed), shown, shown);
  if (const std::string left = report::show_left(w); !left.empty()) say(app.out, "{}\n", left);
  if (w.of(JobState::held) > 0)
    say(app.out, "held jobs run when they are released: torc release {} --all\n", shown);
  if (summary.end == worker::WorkerEnd::time_up || summary.end == worker::WorkerEnd::idle) {
    say(app.out, "it left because {}{}\n",
        summary.end == worker::WorkerEnd::time_up ? "its time was up (--time-limit)"
                                                  : "it had no job for so long (--idle-timeout)",
        summary.given_back == 0
            ? ""
            : fmt::format("; {} job(s) that it had begun run again", summary.given_back));
  }
  if (w.halted()) {
    say(app.out, "nothing more was started after {} failure(s): max_failures is {}\n",
        show_count(report::failures(w)), show_count(w.max_failures));
  }
  if (bad > 0) say(app.out, "see: torc results {} --failed; torc logs {} --failed\n", shown, shown);
  if (summary.end == worker::WorkerEnd::nothing_fits && w.budget_holds) {
    say(app.out, "the budget keeps {} ready job(s) from starting; see `torc status {}`\n",
        show_count(w.of(JobState::ready)), shown);
  } else if (summary.end == worker::WorkerEnd::nothing_fits && w.limits_hold) {
    say(app.out,
        "a limit keeps {} ready job(s) from starting; see `torc status {}`, and `torc set --limit` "
        "to raise it\n",
        show_count(w.of(JobState::ready)), shown);
  } else if (summary.end == worker::WorkerEnd::nothing_fits) {
    say(app.out, "{} ready job(s) cannot run on this worker; see `torc jobs {} --state ready`\n",
        show_count(w.of(JobState::ready)), shown);
    for (const std::string& line : summary.mismatches) say(app.out, "  {}\n", line);
  } else if (!w.finished()) {
    say(app.out, "go on with: torc run {}\n", shown);
  }
}

Result<Exit> run(const App& app, const RunOptions& options) {
  std::unique_ptr<store::Store> store;
  std::error_code error;
  const Path target = (app.directory / options.target).lexically_normal();
  const auto kind = std::filesystem::status(target, error).type();
  const bool is_store =
      options.target.empty() || kind == std::filesystem::file_type::directory ||
      (kind == std::filesystem::file_type::not_found && target.extension() == ".torc");
  // Of what is on a dead mount nobody knows whether it is a store.
  if (is_of_dead_mount(error.value()))
    return os_error(error.value(), "cannot look at " + target.string(),
                    "mount its filesystem anew, then try again");
  if (is_store) {
    if (options.spec_flags) {
      return Error{ErrorKind::invalid,
                   "--store and --engine say how to make a store from a workflow file",
                   "name the file, or leave them out to go on with a store"};
    }
    TORC_ASSIGN(store, open_store(app, options.target));
  } else {
    TORC_ASSIGN(auto loaded, workflow::load_spec(app, options.target));
    if (!options.json) print_diagnostics(app, loaded, "nothing was made");
    if (!loaded.expansion) {
      if (options.json) say(app.out, "{}\n", report::json_text(diagnostics_json(loaded)));
      return Exit::usage;
    }
    TORC_ASSIGN(store, store_of_spec(app, options, loaded));
  }
  const Path directory = store->directory();
  TORC_ASSIGN(auto settings, workflow::read_settings(*store));
  TORC_ASSIGN(auto setup, worker::make_worker_setup(app, options.worker, directory,
                                                    worker::Place::laptop, settings.run));
  warn(app, setup);
  TORC_TRY(note_unknown_bindings(app, *store, options.worker));

  Progress progress(app, options.worker.quiet || options.json);
  worker::WorkerEvents events;
  events.progress = [&](const claim::WorkflowState& w) { progress.update(w); };
  events.show_at = [&] { return progress.due(); };
  events.show = [&] { progress.draw_now(); };
  events.notice = [&](const std::string& line) { progress.print(line); };
  if (!options.json) events.asked = [&](const std::string& line) { progress.answer(line); };
  events.failure = [&](const std::string& name, const std::string& how) {
    progress.print(fmt::format("failed: {}: {}", printable(name), how));
  };
  const BootTime begun = app.clock.boot_now();
  const auto summary = work_here(app, std::move(store), setup, events);
  progress.close();
  TORC_TRY(summary);
  const auto took = std::chrono::duration_cast<WallTime>(app.clock.boot_now() - begun);
  if (options.json) {
    print_json(app, *summary, directory, took);
  } else if (!options.worker.quiet) {
    print_summary(app, *summary, directory, took);
  }
  return exit_of(*summary);
}

}  // namespace

void add_run(Command& c) {
  auto& o = c.options<RunOptions>();
  c.about("Run a workflow on this machine, from a workflow file or a store");
  c.argument("SPEC|STORE", o.target, "workflow file, or a store made by init");
  c.option("--store", o.store, "for a workflow file: directory of the store").value("DIR");
  c.option("--engine", o.engine, "for a workflow file: as for init")
      .value("ENGINE")
      .choices({"auto", "lmdb", "journal"})
      .shows_default();
  add_worker_flags(c, o.worker);
  c.flag("--json", o.json, "print the summary as JSON, and nothing else");
  c.run([&c, &o](const App& app) {
    o.spec_flags = c.given("--store") || c.given("--engine");
    const std::string again =
        o.target.empty() ? "torc run" : fmt::format("torc run {}", shell_word(o.target));
    return under_watchdog(app, again, [&](const App& guarded) { return run(guarded, o); });
  });
}

}  // namespace torc::cli
