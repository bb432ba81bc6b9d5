#include "lib/claim/scheduling/rank.h"

#include <string>

#include "lib/claim/rules/plan.h"

namespace torc::claim {

void each_rank(
    State& state, const Span& span, std::uint64_t first, std::uint64_t count,
    const std::function<void(const Rank&, std::uint64_t first, std::uint64_t count)>& visit) {
  const Rank common{span.job_class, span.priority};
  Rank rank = common;
  std::uint64_t from = first;
  const auto run = [&](std::uint64_t to, const Rank& next) {
    if (to > from) visit(rank, from, to - from);
    from = to;
    rank = next;
  };
  const std::uint64_t end = first + count;
  std::uint64_t at = first;
  while (at < end) {
    const auto entry = state.reader().seek(Key(Table::own_rank, at));
    const auto id = state.id_of(Table::own_rank, entry);
    if (!id || *id >= end) break;
    const auto own = decode_rank(entry->value);
    if (!own) return state.damaged(Key(Table::own_rank, *id));
    if (*id > at && rank != common) run(at, common);
    if (*own != rank) run(*id, *own);
    at = *id + 1;
  }
  if (at < end && rank != common) run(at, common);
  run(end, common);
}

std::uint32_t find_or_add_class(Transaction& tx, State& state, const JobClass& job_class) {
  const std::string wanted = encode(job_class);
  std::uint32_t number = 0;
  bool found = false;
  tx.scan_prefix(Key(Table::job_class), [&](const store::Entry& e) {
    // Else the number that comes out may be that of another class.
    if (e.key != std::string_view(Key(Table::job_class).be32(number))) state.damaged(e.key);
    found = e.value == wanted;
    if (!found) ++number;
    return !found;
  });
  if (!found) tx.put(Key(Table::job_class).be32(number), wanted);
  return number;
}

void put_rank(Transaction& tx, State& state, std::uint64_t id, const Rank& rank) {
  const Span* span = state.span_of(id);
  if (span == nullptr) return state.damaged(Key(Table::span, id));
  if (rank == Rank{span->job_class, span->priority}) {
    tx.erase(Key(Table::own_rank, id));
  } else {
    tx.put(Key(Table::own_rank, id), encode(rank));
  }
}

}  // namespace torc::claim
