// torc run: the laptop way. A spec is made into a store first, unless its store is there already.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bin/commands/change/apply_file.h"
#include "bin/commands/change/confirm.h"
#include "bin/commands/change/reset_jobs.h"
#include "bin/commands/commands.h"
#include "bin/commands/input_check.h"
#include "bin/commands/ringing.h"
#include "bin/commands/run/chosen.h"
#include "bin/commands/run/failures.h"
#include "bin/commands/run/outlook.h"
#include "bin/commands/run/progress.h"
#include "bin/commands/run/run_store.h"
#include "bin/commands/run/run_summary.h"
#include "bin/commands/run/unrunnable.h"
#include "bin/commands/run/working.h"
#include "bin/commands/selection.h"
#include "bin/commands/spec_report.h"
#include "bin/commands/workdir.h"
#include "bin/flags.h"
#include "bin/guard.h"
#include "bin/locate.h"
#include "bin/trust.h"
#include "lib/base/dead_mount.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"
#include "lib/spec/expand/expansion.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/spec/yaml/yaml_node.h"
#include "lib/store/disk/disk.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/change/apply.h"
#include "lib/workflow/change/beside_file.h"
#include "lib/workflow/change/job_matching.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

struct RunOptions {
  std::vector<std::string> words;  // [SPEC|STORE] NAME…
  std::string target;  // a spec or a store; empty: the store found as for other commands
  ChoiceOptions choice;
  std::string store;  // for a spec: where to make the store
  std::string engine = "auto";
  bool spec_flags = false;         // flags were given that only a spec can use
  std::string again;               // the command, to be said once more
  std::vector<std::string> named;  // jobs that it names, as they were written
  bool json = false;
  bool yes = false;      // completed jobs run again without a question
  bool dry_run = false;  // of a workflow file: say what would run
  worker::WorkerOptions worker;
};

using claim::JobState;

// Whoever named a store knows where its jobs run.
Result<void> refuse_other_directory(const App& app, store::Store& store,
                                    const workflow::LoadedSpec& loaded) {
  TORC_ASSIGN(const auto settings, workflow::read_settings(store));
  TORC_ASSIGN(const Path found, workdir_of(app, "", settings, store.directory()));
  std::error_code error;
  if (found == app.directory || std::filesystem::equivalent(found, app.directory, error)) return {};
  return Error{
      ErrorKind::exists,
      fmt::format("{} would not run what {} says: the jobs of the store run in {}, and not here",
                  store.directory().string(), loaded.file, printable(found.string())),
      fmt::format("`torc run {}` goes on with it as it is; `torc init --force {}` starts anew and "
                  "keeps the old one; --store names another place",
                  workflow::shown_path(app, store.directory()), shell_word(loaded.file))};
}

// What is run is what the file says, and nothing else.
Result<void> refuse_what_was_added(const App& app, const store::Store& store,
                                   const workflow::LoadedSpec& loaded,
                                   const workflow::Difference& found) {
  if (!found.alone) return {};
  return Error{
      ErrorKind::exists,
      fmt::format("{} would run more than {} says: job '{}' is not in the file; it runs '{}'",
                  store.directory().string(), loaded.file, printable(found.alone->first),
                  printable(found.alone->second.substr(0, 60))),
      fmt::format("`torc run {0}` goes on with all of it; `torc rm {0} NAME` takes out what is not "
                  "to run",
                  workflow::shown_path(app, store.directory()))};
}

// What would run, and the input files without which it would not.
struct Look {
  Outlook outlook;
  NeededInputs needed;
};

Result<Look> look_after(const App& app, store::Transaction& tx, const ChoiceOptions& choice,
                        const Path& workdir) {
  TORC_ASSIGN(Outlook outlook, outlook_after(app, tx, choice));
  TORC_ASSIGN(const ChosenJobs chosen, chosen_jobs(tx, choice));
  TORC_ASSIGN(NeededInputs needed, NeededInputs::of(tx, workdir, chosen.get()));
  return Look{std::move(outlook), std::move(needed)};
}

