#include "lib/report/prospect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/base/text/quote.h"

namespace torc::report {
namespace {

using slurm::ShownAllocation;

struct SlurmReason {
  std::string_view word;  // Slurm's
  Prospect prospect;
  std::string_view meaning{};
};
// clang-format off
constexpr std::array kReasons{
    SlurmReason{"", Prospect::starts},
    SlurmReason{"Priority", Prospect::starts},
    SlurmReason{"Resources", Prospect::starts},
    SlurmReason{"BeginTime", Prospect::starts},
    SlurmReason{"Dependency", Prospect::starts},
    SlurmReason{"Licenses", Prospect::starts},
    SlurmReason{"Prolog", Prospect::starts},
    SlurmReason{"JobArrayTaskLimit", Prospect::starts},
    SlurmReason{"QOSMaxJobsPerUserLimit", Prospect::starts},
    SlurmReason{"AssocMaxJobsLimit", Prospect::starts},
    SlurmReason{"JobHeldUser", Prospect::held},
    SlurmReason{"JobHeldAdmin", Prospect::held_by_admin},
    SlurmReason{"DependencyNeverSatisfied", Prospect::never, "what it depends on can no longer come true"},
    SlurmReason{"PartitionTimeLimit", Prospect::never, "it asks for more time than its partition gives"},
    SlurmReason{"PartitionNodeLimit", Prospect::never, "it asks for more nodes than its partition gives, or has"},
    SlurmReason{"BadConstraints", Prospect::never, "no node is as it asks for"},
    SlurmReason{"AccountNotAllowed", Prospect::never, "its account may not use its partition"},
    SlurmReason{"InvalidAccount", Prospect::never, "its account is not valid"},
    SlurmReason{"QOSNotAllowed", Prospect::never, "its QOS may not be used with its partition or account"},
    SlurmReason{"InvalidQOS", Prospect::never, "its QOS is not valid"},
    SlurmReason{"DeadLine", Prospect::never, "it cannot end before its deadline"},
    SlurmReason{"ReservationDeleted", Prospect::never, "its reservation was deleted"},
};
// clang-format on
constexpr std::string_view kOverLimit =
    "it alone asks for more, or less, than its QOS or account allows";

// "QOSMaxCpuPerJobLimit": a limit of what one job may ask for, which does not pass when others end.
bool is_limit_of_one(std::string_view word) {
  if (!word.starts_with("QOS") && !word.starts_with("Assoc")) return false;
  const auto has = [&](std::string_view part) { return word.find(part) != word.npos; };
  return (has("Max") && (has("PerJob") || has("PerNode"))) || has("QOSMin") || has("AssocMin");
}

SlurmReason reason_of(const ShownAllocation& a) {
  const auto known = std::ranges::find(kReasons, std::string_view(a.reason), &SlurmReason::word);
  if (known != kReasons.end()) return *known;
  if (is_limit_of_one(a.reason)) return {a.reason, Prospect::never, kOverLimit};
  return {a.reason, Prospect::unknown};
}

}  // namespace

Prospect prospect_of(const ShownAllocation& a) {
  switch (slurm::stage_of(a.state)) {
    case slurm::Stage::waits:
      return reason_of(a).prospect;
    case slurm::Stage::runs:
      return a.state == "SUSPENDED" ? Prospect::suspended : Prospect::runs;
    case slurm::Stage::over:
    case slurm::Stage::other:
      return Prospect::none;
  }
  return Prospect::none;
}

bool goes_on(const ShownAllocation& a) {
  const Prospect prospect = prospect_of(a);
  return prospect == Prospect::runs || prospect == Prospect::starts ||
         prospect == Prospect::unknown;
}

std::string show_reason(const ShownAllocation& a) {
  return std::string(reason_of(a).meaning);
}

std::string remedy_for(const ShownAllocation& a) {
  const std::string id = shell_word(a.id);
  switch (prospect_of(a)) {
    case Prospect::runs:
    case Prospect::starts:
      return "nothing needs to be done: its workers come when Slurm starts it, and whether they "
             "can run the job is known then";
    case Prospect::unknown:
      return fmt::format("the reason is Slurm's; scontrol show job {} tells more", id);
    case Prospect::held:
      return "scontrol release " + id;
    case Prospect::held_by_admin:
      return fmt::format("only an administrator can release it: scontrol release {}", id);
    case Prospect::never:
      return fmt::format("scancel {} (it will not start as it is: {})", id, show_reason(a));
    case Prospect::suspended:
      return "scontrol resume " + id;
    case Prospect::none:
      return {};
  }
  return {};
}

std::string say_stuck(const ShownAllocation& a) {
  const std::string id = printable(a.id);
  switch (prospect_of(a)) {
    case Prospect::held:
      return fmt::format("allocation {} is held: {}", id, remedy_for(a));
    case Prospect::held_by_admin:
      return fmt::format("allocation {} is held, and {}", id, remedy_for(a));
    case Prospect::never:
      return fmt::format("allocation {} will not start as it is, {}: scancel {}", id,
                         show_reason(a), shell_word(a.id));
    case Prospect::suspended:
      return fmt::format("allocation {} is suspended, its jobs stand still: {}", id, remedy_for(a));
    case Prospect::runs:
    case Prospect::starts:
    case Prospect::unknown:
    case Prospect::none:
      return {};
  }
  return {};
}

}  // namespace torc::report
