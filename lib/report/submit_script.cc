#include "lib/report/submit_script.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/file/beneath.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/slurm/shown.h"
#include "lib/workflow/plan/batch_scripts.h"
#include "lib/workflow/plan/moved_scripts.h"

namespace torc::report {
namespace {

constexpr std::size_t kMostScripts = 64;

// The last directive that says it, as sbatch takes it.
std::string job_name_in(std::string_view script) {
  constexpr std::string_view kDirective = "#SBATCH --job-name=";
  std::string name;
  for (const std::string_view line : split(script, '\n')) {
    if (line.starts_with(kDirective)) name = trimmed(line.substr(kDirective.size()), " \t\r'\"");
  }
  return slurm::is_plain(name) ? name : std::string();
}

// The beginning of one; nullopt: it is no file that can be read.
std::optional<std::string> head_of(const beneath::Root& store, const Path& name) {
  const auto file = beneath::open_file(store, name, O_RDONLY | O_CLOEXEC);
  if (!file.ok()) return std::nullopt;
  std::array<char, 16384> bytes{};
  const ssize_t got = ::pread(file->get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return std::nullopt;
  return std::string(bytes.data(), static_cast<std::size_t>(got));
}

// When it was last written, in nanoseconds since 1970; 0: it is not there.
std::int64_t written_at(const beneath::Root& store, const Path& name) {
  const auto file = beneath::open_file(store, name, O_RDONLY | O_CLOEXEC);
  struct stat s {};
  if (!file.ok() || ::fstat(file->get(), &s) != 0) return 0;
  return s.st_mtim.tv_sec * std::int64_t{1'000'000'000} + s.st_mtim.tv_nsec;
}

bool is_refused(const beneath::Root& store, const Path& script) {
  const std::int64_t said = written_at(store, mark_of_refusal(script));
  return said > 0 && said >= written_at(store, script);
}

}  // namespace

Path mark_of_refusal(const Path& script) {
  return Path(script).replace_extension(".refused");
}

std::vector<SubmitScript> find_scripts(const Path& store) {
  std::vector<SubmitScript> scripts;
  const beneath::Root root(store);
  auto names = beneath::list(root, kScriptsFolder);
  if (!names.ok()) return scripts;
  std::ranges::sort(*names);
  for (const std::string& name : *names) {
    if (scripts.size() == kMostScripts) break;
    const Path file(name);
    if (file.extension() != ".sbatch") continue;
    if (const auto head = head_of(root, kScriptsFolder / file))
      scripts.push_back({file.stem(), store / kScriptsFolder / file, job_name_in(*head),
                         slurm::asked_by_script(*head), is_refused(root, kScriptsFolder / file),
                         workflow::other_store_of(*head, store)});
  }
  return scripts;
}

std::string lack_of(const SubmitScript& script, const claim::JobClass& job_class,
                    const KeptFree& kept) {
  if (!job_class.others.empty()) {
    std::string first;
    for (std::uint32_t a = 0; a < job_class.alternatives(); ++a) {
      std::string one = lack_of(script, job_class.by(a), kept);
      if (one.empty()) return {};
      if (a == 0) first = std::move(one);
    }
    return first;
  }
  const claim::Requirement& need = job_class.need;
  const slurm::Asked& asked = script.asked;
  if (!job_class.scheduler.empty() &&
      workflow::file_name_of(job_class.scheduler) != script.scheduler)
    return fmt::format("it is not for scheduler '{}'", printable(job_class.scheduler));
  if (asked.walltime && least_time(need) > longest_runtime(*asked.walltime, kept))
    return fmt::format("walltime {}, and {} are needed", show_exactly(*asked.walltime),
                       show_exactly(shortest_walltime(least_time(need), kept)));
  if (asked.memory && need.memory > *asked.memory)
    return fmt::format("mem {}, and {} are needed", show_bytes(*asked.memory),
                       show_bytes(need.memory));
  if (asked.cpus && !asked.cpus_by_default && need.cpus > *asked.cpus)
    return fmt::format("{} CPU{}, and {} are needed", *asked.cpus, *asked.cpus == 1 ? "" : "s",
                       need.cpus);
  return {};
}

int doubts_of(const SubmitScript& script, const claim::JobClass& job_class) {
  std::uint32_t cpus = job_class.need.cpus;
  for (const claim::Alternative& one : job_class.others) cpus = std::min(cpus, one.need.cpus);
  const bool few = script.asked.cpus && cpus > *script.asked.cpus;
  return (script.refused ? 2 : 0) + (few ? 1 : 0);
}

}  // namespace torc::report
