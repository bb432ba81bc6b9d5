#include "lib/spec/expand/file_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "lib/base/quote.h"
#include "lib/spec/sweep/pattern.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

// Without what changes nothing: '.' between slashes, and slashes after slashes.
std::string normal(std::string_view path) {
  std::string out;
  if (path.starts_with('/')) out = "/";
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (!out.empty() && out.back() != '/') out += '/';
    out += part;
  }
  return out;
}

}  // namespace

void report_shared_paths(const Workflow& workflow, const Families& files, const JobFiles& made,
                         Report& report) {
  std::deque<std::string> texts;  // that the families view
  Families paths;
  for (std::size_t f = 0; f < workflow.files.size(); ++f) {
    Family family = files[f];
    texts.push_back(normal(workflow.files[f].path));
    family.text = texts.back();
    auto pattern = Pattern::compile(texts.back(), family.parameters);
    if (pattern) family.name = *std::move(pattern);
    if (!pattern || texts.back().empty())
      family.sweep = Sweep(std::vector<Parameter>{{"", std::vector<ParameterValue>{}}},
                           ParameterMode::product);
    paths.add(std::move(family));
  }
  for (const Families::Clash& clash : paths.index()) {
    const std::size_t a = paths.family_of(clash.first);
    const std::size_t b = paths.family_of(clash.second);
    const std::uint64_t first = files[a].first + (clash.first - paths[a].first);
    const std::uint64_t second = files[b].first + (clash.second - paths[b].first);
    const bool is_made = made.maker(first) != 0 || made.maker(second) != 0;
    const FileEntry& entry = workflow.files[b];
    const auto place = entry.places.find("path");
    report.add(
        is_made ? Severity::error : Severity::warning,
        place == entry.places.end() ? entry.place : place->second,
        fmt::format("the files {} and {} have the same path {}", torc::quoted(files.name(first)),
                    torc::quoted(files.name(second)), torc::quoted(paths.name(clash.first))),
        is_made ? "use one name for both: a job that takes the one does not wait for a job "
                  "that makes the other"
                : "use one name for both, or give each a path of its own");
  }
}

}  // namespace torc::spec
