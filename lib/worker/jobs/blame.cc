#include "lib/worker/jobs/blame.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "lib/base/dead_mount.h"
#include "lib/exec/start/program_path.h"
#include "lib/store/mount/mount.h"

namespace torc::worker {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;

// The path with all symbolic links followed that can be read, also when it leads nowhere: the last
// ones may lead to a mount that is gone.
fs::path follow_links(const fs::path& path) {
  fs::path done = "/";
  fs::path rest = path.relative_path();
  for (int links = 0; !rest.empty() && links < kMostLinks;) {
    const fs::path name = *rest.begin();
    const fs::path left = rest.lexically_relative(name);
    const fs::path at = done / name;
    std::error_code error;
    const fs::path target = fs::read_symlink(at, error);
    if (error) {
      done = at;
      rest = left == "." ? fs::path() : left;
      continue;
    }
    ++links;
    const fs::path whole = ((done / target) / (left == "." ? fs::path() : left)).lexically_normal();
    done = "/";
    rest = whole.relative_path();
  }
  return done / rest;
}

bool has_lost_its_mount(const std::string& path, std::string_view before, std::string_view now) {
  if (path.empty() || path.front() != '/') return false;
  const fs::path real = follow_links(fs::path(path).lexically_normal());
  const auto was = store::mount_of(before, real);
  const auto is = store::mount_of(now, real);
  // Nothing lies on the automounter's own directory: what belongs there is not mounted.
  return was && (!is || is->point != was->point || is->type == "autofs");
}

}  // namespace

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

Blame blame_for(const exec::Ended& ended, const StartPaths& paths, std::string_view mounted_before,
                std::string_view mounted_now) {
  const int error = ended.os_errno;
  if (is_of_dead_mount(error)) return Blame::unknown;
  if ((error == ENOENT || error == ENOTDIR || error == EACCES) &&
      std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
        return has_lost_its_mount(path, mounted_before, mounted_now);
      }))
    return Blame::unknown;
  if (ended.failed_at == exec::StartStep::directory && (error == ENOENT || error == ENOTDIR))
    return Blame::workflow;
  if (error == ENOSPC || error == EDQUOT || error == EROFS) return Blame::node;
  return ended.failed_at == exec::StartStep::execute ? Blame::job : Blame::node;
}

}  // namespace torc::worker
