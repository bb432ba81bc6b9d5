#include "lib/claim/queries/freed_limits.h"

#include <algorithm>
#include <cstddef>

#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

constexpr std::size_t kMostLimits = 256;
constexpr std::size_t kMostWaiting = 64;

// How many more jobs limits leave of a class that has `shares` of them.
std::uint64_t room(const Reader& reader, const std::vector<LimitShare>& shares,
                   const SlotsTaken& taken) {
  std::uint64_t room = UINT64_MAX;
  for (const LimitShare& share : shares) {
    const auto known = read_limit(reader, share.number);
    if (!known) return 0;
    const auto other = taken.find(share.number);
    const std::uint64_t used = other != taken.end() ? other->second : known->used;
    const std::uint64_t most = known->limit.most;
    room = std::min(room, used < most ? (most - used) / share.amount : 0);
  }
  return room;
}

}  // namespace

SlotsTaken slots_taken(const Reader& reader) {
  SlotsTaken taken;
  if ((State(reader).tally().rules & rule::kLimits) == 0) return taken;
  reader.scan_prefix(Key(Table::slots), [&](const store::Entry& e) {
    if (e.key.size() != std::string_view(slots_key(0)).size()) return false;
    taken[static_cast<std::uint32_t>(number_at(e.key, 1, 4))] = decode_total(e.value);
    return taken.size() < kMostLimits;
  });
  return taken;
}

std::uint64_t let_by_limits(const Reader& reader, const SlotsTaken& before) {
  SlotsTaken freed;
  for (const auto& [number, used] : before) {
    const auto known = read_limit(reader, number);
    if (known && known->used < used) freed.emplace(number, used);
  }
  if (freed.empty()) return 0;
  State state(reader);
  std::uint64_t most = 0;
  std::size_t classes = 0;
  each_ready_head(state, [&](const ReadyRange& range) {
    const JobClass job_class = state.job_class(range.job_class);
    if (std::ranges::any_of(
            job_class.limits,
            [&](const LimitShare& share) { return freed.contains(share.number); }) &&
        room(reader, job_class.limits, freed) == 0) {
      most = std::max(most, room(reader, job_class.limits, {}));
    }
    return ++classes < kMostWaiting;
  });
  return most;
}

}  // namespace torc::claim
