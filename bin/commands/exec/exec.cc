// torc exec: one command for many values, on this machine, kept in a store so that it can go on.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "bin/commands/commands.h"
#include "bin/commands/exec/jobs.h"
#include "bin/commands/exec/options.h"
#include "bin/commands/exec/output.h"
#include "bin/commands/exec/store.h"
#include "bin/commands/run/working.h"
#include "bin/flags.h"
#include "bin/guard.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {
namespace {

using claim::JobState;

constexpr const char* kExecFooter = R"(
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

constexpr std::uint64_t kMostRetries = 1000;
constexpr std::uint64_t kMostCounted = 1'000'000;
constexpr std::uint64_t kMostCpus = 65'536;

// What tells jobs apart to a person: the value, else the name where parameters made it, else the
// command.
std::string label_of(const worker::PreparedJob& job) {
  const std::string prefix = fmt::format("{}=", kValueVariable);
  for (const std::string& entry : job.command.env) {
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
  }
  return job.name.find('=') == std::string::npos ? job.command.line : job.name;
}

// By number; of what ended in an earlier run.
Result<std::vector<bool>> find_over(store::Store& store) {
  std::vector<bool> over;
  const auto look = [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
    over.assign(workflow.jobs + 1, false);
    for (const JobState state : claim::states_with(claim::trait::kTerminal)) {
      if (workflow.of(state) == 0) continue;
      TORC_TRY(claim::scan_jobs(reader, state, [&](JobId id, const claim::Job&) {
        if (raw(id) < over.size()) over[raw(id)] = true;
        return true;
      }));
    }
    return {};
  };
  TORC_TRY(store.view(store::Freshness::latest, look));
  return over;
}

// Whether some job needs what is not counted where only their number is.
Result<bool> needs_more_than_cpus(store::Store& store) {
  bool found = false;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    found = false;
    return claim::scan_classes(reader, [&](const claim::JobClass& c) {
      found = found || c.need.gpus > 0 || !c.need.named.empty();
      return !found;
    });
  }));
  return found;
}

// Each job needs one CPU, so that many of these are that many jobs.
Result<worker::WorkerOptions> worker_for(const ExecOptions& o, store::Store& store) {
  worker::WorkerOptions worker;
  worker.resources = o.node_resources;
  TORC_ASSIGN(const bool counts, needs_more_than_cpus(store));
  if (!counts) {
    worker.max_parallel_jobs = o.jobs;
  } else if (o.jobs) {
    worker.cpus = static_cast<std::uint32_t>(std::min(*o.jobs, kMostCpus));
  }
  return worker;
}

void say_end(const App& app, const ExecOptions& o, const worker::WorkerSummary& summary,
             const Path& store) {
  const claim::WorkflowState& w = summary.workflow;
  const bool idle = (o.resume || o.resume_failed) && summary.completed + summary.failed == 0;
  if (w.all_completed() && !o.progress && !idle) return;
  const auto bad = report::failures(w) + w.of(JobState::canceled);
  say(app.err, "torc: {} of {} job(s) completed", show_count(w.of(JobState::completed)),
      show_count(w.jobs));
  if (bad > 0) say(app.err, ", {} failed", show_count(bad));
  say(app.err, "{}\n", idle && w.finished() ? "; there was nothing left to do" : "");
  const std::string shown = workflow::shown_path(app, store);
  if (w.halted()) {
    say(app.err, "torc: nothing more was started after {} failure(s)\n",
        show_count(report::failures(w)));
  }
  std::string named = o.store.empty() ? "" : " --store " + shown;
  for (const std::string& one : o.node_resources) named += " --node-resource " + shell_word(one);
  if (summary.end == worker::WorkerEnd::nothing_fits) {
    for (const std::string& line : summary.mismatches) say(app.err, "torc: {}\n", line);
    say(app.err, "torc: --node-resource says what this node has of a resource with a name\n");
  }
  if (!w.finished()) {
    say(app.err, "torc: go on with: torc exec --resume{}\n", named);
  } else if (bad > 0) {
    say(app.err,
        "torc: see: torc results {} --failed; torc logs {} --failed; again: "
        "torc exec --resume-failed{}\n",
        shown, shown, named);
  }
}

