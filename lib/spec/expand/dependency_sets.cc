#include "lib/spec/expand/dependency_sets.h"

#include <algorithm>
#include <span>

#include "lib/base/hash.h"

namespace torc::spec {

void DependencySetBuilder::grow() {
  slots_.assign(std::max<std::size_t>(64, slots_.size() * 2), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t s = 0; s < hashes_.size(); ++s) {
    std::size_t at = hashes_[s] & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<std::uint32_t>(s + 1);
  }
}

void DependencySetBuilder::add(const std::vector<Range>& upstream, Range members) {
  if (sets_.size() * 3 >= slots_.size() * 2) grow();
  const std::uint64_t hash = hash64(std::as_bytes(std::span(upstream)));
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    const std::size_t s = slots_[at] - 1;
    if (hashes_[s] != hash || sets_[s].upstream != upstream) continue;
    std::vector<Range>& known = sets_[s].members;
    if (known.back().end() == members.first) {
      known.back().count += members.count;
    } else {
      known.push_back(members);
    }
    return;
  }
  sets_.push_back({upstream, {members}});
  hashes_.push_back(hash);
  slots_[at] = static_cast<std::uint32_t>(sets_.size());
}

}  // namespace torc::spec
