// torc export: what became of a workflow, in a form that other programs know.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/file/descriptor.h"
#include "lib/base/file/new_directory.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/sha256.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/signature.h"
#include "lib/claim/tables/state.h"
#include "lib/report/job_view.h"
#include "lib/report/ro_crate.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::cli {
namespace {

struct ExportOptions {
  std::string store;
  std::string directory;
  std::string license;
  bool no_hashes = false;
};

constexpr std::uint64_t kStep = 1U << 20U;  // bytes that are read at a time

// What is written piece by piece to a new file.
class NewFile {
 public:
  static Result<NewFile> make(const NewDirectory& directory, const std::string& name) {
    TORC_ASSIGN(Descriptor file, directory.create(name));
    return NewFile(directory.path() / name, std::move(file));
  }
  void add(std::string_view bytes) {
    if (!result_.ok()) return;
    result_ = write_at(file_, bytes, size_, path_);
    size_ += bytes.size();
  }
  [[nodiscard]] Result<void> result() const { return result_; }

 private:
  NewFile(Path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  Path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  Result<void> result_;
};

class CrateExporter {
 public:
  CrateExporter(const App& app, store::Store& store, const ExportOptions& options,
                NewDirectory directory)
      : app_(app), store_(store), options_(options), directory_(std::move(directory)) {}

  Result<Exit> run() {
    TORC_ASSIGN(workflow::WorkflowSettings settings, workflow::read_settings(store_));
    const Path files = workflow::likely_working_directory(settings.directory, store_.directory());
    TORC_ASSIGN(NewFile metadata, NewFile::make(directory_, "ro-crate-metadata.json"));
    TORC_ASSIGN(report::CrateHead head, copy_spec(settings));
    report::RoCrate crate(std::move(head), [&](std::string_view bytes) { metadata.add(bytes); });
    Some some;
    auto freshness = store::Freshness::latest;
    for (std::uint64_t from = 1; from != 0; from = some.next) {
      TORC_TRY(store_.view(freshness, [&](const claim::Reader& reader) {
        some = {};
        return take(reader, from, some);
      }));
      freshness = store::Freshness::cached;
      for (Ended& one : some.ended) {
        look(files, one.inputs, one.then.inputs, one.run.inputs);
        look(files, one.outputs, one.then.outputs, one.run.outputs);
        crate.add(one.run);
      }
    }
    crate.finish();
    TORC_TRY(metadata.result());
    say(app_.out, "{} of jobs and {} in {}\n", plural(crate.runs(), "run"),
        plural(crate.files(), "file"), workflow::shown_path(app_, directory_.path()));
    if (crate.absent() > 0) {
      say(app_.out, "{} not there, and only named in it:\n",
          crate.absent() == 1 ? "1 more file is"
                              : fmt::format("{} more files are", show_count(crate.absent())));
      for (const std::string& path : crate.first_absent()) say(app_.out, "  {}\n", printable(path));
      if (crate.absent() > crate.first_absent().size())
        say(app_.out, "  and {} more\n", show_count(crate.absent() - crate.first_absent().size()));
    }
    return Exit::ok;
  }

 private:
  // Files may take hours, and who reads the store keeps it from using anything again that is
  // written meanwhile: what is told of them is taken out of it before, some of them at a time.
  static constexpr std::size_t kAtOnce = 256;
  struct Ended {
    report::CrateRun run;  // without files
    std::vector<std::string> inputs, outputs;
    claim::Signature then;
  };
  struct Some {
    std::vector<Ended> ended;
    std::uint64_t next = 0;  // the first job that was not looked at; 0: there is none
  };

  // Whose newest attempt was started and has ended; by a clock that may have been set meanwhile.
  static bool is_run(const claim::Job& job) {
    return job.attempt > 0 && !claim::is_live(job.state) && job.outcome.started_at.count() != 0 &&
           job.outcome.ended_at.count() != 0;
  }

  // What was started has a record.
  Result<void> take(const claim::Reader& reader, std::uint64_t from, Some& some) {
    claim::State state(reader);
    auto id = state.next_record(from);
    for (; id && some.ended.size() < kAtOnce; id = state.next_record(*id + 1)) {
      const auto job = state.record(*id);
      if (!job) break;
      if (!is_run(*job)) continue;
      TORC_ASSIGN(Ended one, ended(reader, JobId{*id}, *job));
      some.ended.push_back(std::move(one));
    }
    some.next = id.value_or(0);
    return state.sound();
  }

  Result<report::CrateHead> copy_spec(const workflow::WorkflowSettings& settings) {
    report::CrateHead head;
    head.workflow = settings.run.name;
    head.license = options_.license;
    head.made_at = app_.clock.wall_now();
    const Path copy = workflow::spec_copy_in(app_, store_.directory());
    const auto text = workflow::read_spec_copy(app_, copy);
    if (!text && text.error().kind == ErrorKind::not_found) return head;
    if (!text) return text.error();
    head.spec_file = copy.filename().string();
    head.spec_bytes = text->size();
    Sha256 sum;
    sum.add(*text);
    head.spec_sha256 = sum.digest();
    TORC_ASSIGN(NewFile file, NewFile::make(directory_, head.spec_file));
    file.add(*text);
    TORC_TRY(file.result());
    return head;
  }