// stderr where `torc run` uses stdout, which here belongs to the jobs.
App beside_output(const App& app) {
  App beside = app;
  beside.out = app.err;
  beside.out_is_terminal = app.err_is_terminal;
  return beside;
}

Result<Exit> run_jobs_of(const App& app, const ExecOptions& o,
                         std::unique_ptr<store::Store> store) {
  const Path directory = store->directory();
  TORC_ASSIGN(auto settings, workflow::read_settings(*store));
  TORC_ASSIGN(const worker::WorkerOptions worker, worker_for(o, *store));
  TORC_ASSIGN(auto setup, worker::make_worker_setup(app, worker, directory, worker::Place::laptop,
                                                    settings.run));
  warn(app, setup);
  TORC_TRY(note_unknown_bindings(app, *store, worker));
  std::vector<bool> over;
  if (o.keep_order && (o.resume || o.resume_failed)) {
    TORC_ASSIGN(over, find_over(*store));
  }

  const App beside = beside_output(app);
  Progress progress(beside, !o.progress);
  ExecOutput output(app, progress, setup.output_dir, {o.quiet, o.keep_order, o.tag},
                    std::move(over));
  worker::WorkerEvents events;
  events.progress = [&](const claim::WorkflowState& w) { progress.update(w); };
  events.show_at = [&] { return progress.due(); };
  events.show = [&] { progress.draw_now(); };
  events.notice = [&](const std::string& line) {
    progress.hide();
    say(app.err, "torc: {}\n", line);
  };
  events.asked = events.notice;
  events.label = label_of;
  bool told = false;
  events.ended = [&](const worker::JobEnd& job) {
    output.ended(job);
    if (!output.is_closed() || std::exchange(told, true)) return;
    say(app.err, "torc: nobody reads the output any more: nothing more is started\n");
    (void)::kill(::getpid(), SIGINT);  // as Ctrl-C would
  };
  const auto summary = work_here(app, std::move(store), setup, events);
  output.flush();
  progress.close();
  TORC_TRY(summary);
  say_end(app, o, *summary, directory);
  return exit_of(*summary);
}

Error bad_flags(std::string what, std::string remedy) {
  return {ErrorKind::invalid, std::move(what), std::move(remedy)};
}

// What goes together; an Error says what to leave out.
Result<void> check_flags(const ExecOptions& o) {
  const bool resumes = o.resume || o.resume_failed;
  std::set<std::string> resources;
  for (const std::string& one : o.resources) {
    const std::string name = one.substr(0, one.find('='));
    if (name.size() == one.size())
      return bad_flags(fmt::format("--resource takes NAME=AMOUNT, not '{}'", printable(one)),
                       "for example --resource gpus/a100=2 or --resource licence=0.5");
    if (!resources.insert(name).second)
      return bad_flags(fmt::format("--resource {} is given twice", printable(name)), "once");
  }
  if (resumes && o.describes_jobs) {
    return bad_flags("--resume goes on with the jobs there are, and other ones were given",
                     "leave out what describes jobs; --store DIR says which ones to go on with");
  }
  if (resumes) return {};
  const bool values = !o.words.empty() || !o.values_file.empty();
  const bool from_words = o.words == std::vector<std::string>{"-"};
  if (o.commands.empty() && o.commands_file.empty() && !from_words) {
    return bad_flags("there is no command",
                     "-c CMD, -C FILE with a command on each line, or - for such lines on stdin");
  }
  if (!o.commands_file.empty() && (!o.commands.empty() || values)) {
    return bad_flags("-C names whole commands, and further commands or values were given",
                     "leave one of them out; values are for -c CMD");
  }
  if (!o.values_file.empty() && (!o.words.empty() || o.commands.empty())) {
    return bad_flags("-a takes the values of -c CMD", "give -c CMD, and values in one place only");
  }
  if (values && !o.parameters.empty()) {
    return bad_flags("values and --param were given",
                     "values may be a parameter: --param file=@FILE, and {file} in the command");
  }
  return {};
}

Result<Exit> run(const App& app, const ExecOptions& given) {
  ExecOptions o = given;
  if (!o.words.empty() && o.words.front() == ":::") o.words.erase(o.words.begin());
  TORC_TRY(check_flags(o));
  if (o.dry_run) return print_exec_commands(app, o);
  if (o.resume || o.resume_failed) {
    TORC_ASSIGN(auto opened, open_exec_store(app, o));
    return run_jobs_of(app, o, std::move(opened));
  }
  MadeExecStore made = make_exec_store(app, o);
  return made.exit ? *made.exit : run_jobs_of(app, o, std::move(made.store));
}

