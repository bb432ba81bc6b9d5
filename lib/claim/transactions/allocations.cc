#include "lib/claim/transactions/allocations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/claim/scheduling/allocation_book.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

Error no_scheduler(std::uint32_t number) {
  return invalid(fmt::format("the workflow has no scheduler number {}", number),
                 "torc allocations lists them");
}

// One that is not to be: what was not submitted ends, what waits is marked.
void drop(AllocationLedger& ledger, std::uint32_t number, Allocation allocation, WallTime now) {
  if (allocation.stage == AllocationStage::wanted) {
    allocation.stage = AllocationStage::ended;
    allocation.end = AllocationEnd::withdrawn;
    allocation.ended_at = now;
  } else {
    allocation.is_surplus = true;
  }
  ledger.put(number, allocation);
}

// `visit` of each live one; false: that was enough.
template <class Visit>
void each_live(const Transaction& tx, State& state, AllocationLedger& ledger, const Visit& visit) {
  tx.scan_prefix(Key(Table::live_allocation), [&](const store::Entry& e) {
    const auto number = live_allocation_in(e.key);
    if (!number) {
      state.damaged(e.key);
      return false;
    }
    const auto one = ledger.find(*number);
    if (!one) state.damaged(e.key);
    if (one) visit(*one);
    return one.has_value();
  });
}

std::vector<std::string> marked(const Transaction& tx, State& state, AllocationLedger& ledger,
                                const std::string& cluster) {
  std::vector<std::string> ids;
  each_live(tx, state, ledger, [&](const Allocation& one) {
    const bool is_there = cluster.empty() || one.cluster.empty() || one.cluster == cluster;
    if (one.is_surplus && !one.id.empty() && is_there) ids.push_back(one.id);
  });
  return ids;
}

// How many more its terms allow.
std::uint32_t allowed(const Transaction& tx, State& state, AllocationLedger& ledger,
                      std::uint32_t number, const Scheduler& scheduler) {
  std::uint32_t live = 0;
  std::uint32_t waiting = 0;
  each_live(tx, state, ledger, [&](const Allocation& one) {
    if (one.scheduler != number) return;
    ++live;
    if (one.stage != AllocationStage::running) ++waiting;
  });
  if (!scheduler.is_managed || !scheduler.stopped.empty()) return 0;
  const std::uint32_t queued = scheduler.serialize
                                   ? std::min<std::uint32_t>(1, scheduler.terms.max_queued)
                                   : scheduler.terms.max_queued;
  const auto less = [](std::uint32_t most, std::uint32_t have) {
    return most - std::min(most, have);
  };
  return std::min(less(scheduler.terms.max, live), less(queued, waiting));
}

}  // namespace

Result<bool> begin_pass(Transaction& tx, std::uint64_t passes, WallTime now, bool by_last) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  const bool is_its_turn = ledger.book().passes == passes;
  TORC_TRY(state.sound());
  if (is_its_turn) ledger.begin_pass(now, by_last);
  return is_its_turn;
}

Result<bool> begin_look(Transaction& tx, WallTime looked_at, WallTime now) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  const bool is_its_turn = ledger.book().looked_at == looked_at;
  TORC_TRY(state.sound());
  if (is_its_turn) ledger.begin_look(now);
  return is_its_turn;
}

Result<void> note_answer(Transaction& tx, WallTime now) {
  State state(tx);
  AllocationLedger(tx, state).note_answer(now);
  return state.sound();
}

Result<std::vector<std::uint32_t>> want(Transaction& tx, const Wish& wish, WallTime now) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  const auto scheduler = ledger.scheduler(wish.scheduler);
  TORC_TRY(state.sound());
  if (!scheduler) return no_scheduler(wish.scheduler);
  if (wish.by == AskedBy::person) ledger.put_scheduler(wish.scheduler, restarted(*scheduler));
  Allocation wanted;
  wanted.scheduler = wish.scheduler;
  wanted.by = wish.by;
  wanted.who = wish.who;
  wanted.why = wish.why;
  wanted.nodes = scheduler->nodes;
  wanted.walltime = scheduler->walltime;
  wanted.max_parallel_jobs = wish.max_parallel_jobs;
  wanted.wanted_at = now;
  auto numbers = ledger.add(wanted, wish.count);
  TORC_TRY(state.sound());
  if (numbers.size() < wish.count) {
    return invalid(fmt::format("the store keeps {} allocations at most", kMostAllocations),
                   "make a new store for what is left");
  }
  return numbers;
}

Result<std::optional<Allocation>> begin_submission(Transaction& tx, std::uint32_t number,
                                                   const Submitter& by, WallTime now) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  auto allocation = ledger.find(number);
  const auto scheduler = allocation ? ledger.scheduler(allocation->scheduler) : std::nullopt;
  TORC_TRY(state.sound());
  if (!allocation || !scheduler || !may_submit(*allocation, *scheduler, now))
    return std::optional<Allocation>();
  allocation = begun(*std::move(allocation), by, now);
  ledger.put(number, *allocation);
  return allocation;
}

Result<std::string> end_submission(Transaction& tx, std::uint32_t number, std::uint32_t attempt,
                                   const AttemptEnd& end, WallTime now) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  auto allocation = ledger.find(number);
  auto scheduler = allocation ? ledger.scheduler(allocation->scheduler) : std::nullopt;
  TORC_TRY(state.sound());
  if (!allocation || !scheduler) return end.id;
  const std::uint32_t of = allocation->scheduler;
  AfterTry after = after_try(*std::move(allocation), *std::move(scheduler), attempt, end, now);
  ledger.put(number, after.allocation);
  ledger.put_scheduler(of, after.scheduler);
  TORC_TRY(state.sound());
  return after.surplus;
}

