// Counted things as messages say them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace torc {

// "1 job", "2,000 jobs"; `many` where an s is not enough: "1 entry", "2 entries".
[[nodiscard]] std::string plural(std::uint64_t n, std::string_view one, std::string_view many = {});

}  // namespace torc
