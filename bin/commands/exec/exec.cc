// torc exec: one command for many values, on this machine, kept in a store so that it can go on.
#include <fmt/format.h>

#include <signal.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "bin/commands/commands.h"
#include "bin/commands/exec/halt.h"
#include "bin/commands/exec/jobs.h"
#include "bin/commands/exec/missing.h"
#include "bin/commands/exec/options.h"
#include "bin/commands/exec/output.h"
#include "bin/commands/exec/record.h"
#include "bin/commands/exec/replace.h"
#include "bin/commands/exec/store.h"
#include "bin/commands/exec/words.h"
#include "bin/commands/run/working.h"
#include "bin/commands/workdir.h"
#include "bin/flags.h"
#include "bin/guard.h"
#include "lib/base/plural.h"
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
  torc exec gzip -9 {} ::: *.log                   a job for each file, as many at a time as CPUs
  find . -name '*.png' | torc exec -j4 'convert {} {.}.jpg'
  torc exec 'echo {1} {2}' ::: a b ::: 1 2         every combination; :::+ 1 2 for side by side
  torc exec -c './sim --n {n} --lr {lr}' --param n=1:100 --param lr=0.1,0.2

Cut off? `torc exec --resume` goes on with the newest one here; what is done is not run again.

Values are words after :::, lines of files after :::: or of -a FILE; else lines of stdin, where that is a pipe or a
file. Flags stand before CMD. Without CMD the values are commands.

In CMD, {} is the value (of several all of them), {.} the value without its extension, {/} without its directory,
{//} its directory, {/.} both, {#} the number of the job, {%} which of those at a time it is; {2}, {2.}, {-1} one of
several. Values are quoted for the shell; a CMD without any of these gets the value at its end. Jobs find it as it is
in $TORC_VALUE ($TORC_VALUE_1, … of several). Parameters are as in workflow files and are not quoted.

State and output are kept in a store, .torc-exec/DATE-TIME here or --store DIR: `torc status DIR`, `torc logs DIR 17`.
Remove it when you need it no more. Exit code: 0 every job completed; 1 some did not; 2 wrong flags; 3 not all ran, none failed; 4 the store; 128
and its number after a signal: 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP, 141 nobody read the output any more.)";

constexpr std::uint64_t kMostRetries = 1000;
constexpr std::uint64_t kMostCounted = 1'000'000;
constexpr std::uint64_t kMostArguments = 10'000;
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

Result<std::uint64_t> count_exec_jobs(store::Store& store) {
  std::uint64_t jobs = 0;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
    jobs = workflow.jobs;
    return {};
  }));
  return jobs;
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

