#include "lib/clean/clean_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/exec/output/packed_format.h"

namespace torc::clean {
namespace {

constexpr const char* kLogs = "logs";
constexpr const char* kJobs = "logs/jobs";

// A directory that was opened once: what is listed in it and what is removed from it is in the
// same one.
struct Opened {
  Descriptor directory;
  std::vector<std::string> names;
};

class Cleaner {
 public:
  Cleaner(const workflow::Context& context, store::Store& store, const Wishes& wishes, Act act)
      : context_(context), store_(store), wishes_(wishes), act_(act), root_(store.directory()) {}

  Result<Cleaned> run() {
    TORC_TRY(clean_attempts());
    TORC_TRY(clean_packed());
    TORC_TRY(clean_logs());
    return std::move(cleaned_);
  }

 private:
  using Look = std::function<Result<void>(const claim::Reader&)>;
  Result<void> look(const Look& look) { return store_.view(store::Freshness::latest, look); }

  // nullopt: it is not there, or cannot be listed, which is told.
  std::optional<Opened> open(const Path& name);
  [[nodiscard]] Place place(const Opened& opened, const Path& name) const {
    return {opened.directory.get(), root_.path() / name, context_.world.uid, act_};
  }
  void take(Freed& sum, Result<Freed> freed) {
    if (freed) sum += *freed;
    if (!freed) cleaned_.left.push_back(freed.error());
  }

  Result<void> clean_attempts();
  Result<void> clean_folder(const std::string& folder);
  Result<void> clean_packed();
  Result<bool> are_all_over(const claim::Reader& reader, std::uint64_t worker,
                            const std::vector<JobId>& jobs);
  // Of which attempts the index of a worker tells; nullopt: it cannot be read to its end.
  std::optional<std::vector<JobId>> jobs_in(const Path& index);
  Result<void> clean_logs();