  Result<Ended> ended(const claim::Reader& reader, JobId id, const claim::Job& job) {
    const auto page = book_.find(reader, id);
    if (!page) return workflow::damaged_job(fmt::format("#{}", raw(id)));
    spec::RenderedJob texts = page->recipe.render(raw(id) - raw(page->job_template.first));
    Ended one;
    report::CrateRun& run = one.run;
    run.job = raw(id);
    run.attempt = job.attempt;
    run.name = texts.name;
    run.command = texts.command_by(job.alternative);
    run.entry = page->recipe.entry_name();
    run.completed = job.state == claim::JobState::completed;
    if (!run.completed) run.error = error_of(job);
    run.started_at = job.outcome.started_at;
    run.ended_at = std::max(job.outcome.started_at, job.outcome.ended_at);
    if (const auto worker = claim::read_worker(reader, job.worker)) {
      run.host = worker->info.host;
      const std::string uid = worker->info.user.substr(0, worker->info.user.find(' '));
      if (!uid.empty()) run.user = fmt::format("user {}", uid);
    }
    TORC_ASSIGN(const auto then, claim::read_signature(reader, id));
    one.then = then.value_or(claim::Signature{});
    one.inputs = std::move(texts.input_files);
    one.outputs = std::move(texts.output_files);
    return one;
  }

  static std::string error_of(const claim::Job& job) {
    const claim::Outcome& o = job.outcome;
    std::string text(claim::to_string(job.state));
    text += fmt::format(": {}", claim::to_string(o.cause));
    if (o.exit_code >= 0) text += fmt::format(", exit code {}", o.exit_code);
    if (o.signal != 0) text += fmt::format(", signal {}", o.signal);
    return text;
  }

  // `then`: as they were; not of all, where they were many.
  void look(const Path& directory, const std::vector<std::string>& paths,
            const std::vector<claim::FileFingerprint>& then, std::vector<report::CrateFile>& out) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      report::CrateFile& file = out.emplace_back();
      file.path = (directory / paths[i]).lexically_normal().string();
      const auto seen = workflow::fingerprints_of(directory, {paths[i]}, workflow::Sums::no);
      file.is_known = seen.ok();
      if (!seen) continue;
      const claim::FileFingerprint& now = seen->front();
      file.exists = now.exists;
      file.bytes = now.size;
      file.changed_at = std::chrono::duration_cast<WallTime>(std::chrono::nanoseconds(now.mtime));
      file.is_other = then.size() == paths.size() && !claim::looks_alike(now, then[i]);
      if (!file.exists || options_.no_hashes) continue;
      const auto [at, fresh] = sums_.try_emplace(file.path);
      if (fresh) {
        at->second = sum_of(file.path);
        const auto after = workflow::fingerprints_of(directory, {paths[i]}, workflow::Sums::no);
        if (!after || !(after->front() == now)) at->second.clear();  // it is being written
      }
      file.sha256 = at->second;
      file.is_read = !file.sha256.empty();
    }
  }

  // Empty: not all of it can be read.
  std::string sum_of(const std::string& path) {
    const auto file = app_.world.disk.open_read(path);
    if (!file) return {};
    Sha256 sum;
    std::uint64_t at = 0;
    while (true) {
      const auto bytes = app_.world.disk.read(*file, at, kStep);
      if (!bytes || bytes->empty()) {
        (void)app_.world.disk.close(*file);
        return bytes ? sum.digest() : "";
      }
      sum.add(*bytes);
      at += bytes->size();
    }
  }

  const App& app_;
  store::Store& store_;
  const ExportOptions& options_;
  NewDirectory directory_;
  workflow::RecipeBook book_;
  std::map<std::string, std::string> sums_;  // of files that several jobs use
};

Result<Exit> run(const App& app, const ExportOptions& options) {
  TORC_ASSIGN(const Path where, locate_store(app, options.store));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where, store::Tuning{}));
  const workflow::OwnUmask outside(app);  // what the store needs is there since it was opened
  const Path directory = (app.directory / options.directory).lexically_normal();
  TORC_ASSIGN(NewDirectory made, NewDirectory::make(directory));
  return CrateExporter(app, *store, options, std::move(made)).run();
}

}  // namespace

void add_export(Command& c) {
  auto& o = c.options<ExportOptions>();
  c.about("Write what the jobs did as an RO-Crate: commands, times, files and their hashes");
  c.argument("STORE", o.store, "store");
  c.option("--ro-crate", o.directory, "a new or empty directory for the crate")
      .value("DIR")
      .required();
  c.option("--license", o.license, "license of the crate: its URL, or a text").value("LICENSE");
  c.flag("--no-hashes", o.no_hashes,
         "leave out the SHA-256 of files, so that none of them is read");
  c.footer(
      "\nThe crate follows the profile Process Run Crate 0.5: ro-crate-metadata.json and a copy of "
      "the\nworkflow file. Files of jobs stay where they are: the crate has their paths, as they "
      "are now.\nOf each job it has the newest attempt that ended.");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