// Whether a command asks which of those that run at a time it is. All kinds of commands are among
// the first templates.
Result<bool> asks_for_slot(store::Store& store) {
  constexpr std::uint64_t kLooked = 64;
  bool found = false;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    std::uint64_t looked = 0;
    found = false;
    return claim::scan_templates(reader, [&](const claim::Template& one) {
      const auto recipe = workflow::recipe_of(one);
      if (recipe) found = recipe->render(0).command.find("TORC_JOB_SLOT") != std::string::npos;
      return !found && ++looked < kLooked;
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
  say(app.err, "torc: {} of {} completed", show_count(w.of(JobState::completed)),
      plural(w.jobs, "job"));
  if (bad > 0) say(app.err, ", {} failed", show_count(bad));
  if (was_interrupted(summary))
    say(app.err, "; interrupted by {}", signal_name(summary.interrupted_by));
  say(app.err, "{}\n", idle && w.finished() ? "; there was nothing left to do" : "");
  const std::string shown = workflow::shown_path(app, store);
  if (w.halted()) {
    say(app.err, "torc: nothing more was started after {}\n",
        plural(report::failures(w), "failure"));
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
  TORC_ASSIGN(const Path workdir, workdir_of(app, "", settings, directory));
  TORC_ASSIGN(const worker::WorkerOptions worker, worker_for(o, *store));
  TORC_ASSIGN(auto setup, worker::make_worker_setup(app, worker, directory, worker::Place::laptop,
                                                    settings.run));
  setup.directory = workdir;
  warn(app, setup);
  TORC_TRY(note_unknown_bindings(app, *store, worker));
  std::vector<bool> over;
  if (o.keep_order && (o.resume || o.resume_failed)) {
    TORC_ASSIGN(over, find_over(*store));
  }

  TORC_ASSIGN(setup.numbers_slots, asks_for_slot(*store));
  setup.starts_one_by_one = o.halt.of != ExecHalt::Of::nothing;
  TORC_ASSIGN(const std::uint64_t jobs, count_exec_jobs(*store));
  HaltCounter halt(o.halt, jobs);
  TORC_ASSIGN(ExecRecord record, ExecRecord::open(app, o));

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
  events.label = [&](const worker::PreparedJob& job) {
    record.started(job);
    return label_of(job);
  };
  events.halt = [&] { return halt.due(); };
  bool told = false;
  events.ended = [&](const worker::JobEnd& job) {
    output.ended(job);
    record.ended(job, setup.output_dir);
    halt.ended(job.state);
    if (output.closed_by() == 0 || std::exchange(told, true)) return;
    say(app.err, "torc: {}: nothing more is started\n",
        output.closed_by() == EPIPE
            ? "nobody reads the output any more"
            : fmt::format("the output cannot be written ({})", std::strerror(output.closed_by())));
    (void)::kill(::getpid(), SIGINT);  // as Ctrl-C would
  };
  auto summary = work_here(app, std::move(store), setup, events);
  output.flush();
  progress.close();
  TORC_TRY(summary);
  if (output.closed_by() != 0) summary->interrupted_by = output.closed_by() == EPIPE ? SIGPIPE : 0;
  const std::string why = halt.reason();
  if (!why.empty() && !summary->workflow.finished())
    say(app.err, "torc: --halt: {}: nothing more was started\n", why);
  say_end(app, o, *summary, directory);
  TORC_TRY(explain_broken(*summary, workdir, directory));
  if (output.closed_by() != 0 && output.closed_by() != EPIPE) return Exit::failed;
  const Exit exit = exit_of(*summary);
  const bool is_left = exit == Exit::failed || exit == Exit::unfinished;
  return halt.is_good() && is_left ? Exit::ok : exit;
}

Error bad_flags(std::string what, std::string remedy) {
  return {ErrorKind::invalid, std::move(what), std::move(remedy)};
}

Result<void> check_results(const ExecOptions& o) {
  const std::string& name = o.results;
  const bool table = name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".json");
  if (table)
    return bad_flags(fmt::format("--results {} would be a table, which torc exec does not write",
                                 shell_word(name)),
                     "--results DIR writes the output of each job into files; --joblog FILE is a "
                     "table of how they ended");
  if (has_place(name, {"{}", 0}))
    return bad_flags(fmt::format("--results {} has a place for a value", shell_word(name)),
                     "--results DIR has a directory for each value by itself");
  return {};
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
    return bad_flags(
        "--resume goes on with the jobs of an earlier run, but other jobs were given",
        "leave out the command and its values; --store DIR says which run to go on with");
  }
  return check_results(o);
}

Result<Exit> run(const App& app, const ExecOptions& given) {
  TORC_TRY(check_flags(given));
  if (given.resume || given.resume_failed) {
    TORC_ASSIGN(auto opened, open_exec_store(app, given));
    return run_jobs_of(app, given, std::move(opened));
  }
  TORC_ASSIGN(const ExecOptions o, with_sources(given));
  if (o.dry_run) return print_exec_commands(app, o);
  MadeExecStore made = make_exec_store(app, o);
  return made.exit ? *made.exit : run_jobs_of(app, o, std::move(made.store));
}

void add_inputs(Command& c, ExecOptions& o) {
  c.argument("CMD", o.words,
             "a command, then values: words after :::, lines of files after ::::, :::+ and ::::+ "
             "side by side with those before; with -c, or - for lines of stdin, values alone")
      .value("[CMD...] [::: VALUES...]");
  c.option("-c,--command", o.commands, "command; may be repeated").value("CMD").one_at_a_time();
  c.option("-C,--commands-file", o.commands_file, "a command on each line; - is stdin")
      .value("FILE");
  c.option("-a,--arg-file", o.values_files,
           "a value on each line; - is stdin; of several every combination")
      .value("FILE")
      .one_at_a_time();
  c.flag("-0,--null", o.nul_separated, "values end with NUL, as of find -print0");
  c.option("--colsep", o.column_separator,
           "split each line into several values at this regular expression, such as '\\t'")
      .value("REGEX");
  c.option("-N", o.arguments, "values of a source for each job: {1}, {2}, …")
      .value("N")
      .between(std::uint64_t{1}, kMostArguments);
  c.option("-I", o.replace_string, "what stands for the value in CMD instead of {}")
      .value("STRING");
  c.flag("--quote", o.quote, "quote the words of CMD, so that the shell takes them as they are");
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
  c.option("-j,-P,--jobs", o.jobs, "jobs at a time (default: the CPUs)")
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

void add_records(Command& c, ExecOptions& o) {
  c.option("--joblog", o.joblog, "write a line for each job that has ended: times, exit code")
      .value("FILE");
  c.option("--results", o.results, "write the output of each job into DIR/1/VALUE/stdout, …")
      .value("DIR");
  c.option("--halt", o.halt, parse_halt,
           "start nothing more after so many: now,fail=1 soon,fail=10% now,success=1 soon,done=5; "
           "now ends what runs, too")
      .value("WHEN,WHY=N");
}

// Whether flags were given that say what to run.
bool describes_jobs(const Command& c) {
  const auto names = {"CMD",     "--command", "--commands-file", "--arg-file",
                      "--param", "--retries", "--timeout",       "--max-failures",
                      "--name",  "--dry-run", "--engine",        "--null",
                      "--link",  "--gpus",    "--resource",      "--colsep",
                      "-N",      "-I",        "--quote"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return c.given(name); });
}

}  // namespace

