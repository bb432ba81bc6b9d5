// The tables of jobs of several nodes: gangs, the nodes of each group in the order in which they
// are expected to be free, and which group keeps nodes for what. See tables.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/claim/rules/gang.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

struct GangRecord {
  Gang gang;
  std::uint64_t changed = 0;  // number of the commit that changed it last
};
[[nodiscard]] Key gang_key(const GangName& name);
[[nodiscard]] std::optional<GangName> gang_in(std::string_view key);
[[nodiscard]] inline GangName name_of(const ClaimToken& token) {
  return {raw(token.job), token.claim};
}
[[nodiscard]] std::string encode(const GangRecord& record);
[[nodiscard]] std::optional<GangRecord> decode_gang(std::string_view key, std::string_view value);

// By which the others of its group know its node.
[[nodiscard]] const std::string& name_of_node(const WorkerInfo& info);
[[nodiscard]] std::uint64_t hash_of_group(std::string_view group);
[[nodiscard]] Key node_key(const NodePlace& place, WorkerEpoch worker);
struct ListedNode {
  NodePlace place;
  WorkerEpoch worker{};
};
[[nodiscard]] std::optional<ListedNode> node_in(std::string_view key);

// A job of several nodes waits, and a group keeps for it those of its nodes that are free soonest.
struct Keep {
  std::uint64_t job = 0;
  std::uint32_t job_class = 0;
  // When the last of these nodes is expected to be free, as NodePlace::free_at.
  std::uint64_t until = NodePlace::kUnknown;
  auto operator<=>(const Keep&) const = default;
};
[[nodiscard]] Key keep_key(std::uint64_t group);
[[nodiscard]] Value encode(const Keep& keep);
[[nodiscard]] std::optional<Keep> decode_keep(std::string_view value);
// The group that keeps nodes for the job: its hash.
[[nodiscard]] Key kept_key(std::uint64_t job);
[[nodiscard]] std::string encode_kept(std::uint64_t group);
[[nodiscard]] std::optional<std::uint64_t> decode_kept(std::string_view value);

}  // namespace torc::claim
