#include "bin/locate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>
#include <vector>

#include "bin/trust.h"
#include "bin/waiting_disk.h"
#include "lib/base/file/descriptor.h"
#include "lib/base/text/quote.h"
#include "lib/store/mount/mount.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/plan/make_store.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace fs = std::filesystem;

namespace {

// With "#!". A file that cannot be read is none.
bool begins_as_script(const Path& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char mark[2] = {};
  return ::read(fd.get(), mark, 2) == 2 && mark[0] == '#' && mark[1] == '!';
}

bool is_store_name(const Path& path) {
  return path.extension() == ".torc";
}

// That of a workflow file of another directory, where none is here; empty: there is none.
Path store_beside(const App& app, const std::string& file, const Path& store) {
  std::error_code error;
  if (fs::symlink_status(store, error).type() != fs::file_type::not_found) return {};
  const Path beside = (app.directory / file).lexically_normal().parent_path() / store.filename();
  return beside != store && fs::is_directory(beside, error) ? beside : Path();
}

// A workflow file stands for the store that `torc run` makes of it, here, or else where the file
// is. nullopt: it is none.
Result<std::optional<Path>> store_of_file(const App& app, const std::string& named,
                                          const Path& path) {
  if (!is_workflow_file(path)) return std::optional<Path>();
  TORC_ASSIGN(const auto loaded, workflow::load_spec(app, named, workflow::Purpose::look));
  if (!loaded.workflow)
    return invalid(
        fmt::format("{} has mistakes, so it is not known which store belongs to it", named),
        fmt::format("see them with `torc check {}`, or name the store", shell_word(named)));
  Path store = workflow::default_store(app, loaded);
  std::optional<WaitingDisk::Asking> asking;
  if (WaitingDisk* disk = waiting_disk(app)) asking.emplace(*disk, store);
  if (Path beside = store_beside(app, named, store); !beside.empty()) store = std::move(beside);
  asking.reset();
  TORC_TRY(check_has_store(app, named, store));
  TORC_TRY(check_found_store(app, store));
  if (WaitingDisk* disk = waiting_disk(app)) asking.emplace(*disk, store);
  // Who cannot open it tells why, and does not come to look at another one.
  const auto opened = store::Store::open(app.world, store, store::Tuning{});
  if (!opened) return std::optional(std::move(store));
  if (auto refused = refuse_other_file(app, **opened, named); !refused) {
    if (refused.error().kind != ErrorKind::exists) return std::optional(std::move(store));
    Error error = std::move(refused).error();
    error.remedy = "name the store, or give one of the files another `name:`";
    return error;
  }
  return std::optional(std::move(store));
}

// A word that is no path is seldom meant for a store.
Result<Path> locate_named(const App& app, const std::string& named) {
  Path path = (app.directory / named).lexically_normal();
  TORC_ASSIGN(const auto of_file, store_of_file(app, named, path));
  if (of_file) return *of_file;
  if (named.find('/') != named.npos || is_store_name(path)) return path;
  std::optional<WaitingDisk::Asking> asking;
  if (WaitingDisk* disk = waiting_disk(app)) asking.emplace(*disk, app.directory);
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::not_found) return path;
  if (store::missing_mount(app.world.disk.mount_tables(), path))
    return path;  // who opens it says so
  if (has_workflow_ending(path)) {
    return Error{ErrorKind::not_found, fmt::format("there is no file '{}'", printable(named)),
                 "name a workflow file or a store; `torc list` shows the stores here"};
  }
  const std::string job = shell_word(named);
  return Error{ErrorKind::not_found, "there is no store " + path.string(),
               fmt::format("the first word is taken for a store; a job is named after it: torc job "
                           "STORE {0}, torc logs STORE {0}; or make a store with `torc init`",
                           job)};
}

// Sorted. Error: the directory cannot be listed.
Result<std::vector<Path>> stores_in(const App& app, const Path& directory) {
  std::optional<WaitingDisk::Asking> asking;
  if (WaitingDisk* disk = waiting_disk(app)) asking.emplace(*disk, directory);
  std::vector<Path> found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (!is_store_name(it->path())) continue;
    std::error_code unseen;  // one that cannot be looked at may be the one that is meant
    if (it->is_directory(unseen) || unseen) found.push_back(it->path());
  }
  if (error) return os_error(error.value(), "cannot list " + directory.string(), "name a store");
  std::sort(found.begin(), found.end());
  return found;
}

