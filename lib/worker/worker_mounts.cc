// Starts that a filesystem prevents which does not answer, or is not mounted any more. That says
// nothing of the job and nothing of this node: it is tried again for some minutes.
#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "lib/exec/process/program_path.h"
#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::minutes kMountPatience{10};  // then this node cannot run jobs
// Failures so far apart are not one that lasts: it is tried again within kLastRetry.
constexpr std::chrono::nanoseconds kMostBetween = 4 * kLastRetry;

// What the command needs to be found. A shell finds by itself what it needs.
StartPaths paths_of(const exec::Command& command) {
  StartPaths paths{command.directory, command.stdout_path, command.stderr_path};
  const std::string word = exec::argv_of(command.line).front();
  if (word.find('/') != std::string::npos) {
    paths.push_back(word);
    return paths;
  }
  const char* path = exec::variable(command.env, "PATH");
  if (path == nullptr && command.common_env != nullptr)
    path = exec::variable(*command.common_env, "PATH");
  for (std::string_view rest = path != nullptr ? path : ""; !rest.empty();) {
    const std::size_t colon = rest.find(':');
    paths.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  }
  return paths;
}

}  // namespace

Blame Session::blame(exec::RunId id, const PreparedJob& job) const {
  const auto ended = host_.not_started(id);
  if (!ended) return Blame::job;
  return blame_for(*ended, paths_of(job.command), mounted_,
                   setup_.mountinfo ? setup_.mountinfo() : mounted_);
}

// What keeps a command from being started that is not to count as one, however long that lasts: the
// job would fail for it in the end. Empty: it counts, since others were started meanwhile, so that
// it is the job's own files that nobody can use.
std::string Session::dead_mount(exec::RunId id, JobId job) {
  const auto ended = host_.not_started(id);
  if (!ended) return "";
  const BootTime now = clock_.boot_now();
  auto& of_job = dead_mount_.of_jobs.try_emplace(job, now, now).first->second;
  of_job.add(now, kMountPatience);  // it may have been elsewhere meanwhile
  if (dead_mount_.last_start > of_job.first && now >= of_job.first + kMountPatience) {
    dead_mount_.of_jobs.erase(job);
    return "";
  }
  if (!dead_mount_.here) dead_mount_.here.emplace(now, now);
  dead_mount_.here->add(now, kMostBetween);
  host_.forget(id);
  return fmt::format("the filesystem of {} does not answer ({})", exec::to_string(ended->failed_at),
                     std::strerror(ended->os_errno));
}

void Session::note_start(JobId job) {
  dead_mount_.here.reset();
  dead_mount_.of_jobs.erase(job);
  dead_mount_.last_start = clock_.boot_now();
}

// Others may have mounts that answer: what was claimed here is theirs. What runs may end here.
void Session::leave_dead_mount(const std::string& obstacle) {
  const auto& here = dead_mount_.here;
  if (end_ || !here || here->last < here->first + kMountPatience) return;
  notice(fmt::format("cannot run jobs here, for {} minutes now: {}", kMountPatience.count(),
                     obstacle));
  finish(WorkerEnd::broken);
}

}  // namespace torc::worker