// `store`: as people name it.
Result<void> tell(const App& app, const RunOptions& options, const Look& look,
                  const std::string& store) {
  print(app, look.outlook, store);
  return look.needed.require(app, "nothing would be started", options.again);
}

Result<Path> workdir_in(const App& app, const RunOptions& options, store::Store& store) {
  TORC_ASSIGN(const auto settings, workflow::read_settings(store));
  return workdir_of(app, options.worker.workdir, settings, store.directory());
}

// `-n`: of a store that is what its file says.
Result<void> say_what_would_run(const App& app, const RunOptions& options, store::Store& store) {
  TORC_ASSIGN(const Path workdir, workdir_in(app, options, store));
  std::optional<Look> look;
  TORC_TRY(ringing_change(app, store, true)([&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(look, look_after(app, tx, options.choice, workdir));
    return {};
  }));
  return tell(app, options, *look, workflow::shown_path(app, store.directory()));
}

// What could not run again would only lose its result by --force.
Result<void> require_inputs_of_forced(const App& app, const RunOptions& options,
                                      store::Store& store, const Path& workdir) {
  if (options.choice.force.empty()) return {};
  std::optional<Look> look;
  TORC_TRY(ringing_change(app, store, true)([&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(look, look_after(app, tx, options.choice, workdir));
    return {};
  }));
  return look->needed.require(app, "nothing was changed or started", options.again);
}

// Who runs all of it stays until what is at work has ended, and follows the file again then.
OldJobs old_jobs_of(const RunOptions& options) {
  return options.choice.chooses() ? OldJobs::go_on : OldJobs::are_waited_for;
}

// `-n`: what differs, and what would run if it did not.
Result<void> say_what_differs(const App& app, const RunOptions& options, store::Store& store,
                              const workflow::LoadedSpec& loaded, workflow::ApplyTerms terms) {
  TORC_ASSIGN(const Path workdir, workdir_in(app, options, store));
  std::optional<Look> look;
  terms.then = [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(look, look_after(app, tx, options.choice, workdir));
    return {};
  };
  TORC_ASSIGN(const auto found, apply_file(app, store, loaded, terms, true));
  print_applied(app, found, true, old_jobs_of(options));
  if (found.nothing() || !look) {
    TORC_TRY(say_what_would_run(app, options, store));
  } else {
    TORC_TRY(tell(app, options, *look, workflow::shown_path(app, store.directory())));
  }
  return {};
}

Result<void> refuse_outlook_for_programs(const RunOptions& options,
                                         const workflow::LoadedSpec& loaded) {
  if (!options.dry_run || !options.json) return {};
  return invalid(
      "-n tells people what would run",
      fmt::format("`torc apply {} --dry-run --json` tells programs", shell_word(loaded.file)));
}

// The store becomes what the file says. A person is asked before anything that completed is done
// again, and before that whether there are the jobs that were named. False: nothing is to run.
Result<bool> follow_file(const App& app, const RunOptions& options, store::Store& store,
                         const workflow::LoadedSpec& loaded, const Path& workdir) {
  TORC_TRY(refuse_outlook_for_programs(options, loaded));
  const bool silent = options.json || options.worker.quiet;
  const bool asks = !options.yes && !silent && can_ask(app);
  const OldJobs old_jobs = old_jobs_of(options);
  workflow::ApplyTerms terms;
  terms.directory = workdir;
  terms.admit = [&](const workflow::Difference& found) {
    return refuse_what_was_added(app, store, loaded, found);
  };
  if (options.dry_run) {
    TORC_TRY(say_what_differs(app, options, store, loaded, terms));
    return false;
  }
  terms.then = [&](store::Transaction& tx) { return check_names(tx, options.choice); };
  bool is_told = silent;
  std::optional<Confirmed> confirmed;
  if (asks) {
    TORC_ASSIGN(const auto found, apply_file(app, store, loaded, terms, true));
    is_told = found.redone() > 0;
    if (is_told) print_applied(app, found, true, old_jobs);
    if (is_told && !confirms_redoing(app, found.redone())) return false;
    confirmed = Confirmed{found.redone(), found.done.taken_back};
  }
  const auto applied =
      apply_file(app, store, loaded, terms, false, confirmed ? &*confirmed : nullptr);
  if (confirmed && confirmed->by_now) {
    say_more_than_confirmed(app, confirmed->redone, *confirmed->by_now);
    return false;
  }
  TORC_TRY(applied);
  if (!is_told) print_applied(app, *applied, false, old_jobs);
  return true;
}

