// Times of the past as people write them.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace torc::cli {

// "2h": so long ago; or a local time, such as "2026-05-01 12:00", or "17:30", the last one. Error
// invalid, which names `flag`.
Result<WallTime> parse_moment(std::string_view flag, const std::string& text, WallTime now);

}  // namespace torc::cli
