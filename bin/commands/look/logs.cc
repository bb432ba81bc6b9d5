// torc logs: the output of a job, from where its worker put it.
#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/look/job_logs.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/report/job_view.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {
namespace {

struct LogsOptions {
  std::vector<std::string> words;  // NAME, or STORE NAME; with `failed` STORE or nothing
  bool diagnose = false;           // why they failed; with any number of names
  bool err = false;
  bool follow = false;                // until the job has ended
  bool failed = false;                // of all jobs that failed
  std::optional<std::uint64_t> tail;  // so many lines
  bool recovery = false;              // that of the recovery script after the attempt
  std::optional<std::uint32_t> attempt;
  std::optional<std::uint32_t> rank;  // of the node, of a job that runs on several
  bool path_only = false;
  bool json = false;
};

exec::Stream stream_of(const LogsOptions& options) {
  return options.err ? exec::Stream::err : exec::Stream::out;
}

std::string_view name_of(exec::Stream stream) {
  return stream == exec::Stream::err ? "standard error" : "standard output";
}

Error usage(std::string what, std::string remedy) {
  return {ErrorKind::invalid, std::move(what), std::move(remedy)};
}

// Chooses the attempt that was asked for.
Result<void> choose(report::JobNow& now, const std::string& name,
                    std::optional<std::uint32_t> attempt) {
  if (now.job.attempt == 0) {
    return usage(fmt::format("'{}' has not run ({})", name, claim::to_string(now.job.state)),
                 "`torc job` tells what it waits for");
  }
  const std::uint32_t wanted = attempt.value_or(now.job.attempt);
  if (wanted == 0 || wanted > now.job.attempt) {
    return usage(fmt::format("'{}' has no attempt {}", name, wanted),
                 fmt::format("it had attempts 1 to {}", now.job.attempt));
  }
  report::choose_attempt(now.output, wanted);
  return {};
}

// Where a stream would be, if it has a file of its own.
Path file_of(const report::AttemptOutput& output, exec::Stream stream) {
  const worker::OutputFiles files = worker::output_files(
      output.directories.front(), output.job, output.attempt, output.stdio.mode, output.rank);
  return stream == exec::Stream::err ? files.err : files.out;
}

// There is nothing to print. An Error where something should be there.
Result<void> explain_nothing(const App& app, const report::JobNow& now, exec::Stream stream,
                             bool traced) {
  const report::AttemptOutput& output = now.output;
  const bool newest = output.attempt == now.job.attempt;
  const std::string whose = fmt::format("the {} of '{}'", name_of(stream), printable(now.name));
  if (newest && now.job.state == claim::JobState::completed && output.stdio.delete_on_success) {
    return Error{ErrorKind::not_found, whose + " was deleted",
                 "the job completed, and its stdio setting delete_on_success says so"};
  }
  std::error_code error;
  if (!traced && !std::filesystem::exists(output.directories.front(), error)) {
    return os_error(
        ENOENT, fmt::format("cannot read {}", output.directories.front().string()),
        output.in_store
            ? "it has been deleted since"
            : fmt::format("its worker ran on {} with an --output-dir; if that is a local disk, "
                          "look there",
                          output.host));
  }
  if (newest && claim::is_live(now.job.state)) {
    say(app.err, "torc: nothing yet: {} is {}, and wrote nothing to its {} so far\n",
        printable(now.name), claim::to_string(now.job.state), name_of(stream));
  } else {
    say(app.err, "torc: {} wrote nothing to its {}{}\n", printable(now.name), name_of(stream),
        traced ? "" : ", or it was removed (torc clean does that)");
  }
  return {};
}

Result<void> print_stream(const App& app, const report::JobNow& now, const LogsOptions& options) {
  const exec::Stream stream = stream_of(options);
  report::OutputReader reader;
  if (now.output.nodes > 1 && !options.rank) {
    const auto outputs = outputs_of(now.output, std::nullopt);
    TORC_ASSIGN(const bool any, print_ranks(app, reader, outputs, stream, options.tail));
    return any ? Result<void>() : explain_nothing(app, now, stream, false);
  }
  TORC_ASSIGN(const auto found, reader.read(now.output, stream, 0, 0));
  if (!found || found->size == 0) return explain_nothing(app, now, stream, found.has_value());
  if (options.tail) {
    TORC_TRY(print_tail(app, reader, now.output, stream, *options.tail));
    return {};
  }
  TORC_TRY(copy_out(app, reader, now.output, stream, 0));
  return {};
}

Result<void> print_path(const App& app, const report::JobNow& now, const LogsOptions& options) {
  for (const report::AttemptOutput& output : outputs_of(now.output, options.rank)) {
    const Path path = file_of(output, stream_of(options));
    if (path.empty()) {
      return usage(fmt::format("the output of '{}' is packed into one file with that of others",
                               printable(now.name)),
                   "`torc logs NAME` prints it, `torc logs export DIR` writes it to files");
    }
    say(app.out, "{}\n", path.string());
  }
  return {};
}

Result<nlohmann::ordered_json> stream_json(report::OutputReader& reader,
                                           const report::AttemptOutput& output,
                                           exec::Stream stream) {
  if (!report::is_kept(output.stdio.mode, stream)) return nlohmann::ordered_json(nullptr);
  TORC_ASSIGN(const auto found, reader.read(output, stream, 0, 0));
  const Path file = file_of(output, stream);
  const Path& where = !file.empty() && found && !found->file.empty() ? found->file : file;
  return nlohmann::ordered_json{
      {"file", json_or_null(where.string())},
      {"size_bytes", json_if(found.has_value(), found ? found->size : 0)}};
}

// Of a job that runs on several nodes: of each, or of the rank that was asked for.
Result<nlohmann::ordered_json> ranks_json(report::OutputReader& reader,
                                          const report::AttemptOutput& output,
                                          std::optional<std::uint32_t> rank) {
  auto ranks = nlohmann::ordered_json::array();
  if (output.nodes < 2) return ranks;
  const std::vector<std::string> nodes = report::nodes_of(output);
  for (const report::AttemptOutput& one : outputs_of(output, rank)) {
    TORC_ASSIGN(auto out, stream_json(reader, one, exec::Stream::out));
    TORC_ASSIGN(auto err, stream_json(reader, one, exec::Stream::err));
    ranks.push_back({{"rank", one.rank},
                     {"node_name", json_if(one.rank < nodes.size(),
                                           one.rank < nodes.size() ? nodes[one.rank] : "")},
                     {"stdout", std::move(out)},
                     {"stderr", std::move(err)}});
  }
  return ranks;
}

Result<void> print_json(const App& app, const report::JobNow& now,
                        std::optional<std::uint32_t> rank) {
  report::OutputReader reader;
  TORC_ASSIGN(auto out, stream_json(reader, now.output, exec::Stream::out));
  TORC_ASSIGN(auto err, stream_json(reader, now.output, exec::Stream::err));
  TORC_ASSIGN(auto ranks, ranks_json(reader, now.output, rank));
  const nlohmann::ordered_json json = {
      {"job_id", raw(now.output.job)}, {"job", now.name},          {"attempt", now.output.attempt},
      {"stdout", std::move(out)},      {"stderr", std::move(err)}, {"ranks", std::move(ranks)}};
  say(app.out, "{}\n", report::json_text(json));
  return {};
}

struct RecoveryFile {
  Path root;
  Path path;
  bool is_there = false;
};

Result<RecoveryFile> recovery_of(const report::AttemptOutput& output) {
  RecoveryFile file;
  for (const Path& directory : output.directories) {
    file.root = report::root_of_output(output.store, directory);
    file.path = worker::recovery_file(directory, output.job, output.attempt);
    TORC_ASSIGN(const auto part, exec::read_part(file.root, file.path, 0, std::nullopt, 0, 1));
    file.is_there = part.has_value();
    if (file.is_there) break;
  }
  return file;
}

// Of the newest attempt that has one, where none is named.
Result<void> print_recovery(const App& app, const report::JobNow& now, const LogsOptions& options) {
  TORC_ASSIGN(RecoveryFile file, recovery_of(now.output));
  for (report::AttemptOutput earlier = now.output;
       !file.is_there && !options.attempt && earlier.attempt > 1;) {
    report::choose_attempt(earlier, earlier.attempt - 1);
    TORC_ASSIGN(RecoveryFile other, recovery_of(earlier));
    if (other.is_there) file = std::move(other);
  }
  if (options.path_only) {
    say(app.out, "{}\n", file.path.string());
    return {};
  }
  std::uint64_t from = 0;
  for (;;) {
    TORC_ASSIGN(const auto part,
                exec::read_part(file.root, file.path, 0, std::nullopt, from, kOutputStep));
    if (!part) {
      return os_error(ENOENT, fmt::format("cannot read {}", file.path.string()),
                      options.attempt ? "no recovery script ran after this attempt"
                                      : "no recovery script ran after any attempt of this job");
    }
    if (part->bytes.empty()) return {};
    say(app.out, "{}", part->bytes);
    from += part->bytes.size();
  }
}

Result<void> print_one(const App& app, store::Store& store, const std::string& name,
                       const LogsOptions& options) {
  workflow::RecipeBook book;
  TORC_ASSIGN(std::optional<report::JobNow> now, report::look_at_job(store, book, name));
  if (!now) return workflow::no_such_job(name);
  TORC_TRY(choose(*now, now->name, options.attempt));
  TORC_TRY(check_rank(*now, options.rank));
  report::choose_rank(now->output, options.rank.value_or(0));
  if (options.recovery) return print_recovery(app, *now, options);
  if (options.json) return print_json(app, *now, options.rank);
  const exec::Stream stream = stream_of(options);
  if (!report::is_kept(now->output.stdio.mode, stream)) {
    return usage(
        fmt::format("the {} of '{}' is not kept (its stdio mode)", name_of(stream), now->name), "");
  }
  return options.path_only ? print_path(app, *now, options) : print_stream(app, *now, options);
}

// The jobs that are meant, as commands take one: one that is named alone by its name.
Result<std::vector<std::string>> jobs_meant(store::Store& store,
                                            const std::vector<std::string>& names) {
  std::vector<std::string> jobs;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    jobs.clear();
    workflow::RecipeBook book;
    if (names.size() == 1) {
      TORC_ASSIGN(const auto id, workflow::find_job(book, reader, names.front()));
      if (id) {
        jobs = names;
        return {};
      }
    }
    TORC_ASSIGN(const auto ranges, select_jobs(reader, Selection{names, "", {}, false}));
    for (const claim::JobRange& range : ranges) {
      for (std::uint64_t i = 0; i < range.count; ++i)
        jobs.push_back(fmt::format("#{}", raw(range.first) + i));
    }
    return {};
  }));
  return jobs;
}