// A second store of the same file would begin anew, in another directory.
Result<void> refuse_second_store(const App& app, const workflow::LoadedSpec& loaded,
                                 const Path& directory) {
  const Path beside = (app.directory / loaded.file).lexically_normal().parent_path();
  const Path other = beside / directory.filename();
  std::error_code error;
  if (other == directory || !std::filesystem::is_directory(other, error)) return {};
  return Error{
      ErrorKind::exists,
      fmt::format("the store of {} is beside it, {}, and a second one would be made here",
                  loaded.file, printable(other.string())),
      fmt::format(
          "to go on with it: cd {}, and run the command there; --store DIR makes another one",
          shell_word(beside.string()))};
}

bool takes_files(const workflow::LoadedSpec& loaded) {
  return std::ranges::any_of(loaded.expansion->entries, [](const spec::ExpandedEntry& entry) {
    const auto recipe = spec::Recipe::decode(entry.recipe);
    return recipe && recipe->takes_files();
  });
}

// Of a workflow that has no store yet: whether there are the jobs that were named, and the input
// files; with `-n` what would run.
Result<void> look_at_first_run(const App& app, const RunOptions& options,
                               const workflow::LoadedSpec& loaded, const Path& workdir) {
  const ChoiceOptions& choice = options.choice;
  TORC_TRY(refuse_outlook_for_programs(options, loaded));
  if (!options.dry_run && !choice.chooses() && choice.force.empty() && !takes_files(loaded))
    return {};
  std::optional<Look> look;
  const Path& place = workdir.empty() ? app.directory : workdir;
  TORC_TRY(look_before_store(loaded, [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(look, look_after(app, tx, choice, place));
    return {};
  }));
  if (!options.dry_run) return look->needed.require(app, "nothing was started", options.again);
  say(app.out, "{} has no store yet: `torc run` makes one\n", loaded.file);
  return tell(app, options, *look, "");
}

// Opens the store that belongs to a spec and makes it what that says, or makes it. Error exists: it
// would run something else. Null: nothing is to run.
Result<std::unique_ptr<store::Store>> store_of_spec(const App& app, const RunOptions& options,
                                                    const workflow::LoadedSpec& loaded,
                                                    const Path& workdir) {
  const Path directory = options.store.empty() ? workflow::default_store(app, loaded)
                                               : (app.directory / options.store).lexically_normal();
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(directory, error))) {
    TORC_ASSIGN(const store::Engine engine, workflow::parse_engine(options.engine));
    if (options.store.empty()) TORC_TRY(refuse_second_store(app, loaded, directory));
    TORC_TRY(look_at_first_run(app, options, loaded, workdir));
    if (options.dry_run) return std::unique_ptr<store::Store>();
    workflow::StoreWishes wishes;
    wishes.workdir = workdir;
    auto made =
        workflow::make_store(app, loaded, directory, engine, workflow::Existing::refuse, wishes);
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
  if (options.store.empty() && workdir.empty())
    TORC_TRY(refuse_other_directory(app, *store, loaded));
  if (options.store.empty()) TORC_TRY(refuse_other_file(app, *store, loaded.file));
  TORC_ASSIGN(const bool runs, follow_file(app, options, *store, loaded, workdir));
  if (!runs) store.reset();
  return store;
}

