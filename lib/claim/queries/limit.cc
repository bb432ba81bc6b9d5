#include "lib/claim/queries/limit.h"

#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

std::uint64_t used_of(const Reader& reader, std::uint32_t limit) {
  const auto value = reader.get(slots_key(limit));
  return value ? decode_total(*value) : 0;
}

}  // namespace

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
