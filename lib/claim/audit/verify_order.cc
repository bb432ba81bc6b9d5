#include <fmt/format.h>

#include <map>

#include "lib/claim/audit/verify_parts.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/queue_head.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {

Result<void> audit_order(const Reader& reader) {
  State state(reader);
  const bool ordered = state.tally().ordered;
  const SortMethod sort = read_sort(state);
  if (ordered && !can_be_ordered(sort, state.tally().rules))
    return wrong("the order of the ready queues depends on what is learned");
  std::map<std::uint32_t, QueueHead> listed;
  TORC_TRY(each(reader, Table::order, [&](const store::Entry& e) -> Result<void> {
    const auto head = decode_order(e.key, e.value);
    if (!head || e.key != std::string_view(order_key(*head, sort != SortMethod::none)))
      return unreadable(e.key);
    if (!listed.emplace(head->range.job_class, *head).second) {
      return wrong(fmt::format("class {} is listed twice in the order of the ready queues",
                               head->range.job_class));
    }
    return {};
  }));
  std::map<std::uint32_t, QueueHead> there;
  if (ordered) {
    each_ready_head(state, [&](const ReadyRange& range) {
      const JobClass job_class = state.job_class(range.job_class);
      there[range.job_class] = {range, size_of(job_class.need, sort), job_class.need.nodes};
      return true;
    });
  }
  TORC_TRY(state.sound());
  if (listed == there) return {};
  return wrong("the order of the ready queues is not that of their heads");
}

}  // namespace torc::claim
