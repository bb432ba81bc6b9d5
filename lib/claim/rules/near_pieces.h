// Out of which groups the pieces of a job come, so that they are near each other: a group is a NUMA
// node, a switch, whatever those who name the pieces know of. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace torc::claim {

// How many of each group, where `free` of each are to be had: `count` in all, of as few groups as
// can be; the last of them is the one of which the least stays free. Empty: there are not so many.
// Precondition: count > 0.
[[nodiscard]] std::vector<std::uint64_t> from_fewest_groups(const std::vector<std::uint64_t>& free,
                                                            std::uint64_t count);

// The same spread over as many groups as can be: one after the other, each of a group of which the
// fewest are taken, of those the one of which the most are left.
[[nodiscard]] std::vector<std::uint64_t> from_most_groups(const std::vector<std::uint64_t>& free,
                                                          std::uint64_t count);

// How many groups of such a choice anything is taken of.
[[nodiscard]] std::size_t groups_of(const std::vector<std::uint64_t>& taken);

}  // namespace torc::claim
