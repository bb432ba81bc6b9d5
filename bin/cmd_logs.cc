// torc logs: the output of a job, from where its worker put it.
#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "bin/commands.h"
#include "bin/job_command.h"
#include "bin/job_view.h"
#include "bin/locate.h"
#include "bin/workflow_plan.h"

namespace torc::cli {
namespace {

struct Found {
  OutputFiles files;
  Path recovery;
  spec::StdioMode mode{};
  std::uint32_t attempt = 0;
  std::string host;      // that ran it, where it is known
  bool in_store = true;  // its worker kept output in the store
};

Result<Found> find_files(store::Store& store, const std::string& name,
                         std::optional<std::uint32_t> attempt) {
  Found found;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    RecipeBook book;
    const auto id = find_job(book, reader, name);
    const auto page = id ? book.find(reader, *id) : nullptr;
    const auto job = id ? claim::read_job(reader, *id) : std::nullopt;
    if (!page || !job) return no_such_job(name);
    found.attempt = attempt.value_or(job->attempt);
    if (job->attempt == 0 || found.attempt == 0 || found.attempt > job->attempt) {
      return Error{ErrorKind::invalid,
                   job->attempt == 0
                       ? fmt::format("'{}' has not run ({})", name, claim::to_string(job->state))
                       : fmt::format("'{}' has no attempt {}", name, found.attempt),
                   job->attempt == 0 ? "`torc job` tells what it waits for"
                                     : fmt::format("it had attempts 1 to {}", job->attempt)};
    }
    Path directory = default_output_dir(store.directory());
    if (const auto worker = claim::read_worker(reader, job->worker)) {
      found.host = worker->info.host;
      found.in_store = worker->info.output_dir.empty();
      if (!found.in_store) directory = worker->info.output_dir;
    }
    found.mode = page->recipe.render(raw(*id) - raw(page->job_template.first)).stdio.mode;
    found.files = output_files(directory, *id, found.attempt, found.mode);
    found.recovery = recovery_file(directory, *id, found.attempt);
    return {};
  }));
  return found;
}

Error not_there(const Found& found, const Path& path, int open_errno) {
  std::string remedy;
  if (open_errno == ENOENT && path == found.recovery) {
    remedy = "no recovery script ran after this attempt; --attempt N asks for another one";
  } else if (open_errno == ENOENT) {
    remedy = found.in_store
                 ? "it was deleted since, by hand or by the job's stdio setting delete_on_success"
                 : fmt::format(
                       "its worker ran on {} with an --output-dir; if that is a local disk, "
                       "look there",
                       found.host);
  }
  return os_error(open_errno, fmt::format("cannot read {}", path.string()), std::move(remedy));
}

Exit copy_out(const App& app, const Found& found, const Path& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return report(app, not_there(found, path, errno));
  char buffer[1 << 16];
  std::size_t n = 0;
  while ((n = std::fread(buffer, 1, sizeof buffer, file)) > 0) {
    if (std::fwrite(buffer, 1, n, app.out) != n) break;
  }
  const bool bad = std::ferror(file) != 0;
  std::fclose(file);
  return bad ? report(app,
                      Error{ErrorKind::io, fmt::format("cannot read all of {}", path.string()), ""})
             : Exit::ok;
}

nlohmann::ordered_json file_json(const Path& path) {
  if (path.empty()) return nullptr;
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return {{"path", path.string()},
          {"bytes", error ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(size)}};
}

}  // namespace

Exit run_logs(const App& app, const LogsOptions& options) {
  auto where = locate_store_and_name(app, options.words);
  if (!where) return report(app, where.error());
  auto store = store::Store::open(app.world, where->store, store::Tuning{});
  if (!store) return report(app, store.error());
  auto found = find_files(**store, where->name, options.attempt);
  if (!found) return report(app, found.error());
  if (options.json) {
    const nlohmann::ordered_json out = {{"name", where->name},
                                        {"attempt", found->attempt},
                                        {"stdout", file_json(found->files.out)},
                                        {"stderr", file_json(found->files.err)}};
    fmt::print(app.out, "{}\n", json_text(out));
    return Exit::ok;
  }
  const Path& path = options.recovery ? found->recovery
                     : options.err    ? found->files.err
                                      : found->files.out;
  if (path.empty()) {
    return report(
        app, Error{ErrorKind::invalid,
                   fmt::format("the {} of '{}' is not kept (its stdio mode)",
                               options.err ? "standard error" : "standard output", where->name),
                   ""});
  }
  if (options.path_only) {
    fmt::print(app.out, "{}\n", path.string());
    return Exit::ok;
  }
  return copy_out(app, *found, path);
}

}  // namespace torc::cli
