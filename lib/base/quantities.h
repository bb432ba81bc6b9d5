// Quantities as people write them in flags, and as tables show them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/units.h"

namespace torc {

// "512k", "100m", "2g", "1t", "2GiB", "1048576" (bytes); binary multiples.
Result<ByteCount> parse_bytes(std::string_view text);
// At most ten years, as in workflow files. "90" and "90s", "30m", "4h", "2d", "1h30m", "PT30M",
// "1:30:00", "2-12:00:00".
Result<std::chrono::seconds> parse_duration(std::string_view text);

// A time limit as sbatch reads it: "90" (minutes), "1:30" (minutes:seconds), "1:30:00", "2-12"
// (days-hours), "2-12:30", "3-04:05:06"; "UNLIMITED", "INFINITE", "-1" and zero: no limit
// (nullopt). Errors: invalid.
Result<std::optional<std::chrono::seconds>> parse_time_limit(std::string_view text);

[[nodiscard]] std::string show_bytes(ByteCount bytes);  // "1.5 GiB"
[[nodiscard]] std::string show_duration(
    std::chrono::microseconds d);  // "0.25 s", "3 min 20 s", "2 h 5 min"
// A time that is only guessed, in seconds: "<1 s", "40 s", "12 min", "2 h 5 min".
[[nodiscard]] std::string show_estimate(double seconds);
[[nodiscard]] std::string show_time(WallTime t);  // local time, "2026-05-01 12:00:00"; 0: "-"
[[nodiscard]] std::string show_age(WallTime from, WallTime now);  // "12 s ago"; 0: "-"
[[nodiscard]] std::string show_count(std::uint64_t n);            // "1,000,000"

}  // namespace torc
