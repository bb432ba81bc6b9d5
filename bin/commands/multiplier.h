// A flag that says by how much something grows.
#pragma once

#include <string_view>

#include "lib/base/result.h"

namespace torc::cli {

// A number from 1 to 100, such as 1.5. Error invalid: anything else.
[[nodiscard]] Result<double> parse_multiplier(std::string_view text);

}  // namespace torc::cli