// Whether jobs that were at work when the file was applied, by whomever, have ended by the file as
// it was: it is followed again. Jobs that were not asked for may be at work still.
Result<bool> has_to_follow_again(const App& app, const worker::WorkerSummary& summary,
                                 const Path& directory, const ChosenJobs& chosen) {
  if (summary.workflow.behind == 0 || was_interrupted(summary)) return false;
  if (summary.end == worker::WorkerEnd::workflow_finished) return true;
  if (summary.end != worker::WorkerEnd::chosen_over || !chosen) return false;
  TORC_ASSIGN(const auto store,
              store::Store::open(app.world, directory, workflow::worker_tuning()));
  bool any = false;
  TORC_TRY(store->view(store::Freshness::latest, [&](const claim::Reader& reader) {
    any = false;
    return claim::scan_behind(reader, [&](const claim::Behind& behind) {
      any = any || claim::has_job(*chosen, raw(behind.job));
    });
  }));
  return any;
}

// Who names a store, or nothing, runs what that has: what was edited since counts when the file is
// named.
void note_edited_file(const App& app, const store::Store& store, const Path& workdir,
                      const std::string& file) {
  const Path path = (workdir / file).lexically_normal();
  // `torc run` of one that lies elsewhere would want to run it there.
  if (file.empty() || Path(file).is_absolute() || !has_workflow_ending(path)) return;
  const auto now = store::read_file(app.world.disk, path, spec::kMaxSpecBytes);
  const auto kept = workflow::read_spec_copy(app, workflow::spec_copy_in(app, store.directory()));
  if (!now || !kept || *now == *kept) return;
  const std::string shown = shell_word(path.lexically_proximate(app.directory).string());
  say(app.err, "torc: note: {0} was edited since it was applied; `torc run {0}` follows it\n",
      shown);
}

// Of chosen jobs, when their worker has left; nothing: all were to run, or it could not go on.
Result<std::optional<ChosenCounts>> count_at_end(const App& app,
                                                 const worker::WorkerSummary& summary,
                                                 const Path& directory, const ChosenJobs& chosen) {
  if (!chosen || summary.end == worker::WorkerEnd::broken ||
      summary.end == worker::WorkerEnd::lease_lost)
    return std::optional<ChosenCounts>();
  TORC_ASSIGN(const auto store,
              store::Store::open(app.world, directory, workflow::worker_tuning()));
  TORC_ASSIGN(auto counts, count_chosen(*store, *chosen));
  if (summary.workflow.finished()) store->forget_copy();
  return std::optional(std::move(counts));
}

// Whether `torc run FILE` would refuse to go on, at the latest when what failed is retried.
Result<bool> has_jobs_beside(store::Store& store, const workflow::LoadedSpec& loaded) {
  const claim::Plan plan = workflow::make_plan(loaded, {});
  bool has = false;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const auto matching, workflow::match_jobs(reader, plan, {}));
    TORC_ASSIGN(const auto first,
                workflow::first_beside_file(reader, matching.added, workflow::Failed::is_retried));
    has = first.has_value();
    return {};
  }));
  return has;
}

// The command that goes on where a run of a workflow file has ended: people may have added jobs to
// the store, which that does not stand for.
std::string how_to_go_on(const App& app, const RunOptions& options,
                         const workflow::LoadedSpec& loaded, const worker::WorkerSummary& summary,
                         const Path& directory) {
  const claim::WorkflowState& w = summary.workflow;
  if (w.finished() && w.all_completed()) return options.again;
  const auto store = store::Store::open(app.world, directory, workflow::worker_tuning());
  if (!store) return options.again;
  const auto beside = has_jobs_beside(**store, loaded);
  if (w.finished()) (*store)->forget_copy();  // as its worker has done
  if (!beside || !*beside) return options.again;
  std::string command = "torc run " + shell_word(workflow::shown_path(app, directory));
  for (const std::string& name : options.named) command += " " + shell_word(name);
  return command;
}

