#include "lib/workflow/plan/working_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "lib/base/text/quote.h"

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

std::optional<struct stat> look_at(const Path& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return std::nullopt;
  return seen;
}

bool is_same(const Path& a, const Path& b) {
  const auto one = look_at(a);
  const auto other = look_at(b);
  return one && other && one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

// From `from` to `to`, both without symbolic links.
Path way(const Path& from, const Path& to) {
  return to.lexically_normal().lexically_relative(from.lexically_normal());
}

bool lies_within(const Path& path, const Path& directory) {
  const Path below = way(directory, path);
  return !below.empty() && *below.begin() != "..";
}

bool has_file_within(const WorkingDirectory& recorded) {
  return !recorded.file.empty() && Path(recorded.file).is_relative();
}

// Where the store is, without symbolic links.
Path place_of(const Path& store) {
  std::error_code error;
  Path here = fs::canonical(store, error);
  return error ? store.lexically_normal() : here;
}

// Of the same project: the workflow file is there, or it is the directory itself, which was moved
// or is reached by another mount; another one with its number is as good as one that nothing tells
// of. Without a workflow file it holds the store in the folder where it held it.
bool is_project(const Path& directory, const WorkingDirectory& recorded, const Path& store) {
  const auto seen = look_at(directory);
  if (!seen || !S_ISDIR(seen->st_mode)) return false;
  if (recorded.inode != 0 && seen->st_ino == recorded.inode) return true;
  if (has_file_within(recorded)) return look_at(directory / recorded.file).has_value();
  return lies_within(recorded.store, recorded.path) &&
         way(directory, store).parent_path() == way(recorded.path, recorded.store).parent_path();
}

std::string how_to_name_it(const Path& store) {
  return fmt::format(
      "name the directory: `torc set {} --workdir DIR` for good, or --workdir DIR of `torc run` "
      "and `torc worker`",
      shell_word(store.string()));
}

Error parted(const WorkingDirectory& recorded, const Path& store, const Path& beside) {
  std::error_code error;
  std::string lack = "is not a directory";
  if (fs::is_directory(beside, error))
    lack = has_file_within(recorded) ? fmt::format("has no {}", printable(recorded.file))
                                     : "does not hold it as that did";
  return Error{ErrorKind::not_found,
               fmt::format("{} was moved or copied without its project: its jobs ran in {}, and {} "
                           "{}",
                           printable(store.string()), printable(recorded.path.string()),
                           printable(beside.string()), lack),
               "move or copy the project with it, or " + how_to_name_it(store)};
}

}  // namespace

WorkingDirectory record_directory(const Path& directory, const Path& store, const Path& file) {
  WorkingDirectory out{directory};
  std::error_code error;
  // The store itself is not there yet, or is no link.
  out.store = fs::weakly_canonical(store.parent_path(), error) / store.filename();
  if (error) out.store.clear();
  if (const auto seen = look_at(directory)) out.inode = seen->st_ino;
  if (!fs::is_regular_file(file, error)) return out;
  if (lies_within(file, directory)) {
    out.file = way(directory, file).string();
  } else {
    out.file = (fs::weakly_canonical(file.parent_path(), error) / file.filename()).string();
    if (error) out.file = file.string();
  }
  return out;
}

Result<void> expect_directory(const Path& directory, const Path& store) {
  struct stat seen {};
  int error = ::stat(directory.c_str(), &seen) == 0 ? 0 : errno;
  if (error == 0 && !S_ISDIR(seen.st_mode)) error = ENOTDIR;
  if (error == 0) return {};
  if (error != ENOENT && error != ENOTDIR)
    return os_error(
        error, fmt::format("the working directory of the jobs, {}", printable(directory.string())));
  return Error{ErrorKind::not_found,
               fmt::format("the working directory of the jobs {}: {}",
                           error == ENOENT ? "is not there" : "is not a directory",
                           printable(directory.string())),
               "bring it back, or " + how_to_name_it(store), error};
}

Result<Path> find_working_directory(const WorkingDirectory& recorded, const Path& store) {
  const auto as_recorded = [&]() -> Result<Path> {
    TORC_TRY(expect_directory(recorded.path, store));
    return recorded.path;
  };
  if (recorded.store.empty()) return as_recorded();
  std::error_code error;
  const Path here = place_of(store);
  if (here == recorded.store || is_same(here, recorded.store)) return as_recorded();
  const Path beside = fs::weakly_canonical(here / way(recorded.store, recorded.path), error);
  if (is_same(beside, recorded.path)) return recorded.path;
  if (is_project(beside, recorded, here)) return beside;
  if (lies_within(recorded.store, recorded.path)) return parted(recorded, store, beside);
  return as_recorded();
}

Path find_workflow_file(const WorkingDirectory& recorded, const Path& store) {
  if (recorded.file.empty()) return {};
  if (has_file_within(recorded))
    return (likely_working_directory(recorded, store) / recorded.file).lexically_normal();
  const Path here = place_of(store);
  if (recorded.store.empty() || here == recorded.store || is_same(here, recorded.store))
    return recorded.file;
  Path beside = (here / way(recorded.store, recorded.file)).lexically_normal();
  return look_at(beside) ? beside : Path(recorded.file);
}

Path likely_working_directory(const WorkingDirectory& recorded, const Path& store) {
  auto found = find_working_directory(recorded, store);
  return found ? *std::move(found) : recorded.path;
}

}  // namespace torc::workflow
