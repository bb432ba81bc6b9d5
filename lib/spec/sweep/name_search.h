// From a name back to the combination of parameters that it was made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/spec/sweep/pattern.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/sweep/sweep.h"

namespace torc::spec {

// The lowest-numbered combination within `window` whose text is `name`, provided that no two within
// the sweep have one text. Reads integers and numbers out of the name and tries the values of
// lists; only a zip, and a name that can be taken apart in too many ways, cost a look at every
// combination.
[[nodiscard]] std::optional<std::uint64_t> find_combination(const Pattern& pattern,
                                                            std::span<const Parameter> parameters,
                                                            ParameterMode mode, const Sweep& sweep,
                                                            Range window, std::string_view name);

}  // namespace torc::spec