void add_inputs(Command& c, ExecOptions& o) {
  c.argument("VALUES", o.words,
             "a job for each; - : for each line of stdin (without -c: the lines are commands)")
      .value("[:::] VALUES...|-");
  c.option("-c,--command", o.commands, "command; may be repeated").value("CMD").one_at_a_time();
  c.option("-C,--commands-file", o.commands_file, "a command on each line; - is stdin")
      .value("FILE");
  c.option("-a,--arg-file", o.values_file, "a value on each line; - is stdin").value("FILE");
  c.flag("-0,--null", o.nul_separated, "values end with NUL, as of find -print0");
  c.option("--param", o.parameters,
           "a parameter: NAME=1:10, NAME=0.0:1.0:0.1, NAME=a,b,c, NAME=@FILE; may be repeated")
      .value("NAME=VALUES")
      .one_at_a_time();
  c.option("--link", o.link, "product: every combination of parameters; zip: side by side")
      .value("MODE")
      .choices({"product", "zip"})
      .shows_default();
}

void add_limits(Command& c, ExecOptions& o) {
  c.option("-j,--jobs", o.jobs, "jobs at a time (default: the CPUs)")
      .value("N")
      .between(std::uint64_t{1}, kMostCounted);
  c.option("--gpus", o.gpus, "GPUs of each job: 1, a part such as 0.25, or all").value("N");
  c.option("--resource", o.resources,
           "what else each job needs of this node: gpus/a100=2, licence=0.5; may be repeated")
      .value("NAME=AMOUNT")
      .one_at_a_time();
  c.option("--node-resource", o.node_resources,
           "what this node has of it, as --resource of torc run; may be repeated")
      .value("NAME=WHAT")
      .one_at_a_time();
  c.option("--retries", o.retries, "tries after a failure")
      .value("N")
      .between(std::uint64_t{0}, kMostRetries);
  c.option("--timeout", o.timeout, parse_duration, "end a job after this time, e.g. 90s, 4h")
      .value("TIME");
  c.option("--max-failures", o.max_failures, "after so many failures start nothing more")
      .value("N")
      .between(std::uint64_t{1}, kMostCounted);
}

// Whether flags were given that say what to run.
bool describes_jobs(const Command& c) {
  const auto names = {"VALUES",    "--command", "--commands-file", "--arg-file", "--param",
                      "--retries", "--timeout", "--max-failures",  "--name",     "--dry-run",
                      "--engine",  "--null",    "--link",          "--gpus",     "--resource"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return c.given(name); });
}

}  // namespace

void add_exec(Command& c) {
  auto& o = c.options<ExecOptions>();
  c.about("Run a command for many values here, like GNU parallel");
  c.footer(kExecFooter);
  add_inputs(c, o);
  add_limits(c, o);
  c.flag("-k,--keep-order", o.keep_order, "print output in the order of the jobs");
  c.flag("--tag", o.tag, "put the value (else the command) before each line of output");
  c.flag("--progress,--bar", o.progress, "show progress on stderr");
  c.flag("-q,--quiet", o.quiet, "print no output of jobs (`torc logs` has it), only errors");
  c.flag("--dry-run", o.dry_run, "print the commands and run nothing");
  c.option("-n,--name", o.name, "name of the workflow").value("NAME");
  c.option("--store", o.store, "directory of the store").value("DIR");
  c.option("--engine", o.engine, "as for init")
      .value("ENGINE")
      .choices({"auto", "lmdb", "journal"})
      .shows_default();
  c.flag("--resume", o.resume, "go on with --store, else with the newest in .torc-exec");
  c.flag("--resume-failed", o.resume_failed, "the same, and run again what failed");
  c.run([&c, &o](const App& app) -> Result<Exit> {
    o.describes_jobs = describes_jobs(c);
    if (o.dry_run) return run(app, o);
    const std::string store = o.store.empty() ? "" : " --store " + shell_word(o.store);
    return under_watchdog(app, "torc exec --resume" + store,
                          [&](const App& guarded) { return run(guarded, o); });
  });
}

}  // namespace torc::cli