// Each under a heading; of one that has not run, or of which nothing is kept, why.
Result<Exit> print_several(const App& app, store::Store& store,
                           const std::vector<std::string>& jobs, const LogsOptions& options) {
  if (options.follow || options.json || options.recovery) {
    return usage(fmt::format("{} jobs are named", show_count(jobs.size())),
                 "--follow, --json and --recovery are about one");
  }
  bool first = true;
  for (const std::string& job : jobs) {
    if (!options.path_only) {
      workflow::RecipeBook book;
      TORC_ASSIGN(const auto now, report::look_at_job(store, book, job));
      if (!now) return workflow::no_such_job(job);
      say(app.out, "{}==> {} <==\n", std::exchange(first, false) ? "" : "\n", printable(now->name));
      std::fflush(app.out);  // before what is said of it
    }
    const auto printed = print_one(app, store, job, options);
    if (!printed) say(app.err, "torc: {}\n", printed.error().what);
  }
  return Exit::ok;
}

Result<Exit> run(const App& app, const LogsOptions& options) {
  if (options.diagnose) return print_diagnosis(app, options.words, options.json);
  if (options.failed) {
    if (options.words.size() > 1)
      return usage("--failed is about all jobs", "name no job, or leave it out");
    TORC_ASSIGN(const auto store, open_store(app, options.words.empty() ? "" : options.words[0]));
    return print_failed(app, *store, options.tail);
  }
  if (options.words.empty()) {
    return usage(
        "no job given",
        "torc logs [STORE] NAME, torc logs --failed, torc logs --diagnose, torc logs export "
        "DIR");
  }
  TORC_ASSIGN(auto where, locate_store_and_names(app, options.words));
  if (where.names.empty()) return usage("no job given", "torc logs [STORE] NAME…");
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  TORC_ASSIGN(const auto jobs, jobs_meant(*store, where.names));
  if (jobs.size() != 1) return print_several(app, *store, jobs, options);
  if (options.follow)
    return follow(app, *store, jobs.front(), stream_of(options), options.attempt, options.rank);
  TORC_TRY(print_one(app, *store, jobs.front(), options));
  return Exit::ok;
}

}  // namespace

