#include "lib/claim/scheduling/slots.h"

#include "lib/claim/queries/limit.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

Slots::Counter& Slots::at(std::uint32_t limit) {
  const auto [it, added] = counters_.try_emplace(limit);
  if (!added) return it->second;
  const auto known = read_limit(tx_, limit);
  if (!known) {
    state_.damaged(Key(Table::limit).be32(limit));
    return it->second;
  }
  it->second = {known->limit.most, known->used, known->used};
  return it->second;
}

std::uint64_t Slots::free(std::uint32_t limit) {
  const Counter& c = at(limit);
  return c.used >= c.most ? 0 : c.most - c.used;
}

void Slots::take(std::uint32_t limit) {
  ++at(limit).used;
}

void Slots::give_back(std::uint32_t limit) {
  Counter& c = at(limit);
  if (c.used == 0) return state_.damaged(slots_key(limit));
  --c.used;
}

void Slots::store() {
  for (auto& [limit, c] : counters_) {
    if (c.used == c.stored) continue;
    c.stored = c.used;
    if (c.used == 0) {
      tx_.erase(slots_key(limit));
    } else {
      tx_.put(slots_key(limit), Value().varint(c.used));
    }
  }
}

}  // namespace torc::claim
