#include "lib/spec/expand/expansion.h"

#include <algorithm>
#include <utility>

namespace torc::spec {

// Cuts the jobs where any set of members begins or ends; between two cuts all wait for the same.
std::vector<DependencySet> all_dependencies(const Expansion& expansion) {
  if (expansion.conditional.empty()) return expansion.dependencies;
  struct Cut {
    std::uint64_t at;
    const DependencySet* set;
    bool begins;
  };
  std::vector<Cut> cuts;
  const auto add = [&](const DependencySet& set) {
    for (const Range& r : set.members) {
      cuts.push_back({r.first, &set, true});
      cuts.push_back({r.end(), &set, false});
    }
  };
  for (const DependencySet& set : expansion.dependencies) add(set);
  for (const ConditionalSet& one : expansion.conditional) add(one.set);
  std::ranges::sort(cuts, {}, &Cut::at);
  DependencySetBuilder sets;
  std::vector<const DependencySet*> open;
  std::vector<Range> upstream;
  for (std::size_t i = 0; i < cuts.size();) {
    const std::uint64_t at = cuts[i].at;
    for (; i < cuts.size() && cuts[i].at == at; ++i) {
      if (cuts[i].begins)
        open.push_back(cuts[i].set);
      else
        std::erase(open, cuts[i].set);
    }
    if (open.empty()) continue;
    upstream.clear();
    for (const DependencySet* set : open)
      upstream.insert(upstream.end(), set->upstream.begin(), set->upstream.end());
    normalise(upstream);
    sets.add(upstream, {at, cuts[i].at - at});
  }
  return std::move(sets).take();
}

}  // namespace torc::spec
