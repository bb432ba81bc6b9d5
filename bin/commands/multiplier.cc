#include "bin/commands/multiplier.h"

#include <fmt/format.h>

#include "lib/base/quantities.h"

namespace torc::cli {

Result<double> parse_multiplier(std::string_view text) {
  constexpr double kMost = 100;
  const auto number = parse_decimal(text);
  if (number && *number >= 1 && *number <= kMost) return *number;
  return Error{ErrorKind::invalid, fmt::format("'{}' is not a number from 1 to {}", text, kMost),
               "write the factor to multiply by, such as 1.5"};
}

}  // namespace torc::cli
