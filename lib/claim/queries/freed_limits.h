// Whether a commit gave back some of a limit that ready jobs waited for.
#pragma once

#include <cstdint>
#include <map>

#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// What is taken of limits, by their number: of the first 256 of which something is. Empty where
// the workflow has none.
using SlotsTaken = std::map<std::uint32_t, std::uint64_t>;
[[nodiscard]] SlotsTaken slots_taken(const Reader& reader);

// How many of the ready jobs may be claimed because less is taken of limits than `before`, when
// these left none of their class; at least: it looks at the first 64 classes with ready jobs, and
// answers for the one of which there are most. What cannot be read is none.
[[nodiscard]] std::uint64_t let_by_limits(const Reader& reader, const SlotsTaken& before);

}  // namespace torc::claim
