#include "bin/commands/store/salvage.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/claim/audit/verify.h"
#include "lib/claim/tables/tables.h"
#include "lib/report/job_view.h"
#include "lib/report/lost_records.h"
#include "lib/store/disk/disk.h"
#include "lib/store/maintenance/backup.h"
#include "lib/store/maintenance/salvage.h"
#include "lib/workflow/context/live_workers.h"
#include "lib/workflow/context/sharing.h"

namespace torc::cli {
namespace {

using nlohmann::ordered_json;
using store::OlderEntry;
using store::Salvaged;

// Appended to in pieces, so that a list of a million jobs needs no memory.
class ListFile {
 public:
  static Result<ListFile> make(store::Disk& disk, const Path& file) {
    TORC_ASSIGN(const store::FileHandle handle, disk.create(file));
    return ListFile(store::OpenFile(disk, handle, file));
  }
  Result<void> add(const ordered_json& line) {
    text_ += report::json_line(line) + "\n";
    return text_.size() < kPiece ? Result<void>() : flush();
  }
  Result<void> finish() {
    TORC_TRY(flush());
    TORC_TRY(file_.sync(store::Sync::all));
    return file_.close();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 20;
  explicit ListFile(store::OpenFile file) : file_(std::move(file)) {}
  Result<void> flush() {
    TORC_TRY(file_.write(written_, text_));
    written_ += text_.size();
    text_.clear();
    return {};
  }

  store::OpenFile file_;
  std::string text_;
  std::uint64_t written_ = 0;
};

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// The newest of several records of one job, as far as they tell: claims are numbered.
bool is_newer(const claim::Job& a, const claim::Job& b) {
  const auto rank = [](const claim::Job& job) {
    return std::tuple(job.claim, job.attempt, job.state != claim::JobState::claimed,
                      job.state != claim::JobState::running, job.outcome.ended_at);
  };
  return rank(a) > rank(b);
}

std::map<std::uint64_t, claim::Job> older_jobs(const std::vector<OlderEntry>& older) {
  std::map<std::uint64_t, claim::Job> out;
  for (const OlderEntry& entry : older) {
    const auto id = claim::id_in(claim::Table::job, entry.key);
    const auto job = id ? claim::decode_job(entry.value) : std::nullopt;
    if (!job || *id == 0 || *id > kMaxJobs) continue;
    const auto [at, fresh] = out.emplace(*id, *job);
    if (!fresh && is_newer(*job, at->second)) at->second = *job;
  }
  return out;
}

class Salvage {
 public:
  Salvage(const App& app, const SalvageOptions& options, Path source)
      : app_(app),
        options_(options),
        source_(std::move(source)),
        target_((app.directory / options.target).lexically_normal()) {
    if (!target_.has_filename()) target_ = target_.parent_path();  // "new/"
  }
  Result<Exit> run();

 private:
  void judge();
  Result<void> write_store();
  Result<void> write_lists();
  Result<void> list_jobs(ListFile& file);
  Result<void> list_records(ListFile& file) const;
  void show() const;
  // As JSON all is told here; else the caller tells of an Error.
  [[nodiscard]] Result<Exit> finish(const Result<void>& done) const;
  [[nodiscard]] Error no_store() const;
  [[nodiscard]] ordered_json to_json() const;

