#include "lib/workflow/context/file_search.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/store/mount/mount.h"
#include "lib/workflow/context/file_fingerprints.h"

namespace torc::workflow {
namespace {

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

bool take(std::size_t& room, std::size_t wanted) {
  const bool there = wanted <= room;
  room -= std::min(room, wanted);
  return there;
}

// Of what cannot be looked at nobody knows what is in it: jobs that were made of it would be taken
// for gone.
Error cannot_look(const Path& path, const std::string& pattern, Error error) {
  error.what = fmt::format("{}: cannot look at {}: {}", torc::quoted(pattern),
                           printable(path.string()), error.what);
  if (error.remedy.empty())
    error.remedy = "let it be read, or name the directories that are meant; nothing is known of it";
  return error;
}

bool is_not_there(const Error& error) {
  return error.kind == ErrorKind::not_found || names_nothing(error.os_errno);
}

// A name that is not there, or has nothing in it, while a filesystem that should be mounted above
// it is not.
Result<void> check_mounted(store::Disk& disk, const Path& path, const std::string& pattern) {
  const auto point = store::missing_mount(disk.mount_tables(), disk.resolved(path));
  if (!point) return {};
  return cannot_look(
      path, pattern,
      Error{ErrorKind::io, fmt::format("nothing is mounted at {}", printable(point->string())),
            "mount it, and try again"});
}

}  // namespace

Result<std::vector<std::string>> find_files(store::Disk& disk, const Path& directory,
                                            const std::string& pattern, SearchRoom& room) {
  const auto too_many = [&] {
    return invalid(
        fmt::format("{}, with the patterns before it, looks at more than {} names, or at "
                    "paths of more than {} MiB",
                    torc::quoted(pattern), SearchRoom().names, SearchRoom().path_bytes >> 20U),
        "name the directories");
  };
  const bool absolute = pattern.starts_with('/');
  const Path top = absolute ? Path("/") : directory;
  std::vector<std::string> parts;
  for (const std::string_view part : split(pattern, '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  std::vector<std::string> found{""};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::string> next;
    for (const std::string& path : found) {
      const std::string before = path.empty() ? (absolute ? "/" : "") : path + "/";
      if (!is_pattern(parts[i])) {
        if (!take(room.path_bytes, before.size() + parts[i].size())) return too_many();
        next.push_back(before + parts[i]);
        continue;
      }
      const Path place = path.empty() ? top : top / path;
      const auto names = disk.list(place);
      if (!names && !is_not_there(names.error())) return cannot_look(place, pattern, names.error());
      if (!names || names->empty()) TORC_TRY(check_mounted(disk, place, pattern));
      if (!names) continue;
      for (const std::string& name : *names) {
        if (!take(room.names, 1)) return too_many();
        if (fnmatch(parts[i].c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
        if (!take(room.path_bytes, before.size() + name.size())) return too_many();
        next.push_back(before + name);
      }
    }
    found = std::move(next);
  }
  std::vector<std::string> files;
  for (std::string& path : found) {
    if (path.empty()) continue;
    const auto status = disk.status(top / path);
    if (!status && !is_not_there(status.error()))
      return cannot_look(top / path, pattern, status.error());
    if (!status) TORC_TRY(check_mounted(disk, top / path, pattern));
    if (status && status->kind != store::FileKind::directory) files.push_back(std::move(path));
  }
  return files;
}

}  // namespace torc::workflow