  const workflow::Context& context_;
  store::Store& store_;
  Wishes wishes_;
  Act act_;
  beneath::Root root_;
  Cleaned cleaned_;
};

std::optional<Opened> Cleaner::open(const Path& name) {
  const Path shown = root_.path() / name;
  const auto opened = [&]() -> Result<Opened> {
    TORC_ASSIGN(const Descriptor at, root_.open());
    Opened made;
    made.directory = Descriptor(beneath::open_at(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    if (!made.directory) return beneath::open_error(errno, "list", shown);
    Descriptor listed(beneath::open_at(made.directory.get(), ".", O_RDONLY | O_DIRECTORY));
    if (!listed) return beneath::open_error(errno, "list", shown);
    TORC_ASSIGN(made.names, beneath::list(std::move(listed), shown));
    return made;
  };
  Result<Opened> result = opened();
  if (result) return *std::move(result);
  if (result.error().os_errno != ENOENT) cleaned_.left.push_back(result.error());
  return std::nullopt;
}

Result<void> Cleaner::clean_attempts() {
  const auto folders = open(kJobs);
  if (!folders) return {};
  for (const std::string& folder : folders->names) {
    constexpr std::string_view kDigits = "0123456789";
    if (folder.find_first_not_of(kDigits) == std::string::npos) TORC_TRY(clean_folder(folder));
  }
  return {};
}

// The names first and the state then: an attempt that is in the one is in the other. The folder
// itself stays: a worker that has made it does not look for it again.
Result<void> Cleaner::clean_folder(const std::string& folder) {
  const Path name = Path(kJobs) / folder;
  const auto opened = open(name);
  if (!opened) return {};
  std::vector<std::pair<const std::string*, Part>> found;
  TORC_TRY(look([&](const claim::Reader& reader) -> Result<void> {
    found.clear();
    for (const std::string& file : opened->names) {
      const auto attempt = attempt_name(folder, file);
      if (!attempt) continue;
      const auto job = claim::read_job(reader, attempt->job);
      if (job && may_go(*job, *attempt, wishes_)) found.emplace_back(&file, attempt->part);
    }
    return {};
  }));
  const Place at = place(*opened, name);
  for (const auto& [file, part] : found) {
    if (part == Part::output) {
      take(cleaned_.output, take_file(at, *file));
      continue;
    }
    Result<Freed> freed = take_tree(at, *file);
    if (freed) ++cleaned_.directory_count;
    take(cleaned_.directories, std::move(freed));
  }
  return {};
}

std::optional<std::vector<JobId>> Cleaner::jobs_in(const Path& index) {
  constexpr std::size_t kStep = exec::kPackedRecordBytes * 4096;
  const auto file = beneath::open_file(root_, index, O_RDONLY);
  if (!file) {
    cleaned_.left.push_back(file.error());
    return std::nullopt;
  }
  std::vector<JobId> jobs;
  std::string bytes(kStep, '\0');
  for (std::uint64_t at = 0;;) {
    const ssize_t count = ::pread(file->get(), bytes.data(), kStep, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return jobs;
    const auto size = static_cast<std::size_t>(count);
    if (count < 0 || size % exec::kPackedRecordBytes != 0) return std::nullopt;
    for (std::size_t i = 0; i < size; i += exec::kPackedRecordBytes) {
      const auto record =
          exec::decode_packed(std::string_view(bytes).substr(i, exec::kPackedRecordBytes));
      if (!record) return std::nullopt;
      if (record->kind == exec::PackedRecord::Kind::begin) jobs.push_back(JobId{record->key.job});
    }
    at += size;
  }
}

Result<bool> Cleaner::are_all_over(const claim::Reader& reader, std::uint64_t worker,
                                   const std::vector<JobId>& jobs) {
  TORC_ASSIGN(const auto known, claim::find_worker(reader, claim::WorkerEpoch{worker}));
  if (!known || !is_gone(*known, wishes_)) return false;
  for (const JobId id : jobs) {
    const auto job = claim::read_job(reader, id);
    if (!job || !may_go_packed(*job, wishes_)) return false;
  }
  return true;
}

// All files of a worker, or none: its jobs have them together.
Result<void> Cleaner::clean_packed() {
  if (!wishes_.completed) return {};
  const Path name = exec::packed_directory(kJobs);
  const auto opened = open(name);
  if (!opened) return {};
  std::map<std::uint64_t, std::vector<std::string>> files;
  std::map<std::uint64_t, std::vector<JobId>> jobs;
  std::vector<std::uint64_t> indexed;
  for (const std::string& file : opened->names) {
    const auto of = packed_name(file);
    if (!of) continue;
    files[of->worker].push_back(file);
    if (of->job) jobs[of->worker].push_back(*of->job);
    if (of->is_index) indexed.push_back(of->worker);
  }
  const Place at = place(*opened, name);
  for (const std::uint64_t worker : indexed) {
    const auto told = jobs_in(exec::PackedNames{name, worker}.index());
    if (!told || told->empty()) continue;
    std::vector<JobId>& all = jobs[worker];
    all.insert(all.end(), told->begin(), told->end());
    bool goes = false;
    TORC_TRY(look([&](const claim::Reader& reader) -> Result<void> {
      TORC_ASSIGN(goes, are_all_over(reader, worker, all));
      return {};
    }));
    if (!goes) continue;
    for (const std::string& file : files[worker]) take(cleaned_.packed, take_file(at, file));
  }
  return {};
}

Result<void> Cleaner::clean_logs() {
  const auto opened = open(kLogs);
  if (!opened) return {};
  std::map<std::string, std::vector<claim::Worker>> workers;  // by allocation
  TORC_TRY(look([&](const claim::Reader& reader) -> Result<void> {
    workers.clear();
    return claim::scan_workers(reader, false, [&](const claim::Worker& worker) {
      if (!worker.info.allocation.empty()) workers[worker.info.allocation].push_back(worker);
      return true;
    });
  }));
  const Place at = place(*opened, kLogs);
  for (const std::string& file : opened->names) {
    const auto log = log_name(file);
    const auto of = log ? workers.find(log->allocation) : workers.end();
    if (of != workers.end() && may_go(of->second, *log, context_.clock.wall_now(), wishes_))
      take(cleaned_.logs, take_file(at, file));
  }
  return {};
}

}  // namespace

Freed Cleaned::total() const {
  Freed sum;
  for (const Freed& part : {output, packed, directories, logs, stores}) sum += part;
  return sum;
}

Result<Cleaned> clean_store(const workflow::Context& context, store::Store& store,
                            const Wishes& wishes, Act act) {
  return Cleaner(context, store, wishes, act).run();
}

}  // namespace torc::clean
