#include "lib/workflow/context/file_search.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

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
      const auto names = disk.list(top / (path.empty() ? "." : path));
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
  std::erase_if(found, [&](const std::string& path) {
    const auto status =
        path.empty() ? Result<store::FileStatus>(invalid("nothing", "")) : disk.status(top / path);
    return !status || status->kind == store::FileKind::directory;
  });
  return found;
}

}  // namespace torc::workflow
