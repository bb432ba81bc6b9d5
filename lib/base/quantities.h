// Quantities as people write them, in flags and in workflow files, and as tables and messages show
// them. Every error is of kind invalid and says what is wrong with the text and what to write.
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

// Decimal, with a sign or without; no leading zeros (010 is a name, not ten). None: not a number of
// that form. An integer beyond 64 bits is an error.
[[nodiscard]] Result<std::optional<std::int64_t>> parse_integer(std::string_view text);
// A finite decimal number, with a point or an exponent or both, or an integer. None: anything else.
[[nodiscard]] std::optional<double> parse_decimal(std::string_view text);
// A part of a whole in thousandths: 0.5, 50%, 0.125, 12.5%. None: no such text, more than all, or
// finer than a thousandth.
[[nodiscard]] std::optional<std::uint32_t> parse_thousandths(std::string_view text);
// Digits after the point that the number needs: 2 for 0.25, 5 for 1e-5. Precondition:
// parse_decimal() accepts it.
[[nodiscard]] int decimals_of(std::string_view text);

// 512k, 100m, 2g, 1t, 2GiB, 1.5g, 4096 (bytes). k is 1024, as everywhere in Slurm. At most 1 EiB.
[[nodiscard]] Result<ByteCount> parse_bytes(std::string_view text);
// Bytes as people write them: up to 64 MiB, from 4 GiB on up to 512 MiB.
[[nodiscard]] std::uint64_t rounded_memory(double bytes);
// Of a job or a worker, in a file or a flag: the same, but more than nothing, and a number without
// a unit only from 1 MiB on: `8` is hardly ever meant as bytes.
[[nodiscard]] Result<ByteCount> parse_memory(std::string_view text);
// What `sbatch --mem` takes, of one node; without a unit MiB. None: not given, or 0, which means
// all of the node's.
[[nodiscard]] std::optional<ByteCount> parse_slurm_memory(std::string_view mem);

// A flag: 90s, 30m, 4h, 2d, 1h30m; PT30M, P1DT12H, P2W; 1:30:00 and 2-12:00:00. None of those whose
// unit is left to guess, a number alone and 30:00, but for 0. Perhaps nothing, at most 3650 days,
// in whole seconds (rounded up), as are all below.
[[nodiscard]] Result<std::chrono::seconds> parse_duration(std::string_view text);
// In a workflow file and of `torc set`: the same, and more than nothing.
[[nodiscard]] Result<std::chrono::seconds> parse_spec_duration(std::string_view text);
// What `sbatch --time` takes: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
// days-hours:minutes, days-hours:minutes:seconds; none for UNLIMITED and INFINITE. More than
// nothing.
[[nodiscard]] Result<std::optional<std::chrono::seconds>> parse_walltime(std::string_view text);
// The same as Slurm itself writes it: up to a hundred years; none for zero and -1, too.
[[nodiscard]] Result<std::optional<std::chrono::seconds>> parse_time_limit(std::string_view text);

[[nodiscard]] std::string show_bytes(ByteCount bytes);  // to four digits: "4 GiB", "23.47 GiB"
[[nodiscard]] std::string show_duration(
    std::chrono::microseconds d);  // "250 ms", "2.5 s", "3 min 20 s", "2 h"
// To the second: "1 d 12 h", "1 min 30 s".
[[nodiscard]] std::string show_exactly(std::chrono::seconds duration);
// A time that is only guessed, in seconds: "<1 s", "40 s", "12 min", "2 h 5 min".
[[nodiscard]] std::string show_estimate(double seconds);
[[nodiscard]] std::string show_time(WallTime t);  // local time, "2026-05-01 12:00:00"; 0: "-"
[[nodiscard]] std::string show_age(WallTime from, WallTime now);  // "12 s ago"; 0: "-"
[[nodiscard]] std::string show_count(std::uint64_t n);            // "1,000,000"

}  // namespace torc