void add_logs(Command& c) {
  auto& o = c.options<LogsOptions>();
  c.about("Print the output of jobs, or of all that failed, or what it says of why they failed");
  c.argument("NAME", o.words,
             "[STORE] NAME…: jobs by name, by #NUMBER, 'align_*', stage:align, @FILE or -; with "
             "--failed a STORE")
      .value("[STORE] NAME…");
  const Flag err = c.flag("--stderr", o.err, "print standard error instead of standard output");
  const Flag follow = c.flag("-f,--follow", o.follow,
                             "follow the output until the job has ended, over all its attempts");
  const Flag failed = c.flag("--failed", o.failed, "the end of what each failed job printed");
  const Flag diagnose =
      c.flag("--diagnose", o.diagnose,
             "why each failed job failed, or those that are named: what torc saw, "
             "and what known lines of their output say");
  const Flag tail =
      c.option("--tail", o.tail, "only the last N lines (with --failed: 20)").value("N");
  const Flag recovery =
      c.flag("--recovery", o.recovery,
             "what the recovery script printed after the attempt (default: the newest with one)");
  const Flag attempt =
      c.option("--attempt", o.attempt, "of this attempt (default: the newest)").value("N");
  const Flag rank = c.option("--rank", o.rank,
                             "of a job with launch: all: only what it printed on the node of this "
                             "rank")
                        .value("N");
  const Flag path = c.flag("--path", o.path_only, "print the path of the file instead");
  const Flag json = c.flag("--json", o.json, "paths and sizes, machine-readable");
  for (const Flag other : {tail, recovery, path, json}) follow.excludes(other);
  rank.excludes(recovery);
  for (const Flag other : {err, follow, recovery, attempt, rank, path, json})
    failed.excludes(other);
  for (const Flag other : {err, follow, failed, tail, recovery, attempt, rank, path})
    diagnose.excludes(other);
  add_logs_export(c.add("export"));
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