Result<std::vector<std::string>> note_looks(Transaction& tx,
                                            const std::map<std::uint32_t, Look>& looks,
                                            WallTime now) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  std::vector<std::string> ids;
  for (const auto& [number, look] : looks) {
    auto allocation = ledger.find(number);
    TORC_TRY(state.sound());
    if (!allocation) continue;
    AfterLook after = after_look(*std::move(allocation), look, now);
    ledger.put(number, after.allocation);
    std::ranges::move(after.surplus, std::back_inserter(ids));
  }
  TORC_TRY(state.sound());
  return ids;
}

Result<std::vector<std::string>> note_demand(Transaction& tx, const Demand& demand,
                                             const std::string& who, WallTime now,
                                             const std::string& cluster) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  for (const Ask& ask : demand.ask) {
    const auto scheduler = ledger.scheduler(ask.scheduler);
    TORC_TRY(state.sound());
    if (!scheduler) return no_scheduler(ask.scheduler);
    const std::uint32_t count =
        std::min(ask.allocations, allowed(tx, state, ledger, ask.scheduler, *scheduler));
    TORC_TRY(state.sound());
    if (count == 0) continue;
    TORC_TRY(want(tx, {ask.scheduler, count, AskedBy::demand, who, ask.why, 0}, now));
  }
  for (const std::uint32_t number : demand.surplus) {
    auto allocation = ledger.find(number);
    // What began to run, or to be submitted, since it was looked at is not touched.
    const bool waits = allocation && (allocation->stage == AllocationStage::wanted ||
                                      allocation->stage == AllocationStage::queued);
    if (waits) drop(ledger, number, *std::move(allocation), now);
  }
  auto ids = marked(tx, state, ledger, cluster);
  TORC_TRY(state.sound());
  return ids;
}

Result<std::vector<std::string>> cancel_allocations(Transaction& tx,
                                                    const std::vector<std::uint32_t>& numbers,
                                                    WallTime now, const std::string& cluster) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  for (const std::uint32_t number : numbers) {
    auto allocation = ledger.find(number);
    if (allocation && is_live(*allocation)) drop(ledger, number, *std::move(allocation), now);
  }
  auto ids = marked(tx, state, ledger, cluster);
  TORC_TRY(state.sound());
  return ids;
}

Result<void> disown_allocations(Transaction& tx, const std::vector<std::uint32_t>& numbers,
                                WallTime now) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  for (const std::uint32_t number : numbers) {
    auto allocation = ledger.find(number);
    if (!allocation || !may_be_there(*allocation)) continue;
    allocation->stage = AllocationStage::ended;
    allocation->end = AllocationEnd::lost;
    allocation->said = "it is of the store that this one was copied from";
    allocation->ended_at = now;
    ledger.put(number, *allocation);
  }
  return state.sound();
}

Result<Admission> bind_allocation(Transaction& tx, const Binding& binding, WallTime now) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  auto allocation = ledger.find(binding.intent.number);
  TORC_TRY(state.sound());
  if (!allocation) return Admission::yes;
  AfterBinding after =
      after_binding(*std::move(allocation), binding.intent.attempt, binding.cluster, binding.id,
                    binding.start, now, binding.node.cpus);
  if (after.admission == Admission::yes) {
    auto scheduler = ledger.scheduler(after.allocation.scheduler);
    if (scheduler && scheduler->node.cpus == 0 && binding.node.cpus > 0) {
      scheduler->node = binding.node;
      ledger.put_scheduler(after.allocation.scheduler, *scheduler);
    }
    ledger.put(binding.intent.number, after.allocation);
  }
  TORC_TRY(state.sound());
  return after.admission;
}

Result<bool> note_left_node(Transaction& tx, const LeftNode& left) {
  const Key key = left_node_key(left.node);
  if (left.node.empty() || tx.get(key)) return false;
  std::size_t there = 0;
  tx.scan_prefix(Key(Table::left_node), [&](const store::Entry&) {
    ++there;
    return there < kMostLeftNodes;
  });
  if (there >= kMostLeftNodes) return false;
  tx.put(key, encode(left));
  return true;
}

Result<bool> readmit_node(Transaction& tx, std::string_view node) {
  const Key key = left_node_key(node);
  if (!tx.get(key)) return false;
  tx.erase(key);
  return true;
}

namespace {

Result<void> say_of(Transaction& tx, std::uint32_t number, bool is_managed, bool is_told_off) {
  State state(tx);
  AllocationLedger ledger(tx, state);
  auto scheduler = ledger.scheduler(number);
  TORC_TRY(state.sound());
  if (!scheduler) return no_scheduler(number);
  Scheduler begun_anew = restarted(*std::move(scheduler));
  begun_anew.is_managed = is_managed;
  begun_anew.is_told_off = is_told_off;
  ledger.put_scheduler(number, begun_anew);
  return {};
}

}  // namespace

Result<void> manage(Transaction& tx, std::uint32_t number, bool is_managed) {
  return say_of(tx, number, is_managed, false);
}

Result<void> tell_off(Transaction& tx, std::uint32_t number) {
  return say_of(tx, number, false, true);
}

}  // namespace torc::claim
