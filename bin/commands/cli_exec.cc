// The flags of torc exec.
#include <CLI/CLI.hpp>

#include "bin/commands/exec_commands.h"
#include "bin/guard.h"
#include "lib/base/quantities.h"
#include "lib/base/quote.h"

namespace torc::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  torc exec -c 'gzip -9 {}' *.log                  a job for each file, as many at a time as CPUs
  find . -name '*.png' | torc exec -j4 -c 'convert {} {.}.jpg' -
  torc exec -c './sim --n {n} --lr {lr}' --param n=1:100 --param lr=0.1,0.2

Cut off? `torc exec --resume` goes on with the newest one here; what is done is not run again.

In CMD, {} is the value, {.} the value without its extension, {/} without its directory, {//} its directory,
{/.} both, {#} the number of the job. Values are quoted for the shell; a CMD without any of these gets the value at
its end. Jobs find the value as it is in $TORC_VALUE. Parameters are as in workflow files and are not quoted.

State and output are kept in a store, .torc-exec/DATE-TIME here or --store DIR: `torc status DIR`, `torc logs DIR 17`.
Remove it when you need it no more. Exit code: 0 every job completed; 1 some did not; 2 wrong flags; 3 the store.)";

void add_inputs(CLI::App* c, ExecOptions& o) {
  c->add_option("VALUES", o.words,
                "a job for each; - : for each line of stdin (without -c: the lines are commands)")
      ->type_name("[:::] VALUES...|-");
  c->add_option("-c,--command", o.commands, "command; may be repeated")
      ->type_name("CMD")
      ->allow_extra_args(false);
  c->add_option("-C,--commands-file", o.commands_file, "a command on each line; - is stdin")
      ->type_name("FILE");
  c->add_option("-a,--arg-file", o.values_file, "a value on each line; - is stdin")
      ->type_name("FILE");
  c->add_flag("-0,--null", o.nul_separated, "values end with NUL, as of find -print0");
  c->add_option("--param", o.parameters,
                "a parameter: NAME=1:10, NAME=0.0:1.0:0.1, NAME=a,b,c, NAME=@FILE; may be repeated")
      ->type_name("NAME=VALUES")
      ->allow_extra_args(false);
  c->add_option("--link", o.link, "product: every combination of parameters; zip: side by side")
      ->type_name("MODE")
      ->check(CLI::IsMember({"product", "zip"}))
      ->capture_default_str();
}

template <class T>
void add_count(CLI::App* c, const std::string& flag, std::optional<T>& to, const std::string& help,
               T least) {
  c->add_option(flag, to, help)->type_name("N")->check(CLI::Range(least, T{1'000'000}));
}

void add_limits(CLI::App* c, ExecOptions& o) {
  add_count<std::uint64_t>(c, "-j,--jobs", o.jobs, "jobs at a time (default: the CPUs)", 1);
  c->add_option("--retries", o.retries, "tries after a failure")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1000}));
  c->add_option_function<std::string>(
       "--timeout",
       [&o](const std::string& text) {
         auto value = parse_duration(text);
         if (!value) throw CLI::ValidationError("--timeout", value.error().text());
         o.timeout = *value;
       },
       "end a job after this time, e.g. 90s, 4h")
      ->type_name("TIME");
  add_count<std::uint64_t>(c, "--max-failures", o.max_failures,
                           "after so many failures start nothing more", 1);
}

}  // namespace

void add_exec_command(CLI::App& cli, const App& app, ExecOptions& o, Exit& exit) {
  auto* c = cli.add_subcommand("exec", "Run a command for many values here, like GNU parallel");
  c->footer(kFooter);
  add_inputs(c, o);
  add_limits(c, o);
  c->add_flag("-k,--keep-order", o.keep_order, "print output in the order of the jobs");
  c->add_flag("--tag", o.tag, "put the value (else the command) before each line of output");
  c->add_flag("--progress,--bar", o.progress, "show progress on stderr");
  c->add_flag("-q,--quiet", o.quiet, "print no output of jobs (`torc logs` has it), only errors");
  c->add_flag("--dry-run", o.dry_run, "print the commands and run nothing");
  c->add_option("-n,--name", o.name, "name of the workflow")->type_name("NAME");
  c->add_option("--store", o.store, "directory of the store")->type_name("DIR");
  c->add_option("--engine", o.engine, "as for init")
      ->type_name("ENGINE")
      ->check(CLI::IsMember({"auto", "lmdb", "journal"}))
      ->capture_default_str();
  c->add_flag("--resume", o.resume, "go on with --store, else with the newest in .torc-exec");
  c->add_flag("--resume-failed", o.resume_failed, "the same, and run again what failed");
  c->callback([&app, &o, &exit, c] {
    for (const char* flag :
         {"VALUES", "--command", "--commands-file", "--arg-file", "--param", "--retries",
          "--timeout", "--max-failures", "--name", "--dry-run", "--engine", "--null", "--link"})
      o.describes_jobs = o.describes_jobs || c->count(flag) > 0;
    if (o.dry_run) {
      exit = run_exec(app, o);
      return;
    }
    const std::string store = o.store.empty() ? "" : " --store " + shell_word(o.store);
    exit = under_watchdog(app, "torc exec --resume" + store,
                          [&](const App& guarded) { return run_exec(guarded, o); });
  });
}

}  // namespace torc::cli
