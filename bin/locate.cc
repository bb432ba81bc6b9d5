#include "bin/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "bin/trust.h"
#include "bin/waiting_disk.h"
#include "lib/base/text/quote.h"
#include "lib/store/mount/mount.h"
#include "lib/workflow/context/sharing.h"

namespace torc::cli {
namespace fs = std::filesystem;

namespace {

bool is_store_name(const Path& path) {
  return path.extension() == ".torc";
}

// A word that is no path is seldom meant for a store.
Result<Path> locate_named(const App& app, const std::string& named) {
  Path path = (app.directory / named).lexically_normal();
  if (named.find('/') != named.npos || is_store_name(path)) return path;
  std::optional<WaitingDisk::Asking> asking;
  if (WaitingDisk* disk = waiting_disk(app)) asking.emplace(*disk, app.directory);
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::not_found) return path;
  if (store::missing_mount(app.world.disk.mount_tables(), path))
    return path;  // who opens it says so
  const std::string job = shell_word(named);
  return Error{
      ErrorKind::not_found, "there is no store " + path.string(),
      fmt::format("the first word is taken for a store; a job is named behind it: torc job "
                  "STORE {0}, torc logs STORE {0}; or make a store with `torc init`",
                  job)};
}

Result<Path> locate(const App& app, const std::string& named) {
  if (!named.empty()) return locate_named(app, named);
  if (auto from_env = app.env("TORC_STORE"); from_env && !from_env->empty()) {
    return (app.directory / *from_env).lexically_normal();
  }
  std::optional<WaitingDisk::Asking> asking;
  if (WaitingDisk* disk = waiting_disk(app)) asking.emplace(*disk, app.directory);
  std::vector<Path> found;
  std::error_code error;
  for (fs::directory_iterator it(app.directory, error), end; !error && it != end;
       it.increment(error)) {
    if (!is_store_name(it->path())) continue;
    std::error_code unseen;  // one that cannot be looked at may be the one that is meant
    if (it->is_directory(unseen) || unseen) found.push_back(it->path());
  }
  if (error)
    return os_error(error.value(), "cannot list " + app.directory.string(), "name a store");
  if (found.size() == 1) {
    TORC_TRY(check_found_store(app, found.front()));
    return found.front();
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) {
    return Error{ErrorKind::invalid,
                 fmt::format("no store given, and no *.torc in {}", app.directory.string()),
                 "name one, set TORC_STORE, or make one with `torc init workflow.yaml`"};
  }
  std::string names;
  for (const Path& path : found) names += (names.empty() ? "" : ", ") + path.filename().string();
  return Error{ErrorKind::invalid, fmt::format("several stores here: {}", names),
               "name the one you mean, or set TORC_STORE"};
}

}  // namespace

Result<Path> locate_store(const App& app, const std::string& named) {
  // A worker says itself what it waits for, and a process that forks must not have threads.
  WaitingDisk* disk = waiting_disk(app);
  if (disk != nullptr && app.watched == nullptr) disk->watch();
  TORC_ASSIGN(const Path path, locate(app, named));
  std::optional<WaitingDisk::Asking> asking;
  if (disk != nullptr) asking.emplace(*disk, path);
  workflow::write_for_group_of(app, path);
  return path;
}

Result<StoreAndName> locate_store_and_name(const App& app, const std::vector<std::string>& words) {
  if (words.size() == 2) {
    TORC_ASSIGN(Path path, locate_store(app, words[0]));
    return StoreAndName{path, words[1]};
  }
  TORC_ASSIGN(Path path, locate_store(app, ""));
  return StoreAndName{path, words.empty() ? "" : words[0]};
}

Result<std::unique_ptr<store::Store>> open_store(const App& app, const std::string& named) {
  TORC_ASSIGN(Path path, locate_store(app, named));
  return store::Store::open(app.world, path, store::Tuning{});
}

}  // namespace torc::cli
