#include "lib/report/job_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/worker/jobs/gang_environment.h"
#include "lib/worker/text/outcome_text.h"

namespace torc::report {
namespace {

void add_directory(std::vector<Path>& directories, Path path) {
  if (std::find(directories.begin(), directories.end(), path) == directories.end())
    directories.push_back(std::move(path));
}

}  // namespace

std::optional<JobNow> look_at_job(const claim::Reader& reader, workflow::RecipeBook& book,
                                  const Path& store, JobId id, const claim::Job& job) {
  const auto page = book.find(reader, id);
  if (!page) return std::nullopt;
  spec::RenderedJob rendered = page->recipe.render(raw(id) - raw(page->job_template.first));
  JobNow now;
  now.job = job;
  now.name = std::move(rendered.name);
  now.how = worker::show_end(reader, book, id, job.outcome);
  now.output.job = id;
  now.output.store = store;
  now.output.attempt = job.attempt;
  now.output.stdio = rendered.stdio;
  if (rendered.launch.on == spec::LaunchOn::all) {
    const auto rank = claim::read_rank(reader, id);
    if (rank) now.output.nodes = claim::read_class(reader, rank->job_class).need.nodes;
  }
  now.output.worker = claim::raw(job.worker);
  if (const auto worker = claim::read_worker(reader, job.worker)) {
    now.output.host = worker->info.host;
    now.output.in_store = worker->info.output_dir.empty();
    if (!now.output.in_store) add_directory(now.output.directories, worker->info.output_dir);
  }
  add_directory(now.output.directories, worker::default_output_dir(store));
  return now;
}

Result<std::optional<JobNow>> look_at_job(store::Store& store, workflow::RecipeBook& book,
                                          const std::string& name) {
  std::optional<JobNow> now;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    now.reset();
    TORC_ASSIGN(const auto id, workflow::find_job(book, reader, name));
    if (!id) return {};
    const auto job = claim::read_job(reader, *id);
    if (job) now = look_at_job(reader, book, store.directory(), *id, *job);
    if (!now) return workflow::damaged_job(name);
    // An earlier attempt may lie where any worker had its output.
    return claim::scan_workers(reader, false, [&](const claim::Worker& worker) {
      if (!worker.info.output_dir.empty())
        add_directory(now->output.directories, worker.info.output_dir);
      return true;
    });
  }));
  return now;
}

Path root_of_output(const Path& store, const Path& directory) {
  return store.empty() ? directory : worker::output_root(store, directory, 0).path;
}

void choose_rank(AttemptOutput& output, std::uint32_t rank) {
  if (rank == output.rank) return;
  output.rank = rank;
  output.worker = 0;
  output.host.clear();
}

std::vector<std::string> nodes_of(const AttemptOutput& output) {
  constexpr std::size_t kMost = 1 << 20;  // of 4,096 names
  for (const Path& directory : output.directories) {
    const Path file =
        worker::attempt_directory(directory, output.job, output.attempt) / worker::kHostsFile;
    const auto part =
        exec::read_part(root_of_output(output.store, directory), file, 0, std::nullopt, 0, kMost);
    if (!part.ok() || !*part) continue;
    std::vector<std::string> nodes;
    for (const std::string_view line : split((*part)->bytes, '\n')) {
      if (!line.empty()) nodes.emplace_back(line);
    }
    // The command may have written over it.
    if (nodes.size() == output.nodes) return nodes;
  }
  return {};
}

std::string say_rank(std::uint32_t rank, const std::vector<std::string>& nodes) {
  if (rank >= nodes.size()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} on {}", rank, printable(nodes[rank]));
}

void choose_attempt(AttemptOutput& output, std::uint32_t attempt) {
  if (attempt == output.attempt) return;
  output.attempt = attempt;
  output.worker = 0;
  output.host.clear();
}

bool is_kept(spec::StdioMode mode, exec::Stream stream) {
  const auto without =
      stream == exec::Stream::out ? spec::StdioMode::no_stdout : spec::StdioMode::no_stderr;
  return mode != spec::StdioMode::none && mode != without;
}

Result<std::optional<OutputReader::Piece>> OutputReader::read_packed(const AttemptOutput& output,
                                                                     const Path& directory,
                                                                     exec::Stream stream,
                                                                     std::uint64_t from,
                                                                     std::size_t most) {
  const Path packed = exec::packed_directory(directory);
  exec::PackedReader& reader =
      packed_.try_emplace(packed, root_of_output(output.store, directory), packed).first->second;
  const exec::AttemptKey key{raw(output.job), output.attempt,
                             static_cast<std::uint16_t>(output.rank)};
  std::optional<std::uint64_t> worker = output.worker;
  if (output.worker == 0) {
    TORC_ASSIGN(worker, reader.worker_of(key));
    if (!worker) return std::optional<Piece>();
  }
  TORC_ASSIGN(exec::PackedReader::Chunk chunk, reader.read(*worker, key, stream, from, most));
  if (!chunk.begun) return std::optional<Piece>();
  return std::optional(Piece{std::move(chunk.bytes), chunk.size, std::move(chunk.file)});
}

// The mode may have been another one when the attempt was made, so a trace of either is followed.
Result<std::optional<OutputReader::Piece>> OutputReader::read(const AttemptOutput& output,
                                                              exec::Stream stream,
                                                              std::uint64_t from,
                                                              std::size_t most) {
  const bool packed = output.stdio.mode == spec::StdioMode::packed;
  const auto mode = packed ? spec::StdioMode::separate : output.stdio.mode;
  for (const Path& directory : output.directories) {
    if (packed) {
      TORC_ASSIGN(std::optional<Piece> found, read_packed(output, directory, stream, from, most));
      if (found) return found;
    }
    const worker::OutputFiles files =
        worker::output_files(directory, output.job, output.attempt, mode, output.rank);
    const Path file = stream == exec::Stream::out ? files.out : files.err;
    if (!file.empty()) {
      TORC_ASSIGN(std::optional<exec::FilePart> part,
                  exec::read_part(root_of_output(output.store, directory), file, 0, std::nullopt,
                                  from, most));
      if (part) return std::optional(Piece{std::move(part->bytes), part->size, file});
    }
    if (!packed) {
      TORC_ASSIGN(std::optional<Piece> found, read_packed(output, directory, stream, from, most));
      if (found && found->size > 0) return found;
    }
  }
  return std::optional<Piece>();
}

}  // namespace torc::report
