// The command line: every flag, described once. Short on purpose: what a command does is in its
// cmd_*.cc.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bin/commands/add_commands.h"
#include "bin/commands/care_commands.h"
#include "bin/commands/commands.h"
#include "bin/commands/data_commands.h"
#include "bin/commands/exec_commands.h"
#include "bin/commands/live_commands.h"
#include "bin/commands/logs_commands.h"
#include "bin/commands/result_commands.h"
#include "bin/commands/spec_commands.h"
#include "bin/completion.h"
#include "bin/guard.h"
#include "lib/base/quantities.h"
#include "lib/base/quote.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::cli {
namespace {

constexpr const char* kFooter = R"(
STORE may be left out when TORC_STORE is set or the working directory holds exactly one *.torc.

Exit codes: 0 all jobs completed (or the command did what was asked); 1 some job failed or was never reached;
2 wrong flags or a spec with errors; 3 the store cannot be used.)";

// Only where no command is named.
constexpr const char* kFirstSteps = R"(

First steps:
  torc check wf.yaml      what is wrong with it, if anything
  torc run wf.yaml        run it here
  torc init wf.yaml       make a store and batch scripts, then: sbatch wf.torc/slurm/NAME.sbatch
  torc status             how far it is, from any node)";

// Flags that go through a parser of ours: a bad value is told by that parser, with its remedy.
template <class T, class Parse>
void add_parsed(CLI::App* command, const std::string& flag, std::optional<T>& target, Parse parse,
                const std::string& type, const std::string& help) {
  command
      ->add_option_function<std::string>(
          flag,
          [&target, parse, flag](const std::string& text) {
            auto value = parse(text);
            if (!value) throw CLI::ValidationError(flag, value.error().text());
            target = *value;
          },
          help)
      ->type_name(type);
}

CLI::Validator at_least_one() {
  return {[](std::string& text) {
            const bool digits = !text.empty() && text.size() < 19 &&
                                text.find_first_not_of("0123456789") == std::string::npos;
            return digits && text.find_first_not_of('0') != std::string::npos
                       ? std::string()
                       : fmt::format("'{}' is no whole number above 0", text);
          },
          ""};
}

void add_worker_flags(CLI::App* command, worker::WorkerOptions& o) {
  command->add_option("--num-cpus", o.cpus, "CPUs to use instead of those granted")
      ->type_name("N")
      ->check(CLI::Range(1u, 1u << 20));
  add_parsed(command, "--memory", o.memory, parse_bytes, "SIZE", "memory to use, e.g. 16g");
  command->add_option("--num-gpus", o.gpus, "GPUs to use, at most those found")->type_name("N");
  command
      ->add_option("--max-parallel-jobs", o.max_parallel_jobs,
                   "run at most N jobs at a time and ignore what they need")
      ->type_name("N")
      ->check(at_least_one());
  command->add_flag("--overcommit", o.overcommit,
                    "take no notice of other workers on this node, which take none of this one");
  command
      ->add_option("--scheduler", o.scheduler,
                   "serve jobs bound to this scheduler (and unbound ones)")
      ->type_name("NAME");
  command->add_option("--label", o.label, "serve jobs with this label (and those without)")
      ->type_name("NAME");
  add_parsed(command, "--time-limit", o.time_limit, parse_duration, "TIME",
             "end all jobs within this time, e.g. 4h");
  add_parsed(command, "--idle-timeout", o.idle_timeout, parse_duration, "TIME",
             "leave after this time without a job (default: stay until the workflow is done)");
  add_parsed(command, "--grace", o.grace, parse_duration, "TIME",
             "after SIGTERM all jobs end within this time (default 30s; under Slurm KillWait less "
             "5s)");
  add_parsed(command, "--lease-ttl", o.lease_ttl, parse_duration, "TIME",
             "silence after which others take this worker's jobs over (default 5m, at least 10s)");
  command
      ->add_option("--output-dir", o.output_dir, "where job output goes (default: STORE/logs/jobs)")
      ->type_name("DIR");
  command->add_flag("-q,--quiet", o.quiet, "print nothing but errors");
}

// "ENGINE:{auto,lmdb,journal}", as CLI11 describes an option with a set of values.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

