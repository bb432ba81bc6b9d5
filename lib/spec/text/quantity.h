// Numbers, amounts of memory and times as people write them. Every error says what is wrong with
// the text and what to write instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/units.h"

namespace torc::spec {

// Decimal, with a sign or without; no leading zeros (010 is a name, not ten). None: not a number of
// that form. An integer beyond 64 bits is an error of kind invalid.
[[nodiscard]] Result<std::optional<std::int64_t>> parse_integer(std::string_view text);
// A finite decimal number, with a point or an exponent or both, or an integer. None: anything else.
[[nodiscard]] std::optional<double> parse_decimal(std::string_view text);
// Digits after the point that the number needs: 2 for 0.25, 5 for 1e-5. Precondition:
// parse_decimal() accepts it.
[[nodiscard]] int decimals_of(std::string_view text);

// 512k, 100m, 2g, 1t, 2GiB, 1.5g, 4096 (bytes). k is 1024, as everywhere in Slurm. More than zero,
// at most 1 EiB.
[[nodiscard]] Result<ByteCount> parse_memory(std::string_view text);

// What `sbatch --mem` takes, of one node; without a unit MiB. None: not given, or 0, which means
// all of the node's.
[[nodiscard]] std::optional<ByteCount> parse_slurm_memory(std::string_view mem);

// ISO 8601: PT30M, P1DT12H, P2W. More than zero, at most 3650 days, in whole seconds (rounded up).
[[nodiscard]] Result<std::chrono::seconds> parse_duration(std::string_view text);

// What `sbatch --time` takes: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
// days-hours:minutes, days-hours:minutes:seconds; none for UNLIMITED and INFINITE. More than zero,
// at most 3650 days.
[[nodiscard]] Result<std::optional<std::chrono::seconds>> parse_walltime(std::string_view text);

// For messages: "1d 12h", "90s" as "1min 30s"; "2 GiB", "1.5 MiB".
[[nodiscard]] std::string to_text(std::chrono::seconds duration);
[[nodiscard]] std::string to_text(ByteCount bytes);

}  // namespace torc::spec
