// The flags of the commands that change a workflow while it runs.
#include <CLI/CLI.hpp>

#include "bin/commands/live_commands.h"

namespace torc::cli {
namespace {

template <class Options>
CLI::App* add_change(CLI::App& cli, const std::string& name, const std::string& what, Options& o) {
  auto* c = cli.add_subcommand(name, what);
  c->add_option("NAME", o.jobs.words, "[STORE] NAME…: jobs by name, or by #NUMBER")
      ->type_name("[STORE] NAME…");
  c->add_option("--name", o.jobs.name, "jobs whose name matches")->type_name("REGEX");
  c->add_flag("--dry-run", o.dry_run, "say what would change and change nothing");
  c->add_flag("--json", o.json, "machine-readable output");
  return c;
}

void add_all(CLI::App* c, SelectOptions& o, const std::string& help) {
  c->add_flag("--all", o.all, help);
}

void add_state(CLI::App* c, SelectOptions& o, const std::vector<std::string>& states) {
  c->add_option("--state", o.state, "jobs in this state (with --name: those that match)")
      ->type_name("STATE")
      ->check(CLI::IsMember(states));
}

}  // namespace

void add_live_commands(CLI::App& cli, const App& app, LiveOptions& options, Exit& exit) {
  auto* c = add_change(cli, "cancel",
                       "Cancel jobs; what runs is ended by its worker, undecided failures stand",
                       options.cancel);
  add_all(c, options.cancel.jobs, "all jobs that are not over");
  add_state(c, options.cancel.jobs,
            {"blocked", "ready", "claimed", "running", "held", "delayed", "pending_failed"});
  c->callback([&] { exit = run_cancel(app, options.cancel); });

  c = add_change(cli, "retry", "Let jobs that failed, were terminated or canceled run again",
                 options.retry);
  c->add_flag("--failed", options.retry.failed,
              "all that failed or were terminated, also those that wait for a decision");
  c->add_flag("--canceled", options.retry.canceled, "all that were canceled");
  c->callback([&] { exit = run_retry(app, options.retry); });

  c = add_change(cli, "reset", "Take jobs, and everything built on them, back to the start",
                 options.reset);
  add_all(c, options.reset.jobs, "all jobs");
  add_state(c, options.reset.jobs,
            {"completed", "failed", "canceled", "terminated", "pending_failed"});
  c->add_flag("--yes", options.reset.yes, "also when completed jobs lose their results by it");
  c->add_flag("--force", options.reset.force, "also when some of them run: these are canceled");
  c->callback([&] { exit = run_reset(app, options.reset); });

  c = add_change(cli, "hold", "Keep jobs from being claimed until they are released", options.hold);
  add_all(c, options.hold.jobs, "all jobs that are ready, delayed or blocked");
  add_state(c, options.hold.jobs, {"blocked", "ready", "delayed"});
  c->callback([&] { exit = run_hold(app, options.hold); });

  c = add_change(cli, "set", "Change what jobs need, their label or their priority", options.set);
  c->get_option("NAME")->description(
      "[STORE] NAME… KEY=VALUE…: priority, runtime, memory, cpus, gpus, label");
  add_all(c, options.set.jobs, "all jobs that have not completed");
  add_state(c, options.set.jobs,
            {"blocked", "ready", "claimed", "running", "failed", "canceled", "terminated", "held",
             "delayed", "pending_failed"});
  c->callback([&] { exit = run_set(app, options.set); });

  c = add_change(cli, "release", "Let held jobs be claimed again", options.release);
  add_all(c, options.release.jobs, "all held jobs");
  c->callback([&] { exit = run_release(app, options.release); });

  ActionsOptions& actions = options.actions;
  c = cli.add_subcommand("actions",
                         "Show the actions of a workflow, how far they are, how they ended");
  c->add_option("STORE", actions.store, "store");
  auto* output = c->add_option("--output", actions.output, "print what action N printed");
  output->type_name("N");
  c->add_flag("--json", actions.json, "machine-readable output")->excludes(output);
  c->callback([&] { exit = run_actions(app, actions); });
}

}  // namespace torc::cli