// Jobs that the workflow has no more, which its counters have.
Result<claim::WorkflowState> removed_counts(store::Store& store) {
  claim::WorkflowState all;
  claim::WorkflowState left;
  TORC_TRY(store.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(all, claim::read_workflow(reader));
    left = all;
    return claim::leave_out_removed(reader, left);
  }));
  all.jobs -= left.jobs;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) all.counts[s] -= left.counts[s];
  return all;
}

Result<bool> is_over(store::Store& store) {
  bool over = false;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
    over = workflow.finished();
    return {};
  }));
  return over;
}

Result<Exit> run(const App& app, RunOptions options) {
  std::unique_ptr<store::Store> store;
  std::optional<workflow::LoadedSpec> file;
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
    if (options.dry_run && options.json)
      return invalid("-n tells people what would run", "`torc jobs --json` tells programs");
    TORC_ASSIGN(store, open_store(app, options.target));
    if (options.dry_run) {
      TORC_TRY(say_what_would_run(app, options, *store));
      return Exit::ok;
    }
  } else {
    TORC_ASSIGN(const Path workdir, named_workdir(app, options.worker.workdir));
    TORC_ASSIGN(auto loaded, load_spec_for(app, options.target, workdir));
    if (!options.json) print_diagnostics(app, loaded, "nothing was made");
    if (!loaded.expansion) {
      if (options.json) say(app.out, "{}\n", report::json_text(diagnostics_json(loaded)));
      return Exit::usage;
    }
    TORC_ASSIGN(store, store_of_spec(app, options, loaded, workdir));
    if (store == nullptr) return options.dry_run ? Exit::ok : Exit::failed;
    file = std::move(loaded);
  }
  const Path directory = store->directory();
  TORC_ASSIGN(const ChosenJobs chosen, chosen_jobs(*store, options.choice));
  TORC_ASSIGN(auto settings, workflow::read_settings(*store));
  TORC_ASSIGN(const Path workdir, workdir_of(app, options.worker.workdir, settings, directory));
  TORC_ASSIGN(auto setup, worker::make_worker_setup(app, options.worker, directory,
                                                    worker::Place::laptop, settings.run));
  setup.directory = workdir;
  setup.only = chosen;
  if (is_store && !options.json && !options.worker.quiet)
    note_edited_file(app, *store, workdir, settings.directory.file);
  // Not before it is known that they can run here.
  TORC_TRY(require_inputs_of_forced(app, options, *store, workdir));
  const auto forced =
      force_jobs(app, *store, options.choice, options.yes, options.json || options.worker.quiet);
  if (!forced) return report_reset(app, forced.error());
  if (!*forced) return Exit::failed;
  warn(app, setup);
  TORC_ASSIGN(const bool was_over, is_over(*store));
  TORC_TRY(
      require_inputs(app, *store, workdir, "nothing was started", options.again, chosen.get()));
  TORC_ASSIGN(const auto unrunnable, unrunnable_jobs(app, *store, setup));
  for (const std::string& line : unrunnable) say(app.err, "torc: warning: {}\n", line);
  TORC_TRY(note_unknown_bindings(app, *store, options.worker));

  Progress progress(app, options.worker.quiet || options.json);
  worker::WorkerEvents events;
  TORC_ASSIGN(const auto hidden, removed_counts(*store));
  events.progress = [&](claim::WorkflowState w) {
    w.jobs -= std::min(w.jobs, hidden.jobs);
    for (std::size_t s = 0; s < claim::kJobStates; ++s)
      w.counts[s] -= std::min(w.counts[s], hidden.counts[s]);
    progress.update(w);
  };
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
  TORC_ASSIGN(
      const bool follows_again,
      is_store ? Result<bool>(false) : has_to_follow_again(app, *summary, directory, chosen));
  if (follows_again) {
    if (!options.json && !options.worker.quiet)
      say(app.out, "the jobs that were started from the earlier file have ended\n");
    options.choice.force.clear();
    options.yes = true;  // it was said that they run again
    return run(app, std::move(options));
  }
  if (const std::string outdated = report::show_outdated(summary->workflow);
      !outdated.empty() && !options.json)
    say(app.err, "torc: note: {}\n", outdated);
  const auto took = std::chrono::duration_cast<WallTime>(app.clock.boot_now() - begun);
  TORC_ASSIGN(const auto counts, count_at_end(app, *summary, directory, chosen));
  const std::string again =
      file ? how_to_go_on(app, options, *file, *summary, directory) : options.again;
  const RunEnd end{*summary, directory, took, was_over, chosen, counts, again};
  if (options.json) {
    print_json(app, end);
  } else if (options.worker.quiet) {
    print(app.err, first_failures(app, directory, summary->workflow, chosen),
          workflow::shown_path(app, directory), again);
  } else {
    print_summary(app, end);
  }
  TORC_TRY(explain_broken(*summary, workdir, directory));
  if (counts && !was_interrupted(*summary)) return exit_of(*counts);
  return exit_of(*summary);
}

