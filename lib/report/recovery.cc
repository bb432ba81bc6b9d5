#include "lib/report/recovery.h"

#include <fmt/format.h>

#include "lib/base/quantities.h"

namespace torc::report {

Proposal proposal_for(const FailedGroup& group, const claim::Ceilings& most,
                      const RecoveryTerms& terms) {
  Proposal proposal = claim::proposal_for(group, most, terms);
  const bool is_to_be_mended = group.trouble == Trouble::mend && group.cause;
  if (proposal.remedy == Remedy::skip && is_to_be_mended)
    proposal.why = std::string(row_of(*group.cause).remedy);
  return proposal;
}

claim::Setting setting_of(const Proposal& p) {
  claim::Setting setting;
  if (p.remedy == Remedy::raise_memory) setting.needs["memory"] = p.memory.value;
  if (p.remedy != Remedy::raise_runtime) return setting;
  if (p.runtime.count() > 0)
    setting.needs["runtime"] = static_cast<std::uint64_t>(p.runtime.count());
  if (p.time_limit.count() > 0)
    setting.needs["time_limit"] = static_cast<std::uint64_t>(p.time_limit.count());
  return setting;
}

std::string say(const Proposal& p) {
  switch (p.remedy) {
    case Remedy::raise_memory:
      return fmt::format("raise memory to {}", show_bytes(p.memory));
    case Remedy::raise_runtime:
      return p.runtime.count() > 0 && p.time_limit.count() > 0
                 ? fmt::format("raise runtime to {}, time limit to {}", show_exactly(p.runtime),
                               show_exactly(p.time_limit))
             : p.runtime.count() > 0
                 ? fmt::format("raise runtime to {}", show_exactly(p.runtime))
                 : fmt::format("raise time limit to {}", show_exactly(p.time_limit));
    case Remedy::retry:
      return "retry as it is";
    case Remedy::skip:
      break;
  }
  return "skip: " + p.why;
}

}  // namespace torc::report
