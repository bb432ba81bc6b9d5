// Options of GNU parallel that torc exec does not have, each with what to do instead.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace torc::cli {

// "--pipe" and what to do.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& missing_flags();

}  // namespace torc::cli