Result<Exit> run_with_lists(const App& app, RunOptions options) {
  TORC_ASSIGN(options.choice, with_lists(app, options.choice));
  return run(app, std::move(options));
}

}  // namespace

Result<Exit> run_store(const App& app, const Path& store, const std::string& named) {
  RunOptions options;
  const bool is_file = !named.empty() && is_workflow_file(app.directory / named);
  options.target = is_file ? named : store.string();
  options.again = "torc run " + shell_word(is_file ? named : workflow::shown_path(app, store));
  return run(app, std::move(options));
}

void add_run(Command& c) {
  auto& o = c.options<RunOptions>();
  c.about("Run a workflow on this machine, from a workflow file or a store");
  c.argument(
       "[SPEC|STORE] NAME", o.words,
       "workflow file, or a store made by init; of its jobs only these and what they need: by "
       "name, 'align_*', stage:align, @FILE or -")
      .value("[SPEC|STORE] [NAME…]");
  c.option("--until", o.choice.until, "run no further than this stage: its jobs and what they need")
      .value("STAGE")
      .one_at_a_time();
  c.option("--force", o.choice.force,
           "run these jobs, and everything that depends on them, again: by name, 'align_*', "
           "stage:align")
      .value("NAME")
      .one_at_a_time();
  c.option("--store", o.store, "for a workflow file: directory of the store").value("DIR");
  c.option("--engine", o.engine, "for a workflow file: engine of the store, as for init")
      .value("ENGINE")
      .choices({"auto", "lmdb", "journal"})
      .shows_default();
  add_worker_flags(c, o.worker);
  c.flag("-n,--dry-run", o.dry_run,
         "say what would run, of a workflow file also what differs from its store");
  c.flag("--yes", o.yes, "do not ask before completed jobs run again");
  c.flag("--json", o.json, "print the summary as JSON, and nothing else");
  c.run([&c, &o](const App& app) {
    o.spec_flags = c.given("--store") || c.given("--engine");
    o.again = "torc run";
    for (const std::string& word : o.words) o.again += " " + shell_word(word);
    return under_watchdog(app, o.again, [&](const App& guarded) {
      // Not before: to look for a store may begin a thread, which is not in the process below.
      o.choice.names = o.words;
      if (!o.words.empty() && names_what_is_run(guarded, o.words.front())) {
        o.target = o.words.front();
        o.choice.names.erase(o.choice.names.begin());
      }
      o.named = o.choice.names;
      return run_with_lists(guarded, o);
    });
  });
}

}  // namespace torc::cli