void add_exec(Command& c) {
  auto& o = c.options<ExecOptions>();
  c.about("Run a command for many values here, like GNU parallel");
  c.footer(kExecFooter);
  c.take_words(source_marks(), {"-c", "--command", "-C", "--commands-file"});
  c.explain_missing(missing_flags());
  add_inputs(c, o);
  add_limits(c, o);
  add_records(c, o);
  c.flag("-k,--keep-order", o.keep_order, "print output in the order of the jobs");
  c.flag("--tag", o.tag, "put the value (else the command) before each line of output");
  c.flag("--progress,--bar", o.progress, "show progress on stderr");
  c.flag("-q,--quiet", o.quiet, "print no output of jobs (`torc logs` has it), only errors");
  c.flag("--dry-run", o.dry_run, "print the commands and run nothing");
  c.option("-n,--name", o.name, "name of the workflow").value("NAME");
  c.option("--store", o.store, "directory of the store").value("DIR");
  c.option("--engine", o.engine, "engine of the store, as for init")
      .value("ENGINE")
      .choices({"auto", "lmdb", "journal"})
      .shows_default();
  c.flag("--resume", o.resume, "go on with the run in --store (default: the newest in .torc-exec)");
  c.flag("--resume-failed", o.resume_failed, "as --resume, and run again what failed");
  c.run([&c, &o](const App& app) -> Result<Exit> {
    o.describes_jobs = describes_jobs(c);
    if (o.dry_run) return run(app, o);
    const std::string store = o.store.empty() ? "" : " --store " + shell_word(o.store);
    return under_watchdog(app, "torc exec --resume" + store,
                          [&](const App& guarded) { return run(guarded, o); });
  });
}

}  // namespace torc::cli
