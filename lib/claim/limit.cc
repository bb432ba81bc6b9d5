#include "lib/claim/limit.h"

namespace torc::claim {
namespace {

std::uint64_t used_of(const Reader& reader, std::uint32_t limit) {
  const auto value = reader.get(slots_key(limit));
  return value ? decode_total(*value) : 0;
}

}  // namespace

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

std::optional<LimitState> read_limit(const Reader& reader, std::uint32_t limit) {
  const auto value = reader.get(Key(Table::limit).be32(limit));
  const auto known = value ? decode_limit(*value) : std::nullopt;
  if (!known) return std::nullopt;
  return LimitState{*known, used_of(reader, limit)};
}

Result<void> scan_limits(const Reader& reader,
                         const std::function<bool(const LimitState&)>& visit) {
  State state(reader);
  std::uint32_t next = 1;
  reader.scan_prefix(Key(Table::limit), [&](const store::Entry& e) {
    const bool follows = e.key == std::string_view(Key(Table::limit).be32(next));
    const auto limit = follows ? decode_limit(e.value) : std::nullopt;
    if (!limit) state.damaged(e.key);
    return limit && visit({*limit, used_of(reader, next++)});
  });
  return state.sound();
}

}  // namespace torc::claim
