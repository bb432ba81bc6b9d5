#include "lib/claim/scheduling/allocation_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/claim/rules/action.h"

namespace torc::claim {

std::optional<Allocation> AllocationLedger::find(std::uint32_t number) {
  const Key key = allocation_key(number);
  const auto value = tx_.get(key);
  if (!value) return std::nullopt;
  auto allocation = decode_allocation(*value);
  if (!allocation) state_.damaged(key);
  return allocation;
}

std::optional<Scheduler> AllocationLedger::scheduler(std::uint32_t number) {
  const Key key = scheduler_key(number);
  const auto value = tx_.get(key);
  if (!value) return std::nullopt;
  auto scheduler = decode_scheduler(*value);
  if (!scheduler) state_.damaged(key);
  return scheduler;
}

AllocationBook AllocationLedger::book() {
  const Key key(Table::allocation);
  const auto value = tx_.get(key);
  if (!value) return {};
  const auto book = decode_book(*value);
  if (!book) state_.damaged(key);
  return book.value_or(AllocationBook{});
}

void AllocationLedger::write_book(const AllocationBook& book) {
  tx_.put(Key(Table::allocation), encode(book));
}

void AllocationLedger::put(std::uint32_t number, const Allocation& allocation) {
  const auto before = find(number);
  if (!before || *before == allocation) return;
  const auto wants = [](const Allocation& a) { return a.stage == AllocationStage::wanted ? 1 : 0; };
  if (is_live(*before) != is_live(allocation) || wants(*before) != wants(allocation)) {
    AllocationBook counts = book();
    if (is_live(*before) && !is_live(allocation)) {
      --counts.live;
      tx_.erase(live_allocation_key(number));
    } else if (!is_live(*before) && is_live(allocation)) {
      ++counts.live;
      tx_.put(live_allocation_key(number), {});
    }
    counts.wanted += static_cast<std::uint64_t>(wants(allocation));
    counts.wanted -= static_cast<std::uint64_t>(wants(*before));
    // More of them would be counted than there are numbers for.
    if (counts.live > kMostAllocations || counts.wanted > kMostAllocations)
      return state_.contradicts(
          fmt::format("fewer allocations are counted than live, of which {} is one", number));
    write_book(counts);
  }
  tx_.put(allocation_key(number), encode(allocation));
}

void AllocationLedger::put_scheduler(std::uint32_t number, const Scheduler& scheduler) {
  const auto before = this->scheduler(number);
  if (!before || *before != scheduler) tx_.put(scheduler_key(number), encode(scheduler));
}

std::vector<std::uint32_t> AllocationLedger::add(const Allocation& wanted, std::uint32_t count) {
  AllocationBook counts = book();
  std::vector<std::uint32_t> numbers;
  for (; count > 0 && counts.allocations < kMostAllocations; --count) {
    const auto number = static_cast<std::uint32_t>(++counts.allocations);
    if (tx_.get(allocation_key(number))) {
      state_.contradicts(fmt::format("allocation {} is not counted", number));
      return {};
    }
    ++counts.live;
    ++counts.wanted;
    tx_.put(allocation_key(number), encode(wanted));
    tx_.put(live_allocation_key(number), {});
    numbers.push_back(number);
  }
  if (!numbers.empty()) write_book(counts);
  return numbers;
}

void AllocationLedger::begin_pass(WallTime now, bool by_last) {
  AllocationBook counts = book();
  ++counts.passes;
  counts.passed_at = now;
  if (by_last) counts.left_at = now;
  write_book(counts);
}

void AllocationLedger::begin_look(WallTime now) {
  AllocationBook counts = book();
  counts.looked_at = now;
  write_book(counts);
}

void AllocationLedger::note_answer(WallTime now) {
  AllocationBook counts = book();
  counts.answered_at = now;
  write_book(counts);
}

void want_for_action(Transaction& tx, State& state, std::uint32_t action,
                     const ScheduleNodes& schedule, WallTime now) {
  AllocationLedger ledger(tx, state);
  const auto scheduler = ledger.scheduler(schedule.scheduler);
  if (!scheduler) return state.damaged(scheduler_key(schedule.scheduler));
  Allocation wanted;
  wanted.scheduler = schedule.scheduler;
  wanted.by = AskedBy::action;
  wanted.action = action;
  wanted.why = fmt::format("action {}", action);
  wanted.nodes = scheduler->nodes;
  wanted.walltime = scheduler->walltime;
  wanted.max_parallel_jobs = schedule.max_parallel_jobs;
  wanted.wanted_at = now;
  ledger.add(wanted, schedule.allocations);
}

}  // namespace torc::claim
