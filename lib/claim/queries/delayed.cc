#include "lib/claim/queries/delayed.h"

#include <algorithm>

#include "lib/claim/tables/tables.h"

namespace torc::claim {

bool is_due(WallTime not_before, std::chrono::seconds delay, WallTime now) {
  return now >= not_before || not_before - now > 2 * delay;
}

std::optional<std::uint64_t> listed_id(State& state, const std::optional<store::Entry>& entry) {
  if (!entry || !is_in(Table::delayed, entry->key)) return std::nullopt;
  const auto id = delayed_in(entry->key);
  if (!id) state.damaged(entry->key);
  return id;
}

std::optional<std::chrono::microseconds> next_due(State& state, WallTime now) {
  const auto id = listed_id(state, state.reader().seek(Key(Table::delayed)));
  if (!id) return std::nullopt;
  const auto job = state.open_record(*id);
  if (!job) return std::nullopt;
  return std::max<std::chrono::microseconds>(job->not_before - now, std::chrono::microseconds(0));
}

}  // namespace torc::claim
