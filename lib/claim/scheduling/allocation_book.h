// The ledger of allocations inside a transaction: the records, the list of those that live, and
// the counts of them, kept in step. Its rules are in rules/allocation.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/allocation.h"
#include "lib/claim/tables/allocation_record.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class AllocationLedger {
 public:
  // Both outlive this.
  AllocationLedger(Transaction& tx, State& state) : tx_(tx), state_(state) {}

  // nullopt: there is none, or it cannot be read, which is remembered in the state.
  [[nodiscard]] std::optional<Allocation> find(std::uint32_t number);
  [[nodiscard]] std::optional<Scheduler> scheduler(std::uint32_t number);
  [[nodiscard]] AllocationBook book();

  // Precondition: `number` is one of the ledger.
  void put(std::uint32_t number, const Allocation& allocation);
  void put_scheduler(std::uint32_t number, const Scheduler& scheduler);
  // Their numbers. What it costs does not grow with what there is. Nothing where the ledger is full
  // (kMostAllocations). A record that the counts know nothing of is not written over: it is
  // remembered in the state.
  std::vector<std::uint32_t> add(const Allocation& wanted, std::uint32_t count);
  // A pass over the ledger begins.
  void begin_pass(WallTime now, bool by_last);
  void begin_look(WallTime now);
  void note_answer(WallTime now);

 private:
  void write_book(const AllocationBook& book);

  Transaction& tx_;
  State& state_;
};

// What an action asks for, as wanted allocations of its scheduler.
struct ScheduleNodes;
void want_for_action(Transaction& tx, State& state, std::uint32_t action,
                     const ScheduleNodes& schedule, WallTime now);

}  // namespace torc::claim
