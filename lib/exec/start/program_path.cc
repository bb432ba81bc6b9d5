#include "lib/exec/start/program_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/dead_mount.h"

namespace torc::exec {
namespace {

constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

std::string key_of(const std::string& word, std::string_view path) {
  std::string key;
  key.reserve(path.size() + 1 + word.size());
  key.append(path).push_back('\0');
  return key.append(word);
}

// 0 when `file` can be executed.
int obstacle(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return faccessat(AT_FDCWD, file.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

const char* variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.c_str() + name.size() + 1;
    }
  }
  return nullptr;
}

ProgramPaths::Found ProgramPaths::find(const std::string& word, const char* path,
                                       const std::string& directory) {
  if (word.empty()) return {{}, ENOENT, false};
  if (word.find('/') != std::string::npos) return {word, 0, false};
  std::string_view rest = path != nullptr ? path : kDefaultPath;
  const std::string key = key_of(word, rest);
  if (const auto known = known_.find(key); known != known_.end()) return {known->second, 0, true};

  int why = ENOENT;
  for (bool more = true; more;) {
    const auto colon = rest.find(':');
    std::string candidate(rest.substr(0, colon));
    more = colon != std::string_view::npos;
    if (more) rest.remove_prefix(colon + 1);
    const bool absolute = candidate.starts_with('/');
    if (!absolute && !candidate.empty()) candidate.insert(0, "/");
    if (!absolute) candidate.insert(0, directory);
    candidate.append("/").append(word);
    const int failure = obstacle(candidate);
    if (failure == 0) {
      if (absolute) known_.emplace(key, candidate);
      return {std::move(candidate), 0, false};
    }
    // It may well be there: nobody knows.
    if (is_of_dead_mount(failure)) why = failure;
    if (failure == EACCES && !is_of_dead_mount(why)) why = EACCES;
  }
  return {{}, why, false};
}

void ProgramPaths::forget(const std::string& word, const char* path) {
  known_.erase(key_of(word, path != nullptr ? path : kDefaultPath));
}

}  // namespace torc::exec
