#include <fmt/format.h>

#include <set>

#include "lib/claim/audit/verify_parts.h"
#include "lib/claim/rules/allocation.h"
#include "lib/claim/tables/allocation_record.h"
#include "lib/claim/tables/corruption.h"

namespace torc::claim {

Result<void> audit_allocations(const Reader& reader) {
  std::uint32_t schedulers = 0;
  TORC_TRY(each(reader, Table::scheduler, [&](const store::Entry& e) -> Result<void> {
    const auto number = scheduler_in(e.key);
    if (!number || !decode_scheduler(e.value)) return unreadable(e.key);
    if (*number != ++schedulers)
      return wrong(fmt::format("scheduler {} has the number {}", schedulers, *number));
    return {};
  }));
  AllocationBook counted;
  AllocationBook book;
  std::set<std::uint32_t> live;
  TORC_TRY(each(reader, Table::allocation, [&](const store::Entry& e) -> Result<void> {
    if (e.key.size() == 1) {
      const auto read = decode_book(e.value);
      if (!read) return unreadable(e.key);
      book = *read;
      return {};
    }
    const auto number = allocation_in(e.key);
    const auto allocation = decode_allocation(e.value);
    if (!number || !allocation) return unreadable(e.key);
    if (*number != ++counted.allocations)
      return wrong(fmt::format("allocation {} has the number {}", counted.allocations, *number));
    if (allocation->scheduler > schedulers)
      return wrong(fmt::format("allocation {} is of a scheduler that is none", *number));
    if (is_live(*allocation) != (allocation->end == AllocationEnd::none))
      return wrong(fmt::format("allocation {} has ended and lives", *number));
    const bool is_there = allocation->stage == AllocationStage::queued ||
                          allocation->stage == AllocationStage::running;
    if (is_there && allocation->id.empty())
      return wrong(fmt::format("allocation {} was submitted and has no id", *number));
    if (allocation->stage == AllocationStage::intent && allocation->tries == 0)
      return wrong(fmt::format("allocation {} is being submitted and was not tried", *number));
    if (!is_live(*allocation)) return {};
    ++counted.live;
    if (allocation->stage == AllocationStage::wanted) ++counted.wanted;
    live.insert(*number);
    return {};
  }));
  TORC_TRY(each(reader, Table::live_allocation, [&](const store::Entry& e) -> Result<void> {
    const auto number = live_allocation_in(e.key);
    if (!number) return unreadable(e.key);
    if (live.erase(*number) == 0)
      return wrong(fmt::format("allocation {} is listed as live, and is not", *number));
    return {};
  }));
  if (!live.empty())
    return wrong(fmt::format("allocation {} is live and not listed", *live.begin()));
  counted.passes = book.passes;
  counted.passed_at = book.passed_at;
  counted.left_at = book.left_at;
  counted.looked_at = book.looked_at;
  counted.answered_at = book.answered_at;
  if (counted != book) return wrong("the allocations are counted wrong");
  return {};
}

}  // namespace torc::claim