  const App& app_;
  const SalvageOptions& options_;
  Path source_;
  Path target_;
  Salvaged salvaged_;
  std::string why_not_;  // it is no store; empty: it is one
  report::LostRecords lost_;
  std::vector<claim::Worker> live_workers_;  // that the damaged store has
  std::uint64_t jobs_ = 0;                   // that have a record
  std::uint64_t older_ = 0;                  // of these, by what an older page says
};

// Whether what is left can be run: whole, and by the same check as `torc verify`.
void Salvage::judge() {
  const store::EntriesReader state = salvaged_.state();
  lost_ = report::describe_lost(state, salvaged_.remains.lost);
  const std::size_t read = salvaged_.remains.entries.size();
  if (!salvaged_.remains.complete()) {
    why_not_ = fmt::format("{} of its {} records can be read", show_count(read),
                           show_count(salvaged_.remains.expected));
    return;
  }
  if (salvaged_.sequence == 0) {
    why_not_ = "it does not say how far its history goes";
    return;
  }
  if (const Result<void> fits = claim::verify_state(state); !fits) why_not_ = fits.error().what;
  auto live_workers = workflow::live_workers(app_, state);
  if (!live_workers.ok() && why_not_.empty()) why_not_ = live_workers.error().what;
  if (live_workers.ok()) live_workers_ = *std::move(live_workers);
}

Result<void> Salvage::write_store() {
  TORC_TRY(store::write_salvaged(app_.world, source_, target_, salvaged_));
  TORC_TRY(store::verify(app_.world, target_, claim::verify_state));
  return {};
}

Result<void> Salvage::list_jobs(ListFile& file) {
  workflow::RecipeBook book;
  const store::EntriesReader state = salvaged_.state();
  const auto add = [&](std::uint64_t id, const claim::Job& job, const char* as_of) {
    ordered_json line = report::job_json(state, book, JobId{id}, job);
    line["as_of"] = as_of;
    ++jobs_;
    return file.add(line);
  };
  Result<void> done = {};
  state.scan_prefix(claim::Key(claim::Table::job), [&](const store::Entry& e) {
    const auto id = claim::id_in(claim::Table::job, e.key);
    const auto job = claim::decode_job(e.value);
    if (id && job && *id != 0 && *id <= kMaxJobs) done = add(*id, *job, "state");
    return done.ok();
  });
  TORC_TRY(done);
  for (const auto& [id, job] : older_jobs(salvaged_.remains.older)) {
    TORC_TRY(add(id, job, "older"));
    ++older_;
  }
  return {};
}

Result<void> Salvage::list_records(ListFile& file) const {
  const auto add = [&](std::string_view key, std::string_view value, const char* as_of) {
    return file.add({{"key", hex(key)}, {"value", hex(value)}, {"as_of", as_of}});
  };
  for (const auto& [key, value] : salvaged_.remains.entries) TORC_TRY(add(key, value, "state"));
  for (const OlderEntry& older : salvaged_.remains.older)
    TORC_TRY(add(older.key, older.value, "older"));
  return {};
}

// Without META, so that no command takes it for a store.
Result<void> Salvage::write_lists() {
  return store::make_aside(app_.world, target_, [&](const Path& aside) -> Result<void> {
    TORC_TRY(app_.world.disk.make_directory(aside));
    TORC_ASSIGN(ListFile jobs, ListFile::make(app_.world.disk, aside / "jobs.jsonl"));
    TORC_TRY(list_jobs(jobs));
    TORC_TRY(jobs.finish());
    TORC_ASSIGN(ListFile records, ListFile::make(app_.world.disk, aside / "records.jsonl"));
    TORC_TRY(list_records(records));
    return records.finish();
  });
}

Error Salvage::no_store() const {
  return {ErrorKind::corrupt,
          fmt::format("{} is not a store and cannot be run: {}", target_.string(), why_not_),
          fmt::format("what can be read of the jobs is in {}; to go on, put {} back from a backup, "
                      "or make it anew with `torc init`",
                      workflow::shown_path(app_, target_ / "jobs.jsonl"),
                      workflow::shown_path(app_, source_))};
}

void Salvage::show() const {
  const store::LmdbRemains& remains = salvaged_.remains;
  const std::string as_of =
      salvaged_.sequence == 0 ? "" : fmt::format(" as of commit {}", salvaged_.sequence);
  say(app_.out, "{}: {} of {} records can be read{}\n", source_.string(),
      show_count(remains.entries.size()), show_count(remains.expected), as_of);
  if (salvaged_.which == Salvaged::Which::before)
    say(app_.out,
        "the newest state is damaged: this is the one before it, without the last commit\n");
  if (salvaged_.which == Salvaged::Which::only) {
    say(app_.out,
        "one of the two heads is damaged: whether this is the newest state or the one before it "
        "is not known, so the last commit may be missing\n");
  }
  if (remains.lost_pages > 0) {
    say(app_.out, "{}{} {} damaged\n", remains.knows_used_pages ? "" : "at least ",
        plural(remains.lost_pages, "page"), remains.lost_pages == 1 ? "is" : "are");
  }
  if (remains.older_cut) say(app_.out, "of what older pages say only the first 64 MiB were read\n");
  if (!lost_.kinds.empty()) say(app_.out, "may be missing: {}\n", lost_.show_kinds());
  for (const std::string& line : lost_.show_jobs()) say(app_.out, "{}\n", line);
}

ordered_json Salvage::to_json() const {
  const store::LmdbRemains& remains = salvaged_.remains;
  constexpr const char* kWhich[] = {"newest", "before", "only"};
  const bool store = why_not_.empty();
  ordered_json unknown = ordered_json::array();
  for (const report::LostRecords::Jobs& jobs : lost_.jobs)
    unknown.push_back({{"first_job_id", jobs.first}, {"last_job_id", jobs.last}});
  return {{"store", source_.string()},
          {"directory", target_.string()},
          {"salvaged_as", store ? "store" : "lists"},
          {"reason", json_or_null(why_not_)},
          {"salvaged_state", kWhich[static_cast<std::size_t>(salvaged_.which)]},
          {"last_commit", json_or_null(salvaged_.sequence)},
          {"records", remains.entries.size()},
          {"expected_records", remains.expected},
          {"lost_pages", remains.lost_pages},
          {"all_lost_pages_known", remains.knows_used_pages},
          {"all_older_pages_read", !remains.older_cut},
          {"may_be_missing", lost_.kinds},
          {"unknown_job_ids", std::move(unknown)},
          {"registered_workers", live_workers_.size()},
          {"listed_jobs", json_if(!store, jobs_)},
          {"older_jobs", json_if(!store, older_)}};
}

Result<Exit> Salvage::finish(const Result<void>& done) const {
  if (options_.json) {
    ordered_json out = to_json();
    out["error"] = done ? ordered_json(nullptr) : ordered_json(done.error().text());
    say(app_.out, "{}\n", report::json_text(out));
    return done ? Exit::ok : Exit::store;
  }
  TORC_TRY(done);
  return Exit::ok;
}

Result<Exit> Salvage::run() {
  TORC_ASSIGN(salvaged_, store::salvage(app_.world, source_));
  judge();
  if (!options_.json) show();
  const workflow::OwnUmask outside(app_);
  const bool is_store = why_not_.empty();
  if (is_store && !live_workers_.empty() && !options_.force) {
    return finish(Error{ErrorKind::busy,
                        fmt::format("{} in {}: what they run would run again in the new store",
                                    workflow::show_workers(live_workers_), source_.string()),
                        "end them first (scancel, Ctrl-C); when they are surely gone, --force"});
  }
  if (const Result<void> written = is_store ? write_store() : write_lists(); !written)
    return finish(written);
  if (is_store) {
    if (!options_.json) {
      say(app_.out, "\n{}: a store of its own, verified; the next commit is {}\n", target_.string(),
          salvaged_.sequence + 1);
      if (!live_workers_.empty()) {
        say(app_.out, "{}: their jobs run again in the new store\n",
            workflow::show_workers(live_workers_));
      }
      say(app_.out,
          "not copied: the output of jobs (logs/); its batch scripts still name the damaged "
          "store\n");
    }
    return finish({});
  }
  if (!options_.json) {
    say(app_.out,
        "\n{}: {} in jobs.jsonl, {} of them as an older page has them, which may have been "
        "overtaken; jobs that are not in it have not run, or nothing is known of them\n",
        target_.string(), plural(jobs_, "job"), show_count(older_));
  }
  return finish(no_store());
}

}  // namespace

Result<Exit> run_salvage(const App& app, const Path& store, const SalvageOptions& options) {
  return Salvage(app, options, store).run();
}

}  // namespace torc::cli
