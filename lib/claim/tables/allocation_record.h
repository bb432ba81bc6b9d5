// How allocations and schedulers (rules/allocation.h) are kept in a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/claim/rules/allocation.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

// A million are nobody's.
inline constexpr std::uint32_t kMostAllocations = 1'000'000;
inline constexpr std::uint32_t kMostSchedulers = 10'000;

[[nodiscard]] Key allocation_key(std::uint32_t number);
[[nodiscard]] std::optional<std::uint32_t> allocation_in(std::string_view key);
[[nodiscard]] Key live_allocation_key(std::uint32_t number);
[[nodiscard]] std::optional<std::uint32_t> live_allocation_in(std::string_view key);
[[nodiscard]] Key scheduler_key(std::uint32_t number);
[[nodiscard]] std::optional<std::uint32_t> scheduler_in(std::string_view key);

[[nodiscard]] std::string encode(const Allocation& allocation);
[[nodiscard]] std::optional<Allocation> decode_allocation(std::string_view value);
[[nodiscard]] std::string encode(const Scheduler& scheduler);
[[nodiscard]] std::optional<Scheduler> decode_scheduler(std::string_view value);

// A node that a worker left, since it can run no jobs: further allocations are asked for without
// it.
struct LeftNode {
  std::string node;     // as the batch system calls it
  std::string cluster;  // empty: not known
  WallTime at{};
  bool operator==(const LeftNode&) const = default;
};
// More are not kept: then something else is wrong than nodes.
inline constexpr std::size_t kMostLeftNodes = 16;
[[nodiscard]] Key left_node_key(std::string_view node);
[[nodiscard]] std::string encode(const LeftNode& left);
[[nodiscard]] std::optional<LeftNode> decode_left_node(std::string_view value);

// Absent: no allocation was ever wanted.
struct AllocationBook {
  std::uint64_t allocations = 0;  // ever; the newest one's number
  std::uint64_t live = 0;
  std::uint64_t wanted = 0;  // of these
  // Passes over the ledger begun, by anybody; said before anything is asked.
  std::uint64_t passes = 0;
  WallTime passed_at{};  // of the newest, by the clock of who began it
  WallTime left_at{};    // of the newest that a worker made when it left as the last one
  // A command last asked what the queue says, apart from any pass; as above.
  WallTime looked_at{};
  // The batch system last gave a whole answer, to whoever asked.
  WallTime answered_at{};
  bool operator==(const AllocationBook&) const = default;
};
[[nodiscard]] std::string encode(const AllocationBook& book);
[[nodiscard]] std::optional<AllocationBook> decode_book(std::string_view value);

}  // namespace torc::claim
