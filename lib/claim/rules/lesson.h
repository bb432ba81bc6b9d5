// What the failure of one job teaches those of its template that have not been claimed yet: pure.
#pragma once

#include <cstdint>

#include "lib/claim/rules/plan.h"

namespace torc::claim {

// The class in which a job waits that waited in `now`, once another one was given more and has
// `grown`. The same as `now` where the two differ in more than memory and times, where it would
// have less than now, and where nothing of the kind is declared.
[[nodiscard]] JobClass taught(const JobClass& now, const JobClass& grown,
                              std::uint32_t alternative);

}  // namespace torc::claim
