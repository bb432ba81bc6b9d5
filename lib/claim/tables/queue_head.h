// The first range of a class's ready queue, and where it stands among those of all classes: the
// order in which claims take jobs. Stores of many classes list the heads in it (Table::order), so
// that a claim reads as many classes as it takes jobs from, and not all there are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/job_terms.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

// What jobs of equal priority are sorted by, larger first. Zeros: by nothing.
using SortSize = std::array<std::uint64_t, 3>;
[[nodiscard]] SortSize size_of(const Requirement& need, SortMethod sort);

struct QueueHead {
  ReadyRange range;
  SortSize size{};
  std::uint32_t nodes = 1;
  auto operator<=>(const QueueHead&) const = default;
};

// Priority (high first), size, age (old first), nodes (many first: the others fill what they
// leave), id.
struct ComesFirst {
  [[nodiscard]] bool operator()(const QueueHead& a, const QueueHead& b) const;
};

[[nodiscard]] SortMethod read_sort(State& state);
// Whether the place of a class's head depends on nothing but its queue and its class: not where
// jobs are sorted by runtimes that are learned.
[[nodiscard]] bool can_be_ordered(SortMethod sort, std::uint8_t rules);

// `sized`: the workflow has a sort method.
[[nodiscard]] Key order_key(const QueueHead& head, bool sized);
[[nodiscard]] Value order_value(const QueueHead& head);
[[nodiscard]] std::optional<QueueHead> decode_order(std::string_view key, std::string_view value);

}  // namespace torc::claim
