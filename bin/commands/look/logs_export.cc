// torc logs export: the output of all jobs as files that bear their names.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/look/job_logs.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/file/descriptor.h"
#include "lib/base/file/new_directory.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/workflow/context/sharing.h"

namespace torc::cli {
namespace {

struct LogsExportOptions {
  std::vector<std::string> words;  // DIR, or STORE DIR
  bool all_attempts = false;
};

constexpr std::size_t kLongestName = 200;  // of the 255 bytes that file systems give

// Of any name a file name, and of two different ones two different ones.
std::string file_name(const report::JobNow& now) {
  std::string out;
  for (const char c : now.name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '%' || byte < 0x20 || byte == 0x7F || (c == '.' && out.empty())) {
      out += fmt::format("%{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out.size() <= kLongestName ? out : fmt::format("%job{}", raw(now.output.job));
}

class Exporter {
 public:
  Exporter(NewDirectory directory, bool all_attempts)
      : directory_(std::move(directory)), all_attempts_(all_attempts) {}

  Result<void> write(report::JobNow now) {
    const std::string name = file_name(now);
    const std::uint32_t newest = now.output.attempt;
    const std::uint64_t before = files_;
    for (std::uint32_t n = all_attempts_ ? 1 : newest; n <= newest; ++n) {
      report::choose_attempt(now.output, n);
      const std::string stem = all_attempts_ ? fmt::format("{}.{}", name, n) : name;
      for (const exec::Stream stream : exec::kStreams) {
        const bool twice =
            stream == exec::Stream::err && now.output.stdio.mode == spec::StdioMode::combined;
        if (twice || !report::is_kept(now.output.stdio.mode, stream)) continue;
        for (const report::AttemptOutput& output : outputs_of(now.output, std::nullopt)) {
          const std::string node = output.rank == 0 ? "" : fmt::format("%node{}", output.rank);
          TORC_TRY(write_stream(output, stream, stem + node));
        }
      }
    }
    if (files_ > before) ++jobs_;
    return {};
  }
  [[nodiscard]] std::uint64_t files() const { return files_; }
  [[nodiscard]] std::uint64_t jobs() const { return jobs_; }  // that wrote any

 private:
  Result<void> write_stream(const report::AttemptOutput& output, exec::Stream stream,
                            const std::string& stem) {
    TORC_ASSIGN(auto piece, reader_.read(output, stream, 0, kOutputStep));
    if (!piece || piece->bytes.empty()) return {};
    const std::string name = fmt::format("{}.{}", stem, exec::to_string(stream));
    TORC_ASSIGN(const Descriptor file, directory_.create(name));
    for (std::uint64_t from = 0; piece && !piece->bytes.empty();) {
      TORC_TRY(write_at(file, piece->bytes, from, directory_.path() / name));
      from += piece->bytes.size();
      TORC_ASSIGN(piece, reader_.read(output, stream, from, kOutputStep));
    }
    ++files_;
    return {};
  }

  NewDirectory directory_;
  bool all_attempts_;
  report::OutputReader reader_;
  std::uint64_t files_ = 0;
  std::uint64_t jobs_ = 0;
};

Result<std::vector<report::JobNow>> jobs_that_ran(const claim::Reader& reader, const Path& store) {
  std::vector<report::JobNow> jobs;
  workflow::RecipeBook book;
  Result<void> sound;
  TORC_TRY(claim::scan_jobs(reader, std::nullopt, [&](JobId id, const claim::Job& job) {
    if (job.attempt == 0) return true;
    auto now = report::look_at_job(reader, book, store, id, job);
    if (!now) sound = workflow::damaged_job(fmt::format("#{}", raw(id)));
    if (now) jobs.push_back(*std::move(now));
    return sound.ok();
  }));
  TORC_TRY(sound);
  return jobs;
}

Result<Exit> run(const App& app, const LogsExportOptions& options) {
  TORC_ASSIGN(auto where, locate_store_and_name(app, options.words));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  const workflow::OwnUmask outside(app);  // what the store needs is there since it was opened
  const Path directory = (app.directory / where.name).lexically_normal();
  TORC_ASSIGN(NewDirectory made, NewDirectory::make(directory));
  std::vector<report::JobNow> jobs;
  TORC_TRY(store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(jobs, jobs_that_ran(reader, store->directory()));
    return {};
  }));
  Exporter exporter(std::move(made), options.all_attempts);
  for (report::JobNow& now : jobs) TORC_TRY(exporter.write(std::move(now)));
  const std::uint64_t silent = jobs.size() - exporter.jobs();
  say(app.out, "{} in {}: what {} wrote{}\n", plural(exporter.files(), "file"),
      workflow::shown_path(app, directory), plural(exporter.jobs(), "job"),
      silent == 0 ? "" : fmt::format("; {} wrote nothing", show_count(silent)));
  return Exit::ok;
}

}  // namespace

void add_logs_export(Command& c) {
  auto& o = c.options<LogsExportOptions>();
  c.about("Write the output of all jobs to files NAME.out, NAME.err");
  c.argument("DIR", o.words, "[STORE] DIR: a new or empty directory")
      .required()
      .words(1, 2)
      .value("[STORE] DIR");
  c.flag("--all-attempts", o.all_attempts, "superseded attempts too, as NAME.ATTEMPT.out");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
