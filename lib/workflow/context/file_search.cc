#include "lib/workflow/context/file_search.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <string_view>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc::workflow {
namespace {

constexpr std::size_t kMostNames = 1'000'000;

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

}  // namespace

Result<std::vector<std::string>> find_files(store::Disk& disk, const Path& directory,
                                            const std::string& pattern) {
  const bool absolute = pattern.starts_with('/');
  const Path top = absolute ? Path("/") : directory;
  std::vector<std::string> parts;
  for (const std::string_view part : split(pattern, '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  std::vector<std::string> found{""};
  std::size_t seen = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::string> next;
    for (const std::string& path : found) {
      const std::string before = path.empty() ? (absolute ? "/" : "") : path + "/";
      if (!is_pattern(parts[i])) {
        next.push_back(before + parts[i]);
        continue;
      }
      const auto names = disk.list(top / (path.empty() ? "." : path));
      if (!names) continue;
      for (const std::string& name : *names) {
        if (++seen > kMostNames) {
          return invalid(
              fmt::format("{} looks at more than {} names", torc::quoted(pattern), kMostNames),
              "name the directories");
        }
        if (fnmatch(parts[i].c_str(), name.c_str(), FNM_PERIOD) == 0) next.push_back(before + name);
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
