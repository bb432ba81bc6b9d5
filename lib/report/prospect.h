// What is to be expected of an allocation, by the state and the reason that Slurm shows: whether it
// goes on by itself, and what a person can do where it does not. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "lib/slurm/shown.h"

namespace torc::report {

enum class Prospect : std::uint8_t {
  runs,
  starts,         // Slurm will start it when its turn comes
  unknown,        // it waits, for a reason that may pass or not
  held,           // until its user releases it
  held_by_admin,  // until an administrator does
  never,          // it does not start as it was submitted
  suspended,      // it has nodes, and its processes stand still
  none,           // it is over, or in a state that says nothing
};
[[nodiscard]] Prospect prospect_of(const slurm::ShownAllocation& allocation);
// Whether it brings workers, or has them, without anybody's doing.
[[nodiscard]] bool goes_on(const slurm::ShownAllocation& allocation);

// What its reason means, as a clause behind "allocation 5 will not start as it is: "; empty: it has
// no other words than Slurm's.
[[nodiscard]] std::string show_reason(const slurm::ShownAllocation& allocation);
// "scontrol release 5", "nothing needs to be done: …"; of `none` empty.
[[nodiscard]] std::string remedy_for(const slurm::ShownAllocation& allocation);
// "allocation 5 is held: scontrol release 5"; empty for what goes on, and for `none`.
[[nodiscard]] std::string say_stuck(const slurm::ShownAllocation& allocation);

}  // namespace torc::report
