#include "lib/workflow/change/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/quantities.h"

namespace torc::workflow {

void Refusals::add(std::string what, std::string remedy) {
  if (++count_ > kShown) return;
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& g) { return g.remedy == remedy; });
  if (group == groups_.end()) group = groups_.insert(groups_.end(), Group{std::move(remedy), {}});
  group->facts.push_back(std::move(what));
}

Error Refusals::error(const std::string& summary) const {
  if (count_ == 1)
    return {ErrorKind::invalid, groups_.front().facts.front(), groups_.front().remedy};
  std::string text;
  for (const Group& group : groups_) {
    for (const std::string& fact : group.facts)
      text += fmt::format("{}- {}", text.empty() ? "" : "\n  ", fact);
    text += fmt::format("\n    {}", group.remedy);
  }
  if (count_ > kShown) text += fmt::format("\n  and {} more", show_count(count_ - kShown));
  return {ErrorKind::invalid, fmt::format("{}, for {} reasons", summary, show_count(count_)),
          std::move(text)};
}

}  // namespace torc::workflow