// Above directories of others, and of those where everybody may put something, nothing is looked
// for.
bool is_own(const App& app, const Path& directory) {
  struct stat status {};
  return ::stat(directory.c_str(), &status) == 0 && status.st_uid == app.world.uid &&
         (status.st_mode & S_IWOTH) == 0;
}

Result<Path> locate(const App& app, const std::string& named) {
  if (!named.empty()) return locate_named(app, named);
  if (auto from_env = app.env("TORC_STORE"); from_env && !from_env->empty()) {
    return (app.directory / *from_env).lexically_normal();
  }
  TORC_ASSIGN(std::vector<Path> found, stores_in(app, app.directory));
  for (Path above = app.directory; found.empty() && above.has_relative_path();) {
    if (!is_own(app, above)) break;
    above = above.parent_path();
    if (!is_own(app, above)) break;
    TORC_ASSIGN(found, stores_in(app, above));
  }
  if (found.size() == 1) {
    TORC_TRY(check_found_store(app, found.front()));
    return found.front();
  }
  if (found.empty()) {
    return Error{ErrorKind::not_found,
                 fmt::format("no store given, and no *.torc in {}", app.directory.string()),
                 "name one, set TORC_STORE, or make one with `torc init workflow.yaml`"};
  }
  std::string names;
  for (const Path& path : found) names += (names.empty() ? "" : ", ") + path.filename().string();
  const bool is_here = found.front().parent_path() == app.directory;
  return Error{
      ErrorKind::invalid,
      fmt::format("several stores {}: {}",
                  is_here ? "here" : "in " + printable(found.front().parent_path().string()),
                  names),
      "name the one you mean, or set TORC_STORE"};
}

}  // namespace

Result<void> check_has_store(const App& app, const std::string& file, const Path& store) {
  std::optional<WaitingDisk::Asking> asking;
  if (WaitingDisk* disk = waiting_disk(app)) asking.emplace(*disk, store);
  std::error_code error;
  if (fs::symlink_status(store, error).type() != fs::file_type::not_found) return {};
  if (store::missing_mount(app.world.disk.mount_tables(), store)) return {};  // who opens it tells
  const Path beside = store_beside(app, file, store);
  return Error{ErrorKind::not_found,
               fmt::format("{} has no store here: there is no {}", printable(file),
                           printable(store.string())),
               !beside.empty()
                   ? fmt::format("there is one beside the file: name {}, or run the command there",
                                 shell_word(beside.string()))
                   : fmt::format("`torc run {0}` makes it and runs it, `torc init {0}` makes it; "
                                 "to use one elsewhere, name it",
                                 shell_word(file))};
}

Result<void> refuse_other_file(const App& app, store::Store& store, const std::string& file) {
  TORC_ASSIGN(const auto settings, workflow::read_settings(store));
  const Path before = workflow::find_workflow_file(settings.directory, store.directory());
  std::error_code error;
  if (before.empty() || before.filename() == Path(file).filename()) return {};
  // Of one that cannot be looked at nobody knows that it has another name now.
  if (fs::status(before, error).type() == fs::file_type::not_found) return {};
  return Error{ErrorKind::exists,
               fmt::format("{} is the store of {}, which is there too, and not of {}",
                           workflow::shown_path(app, store.directory()),
                           workflow::shown_path(app, before), printable(file)),
               "give one of the files another `name:`, or say where the store of this one is to be "
               "with --store DIR"};
}

bool has_workflow_ending(const Path& path) {
  static constexpr std::array kEndings = {".yaml", ".yml", ".json", ".json5", ".kdl"};
  return std::ranges::find(kEndings, path.extension()) != kEndings.end();
}

bool is_workflow_file(const Path& path) {
  if (is_store_name(path)) return false;  // its filesystem is not asked: it may not answer
  std::error_code error;
  if (fs::status(path, error).type() != fs::file_type::regular) return false;
  return has_workflow_ending(path) || begins_as_script(path);
}

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