std::vector<CommandHelp> described(const CLI::App& cli) {
  std::vector<CommandHelp> commands;
  for (const CLI::App* command : cli.get_subcommands({})) {
    CommandHelp help{command->get_name(), command->get_description(), {}};
    for (const CLI::Option* option : command->get_options()) {
      FlagHelp flag{
          {}, option->get_items_expected_max() > 0, choices_of(*option), option->get_description()};
      for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
      if (!flag.names.empty()) help.flags.push_back(std::move(flag));
    }
    commands.push_back(std::move(help));
  }
  return commands;
}

Exit run_completion(const App& app, const CLI::App& cli, const std::string& shell) {
  const auto script = completion_script(shell, described(cli));
  if (!script) return report(app, script.error());
  say(app.out, "{}", *script);
  return Exit::ok;
}

// Positionals by what they stand for: "torc job [STORE] NAME", where CLI11 counts: "NAME(1x)".
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.starts_with('[') ? type : CLI::Formatter::make_option_usage(option);
  }
};

std::string nearest_command(const CLI::App& cli, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : cli.get_subcommands({})) names.push_back(command->get_name());
  return spec::nearest(word, names);
}

}  // namespace

Exit run_command_line(const App& app, int argc, char** argv) {
  CLI::App cli("torc: runs workflows of many jobs on clusters, without any server", "torc");
  cli.set_version_flag("-V,--version", "torc " TORC_VERSION);
  cli.footer(kFooter);
  cli.formatter(std::make_shared<HelpFormatter>());
  cli.require_subcommand(1);
  cli.get_formatter()->column_width(34);
  Exit exit = Exit::ok;

  CheckOptions check;
  auto* c = cli.add_subcommand("check", "Check a workflow file and show all its mistakes");
  c->add_option("SPEC", check.spec, "workflow file")->required();
  c->add_flag("--json", check.json, "machine-readable output");
  c->callback([&] { exit = run_check(app, check); });

  SpecOptions spec_options;
  add_spec_commands(cli, app, spec_options, exit);

  InitOptions init;
  c = cli.add_subcommand("init", "Make a store and batch scripts from a workflow file");
  c->add_option("SPEC", init.spec, "workflow file")->required();
  c->add_option("--store", init.store, "directory of the store (default: NAME.torc here)")
      ->type_name("DIR");
  c->add_option("--engine", init.engine, "lmdb: one host; journal: any shared filesystem")
      ->type_name("ENGINE")
      ->check(CLI::IsMember({"auto", "lmdb", "journal"}))
      ->capture_default_str();
  c->add_option("--group", init.group, "share the store with the members of this group")
      ->type_name("GROUP");
  add_parsed(c, "--retention", init.retention, parse_duration, "TIME",
             "how old a listing of a directory may be on any host that works on the store "
             "(default: by what is known of the filesystem here)");
  c->add_flag("--checksum", init.checksum,
              "workers hash the files that jobs name, for `torc reinit --checksum`");
  c->add_flag("--force", init.force,
              "move an existing store aside (it is kept, under another name)");
  c->add_flag("--json", init.json, "machine-readable output");
  c->callback([&] { exit = run_init(app, init); });

  RunOptions run;
  c = cli.add_subcommand("run", "Run a workflow on this machine, from a workflow file or a store");
  c->add_option("SPEC|STORE", run.target, "workflow file, or a store made by init");
  c->add_option("--store", run.store, "for a workflow file: directory of the store")
      ->type_name("DIR");
  c->add_option("--engine", run.engine, "for a workflow file: as for init")
      ->type_name("ENGINE")
      ->check(CLI::IsMember({"auto", "lmdb", "journal"}))
      ->capture_default_str();
  add_worker_flags(c, run.worker);
  c->callback([&, c] {
    run.spec_flags = c->count("--store") + c->count("--engine") > 0;
    const std::string again = fmt::format("torc run {}", shell_word(run.target));
    exit = under_watchdog(app, run.target.empty() ? "torc run" : again,
                          [&](const App& guarded) { return run_run(guarded, run); });
  });

  ExecOptions exec;
  add_exec_command(cli, app, exec, exit);

  worker::WorkerOptions worker;
  c = cli.add_subcommand(
      "worker", "Work for a store until its workflow is done (started by the batch scripts)");
  c->add_option("STORE", worker.store, "store");
  add_worker_flags(c, worker);
  c->callback([&] {
    exit = under_watchdog(app, "", [&](const App& guarded) { return run_worker(guarded, worker); });
  });

  NodeOptions node;
  c = cli.add_subcommand("node", "Show which of your workers hold what of this node");
  c->add_flag("--json", node.json, "machine-readable output");
  c->callback([&] { exit = run_node(app, node); });

  StatusOptions status;
  c = cli.add_subcommand("status", "Show progress, workers and failures");
  c->add_option("STORE", status.store, "store");
  c->add_flag("--json", status.json, "machine-readable output");
  c->callback([&] { exit = run_status(app, status); });

  JobsOptions jobs;
  c = cli.add_subcommand("jobs", "List jobs");
  c->add_option("STORE", jobs.store, "store");
  c->add_option("--state", jobs.state, "only jobs in this state")
      ->type_name("STATE")
      ->check(CLI::IsMember({"blocked", "ready", "claimed", "running", "completed", "failed",
                             "canceled", "terminated", "held", "pending_failed", "delayed"}));
  c->add_option("--name", jobs.name, "only jobs whose name matches")->type_name("REGEX");
  c->add_option("--limit", jobs.limit, "at most N jobs")->type_name("N")->check(at_least_one());
  c->add_flag("--json", jobs.json, "machine-readable output");
  c->callback([&] { exit = run_jobs(app, jobs); });

  JobOptions job;
  c = cli.add_subcommand("job", "Show one job: command, state, attempts, where it ran");
  c->add_option("NAME", job.words, "[STORE] NAME, or #NUMBER")
      ->required()
      ->expected(1, 2)
      ->type_name("[STORE] NAME");
  c->add_flag("--json", job.json, "machine-readable output");
  c->callback([&] { exit = run_job(app, job); });

  JobOptions why;
  c = cli.add_subcommand("why", "Tell what keeps a job from running, and what would let it run");
  c->add_option("NAME", why.words, "[STORE] NAME, or #NUMBER")
      ->required()
      ->expected(1, 2)
      ->type_name("[STORE] NAME");
  c->add_flag("--json", why.json, "machine-readable output");
  c->callback([&] { exit = run_why(app, why); });

  ResultCommands results;
  add_result_commands(cli, app, results, exit);

  LogsOptions logs;
  ExportOptions exports;
  add_logs(cli, app, logs, exports, exit);

  VerifyOptions verify;
  c = cli.add_subcommand("verify",
                         "Walk the whole store, recount everything, name the first wrong thing");
  c->add_option("STORE", verify.store, "store");
  c->add_flag("--json", verify.json, "machine-readable output");
  c->callback([&] { exit = run_verify(app, verify); });

  CareOptions care;
  add_care_commands(cli, app, care, exit);
  AddingOptions adding;
  add_adding_commands(cli, app, adding, exit);
  LiveOptions live;
  add_live_commands(cli, app, live, exit);
  DataCommands data;
  add_data_commands(cli, app, data, exit);

  std::string shell;
  c = cli.add_subcommand("completion", "Print a script that completes torc's command line");
  c->add_option("SHELL", shell, "bash, zsh or fish: source <(torc completion bash)")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  c->callback([&] { exit = run_completion(app, cli, shell); });

  cli.footer(std::string(kFooter) + kFirstSteps);  // not inherited: the commands have theirs

  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      cli.exit(error);
      return Exit::ok;
    }
    const auto chosen = cli.get_subcommands();
    const auto unknown = cli.remaining();
    if (chosen.empty() && !unknown.empty()) {
      say(app.err, "torc: error: there is no command '{}'\n", printable(unknown.front()));
      const std::string near = nearest_command(cli, unknown.front());
      if (!near.empty()) say(app.err, "  did you mean `torc {}`?\n", near);
    } else {
      say(app.err, "torc: error: {}\n", error.what());
    }
    say(app.err, "  see `torc {}--help`\n", chosen.empty() ? "" : chosen.front()->get_name() + " ");
    return Exit::usage;
  }
  return exit;
}

}  // namespace torc::cli
