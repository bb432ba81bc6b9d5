// For tests: whether a number is in normalised ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/spec/sweep/range.h"

namespace torc::spec {

inline bool contains(const std::vector<Range>& ranges, std::uint64_t id) {
  return std::ranges::any_of(ranges, [&](const Range& r) { return r.first <= id && id < r.end(); });
}

}  // namespace torc::spec
