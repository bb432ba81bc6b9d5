#include "lib/claim/rules/lesson.h"

#include <algorithm>

namespace torc::claim {
namespace {

// As grown_memory() and grown_runtime() have it: what is not declared is no limit, and becomes
// none.
template <class Amount>
void raise(Amount& amount, Amount declared_from, Amount to) {
  if (amount > declared_from) amount = std::max(amount, to);
}

}  // namespace

JobClass taught(const JobClass& now, const JobClass& grown, std::uint32_t alternative) {
  if (alternative >= now.alternatives() || now.alternatives() != grown.alternatives()) return now;
  JobClass after = now;
  Requirement& need = after.need_of(alternative);
  const Requirement& most = grown.need_of(alternative);
  raise(need.memory, Requirement{}.memory, most.memory);
  raise(need.runtime, std::chrono::seconds(0), most.runtime);
  raise(need.time_limit, std::chrono::seconds(0), most.time_limit);
  if (need.runtime != now.need_of(alternative).runtime) after.learns_from = 0;
  JobClass same = grown;  // but for what is each job's own
  same.alone = after.alone;
  same.learns_from = after.learns_from;
  return after == same ? after : now;
}

}  // namespace torc::claim
