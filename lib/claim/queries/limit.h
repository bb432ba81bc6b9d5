// How many jobs of an entry run, of those that may at a time: read without changing anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

struct LimitState {
  Limit limit;
  std::uint64_t used = 0;
  [[nodiscard]] bool is_full() const { return used >= limit.most; }
};
// nullopt: there is no such limit. One look each.
[[nodiscard]] std::optional<LimitState> read_limit(const Reader& reader, std::uint32_t limit);
// In the order of their numbers, which follow one another from 1. Error corrupt when they do not,
// or when one cannot be read.
Result<void> scan_limits(const Reader& reader, const std::function<bool(const LimitState&)>& visit);

}  // namespace torc::claim
