#include <fmt/format.h>
#include <cmath>

#include <ctime>
#include <utility>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"

namespace torc {
namespace {

constexpr std::string_view kSizeUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

// From its largest unit on so many, less those of which it has none.
std::string in_units(std::int64_t left, int units) {
  constexpr std::pair<std::int64_t, std::string_view> kNames[] = {
      {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  std::string out;
  for (const auto& [length, name] : kNames) {
    const std::int64_t count = left / length;
    left %= length;
    if (count != 0) out += fmt::format("{}{} {}", out.empty() ? "" : " ", count, name);
    if (!out.empty() && --units == 0) break;
  }
  return out.empty() ? "0 s" : out;
}

}  // namespace

std::string show_bytes(ByteCount bytes) {
  auto value = static_cast<double>(bytes.value);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kSizeUnits); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kSizeUnits[unit]);
}

std::string show_exactly(std::chrono::seconds duration) {
  return in_units(duration.count(), 4);
}

std::string show_duration(std::chrono::microseconds d) {
  const auto us = d.count();
  if (us < 1000) return fmt::format("{} us", us);
  if (us < 1'000'000) return fmt::format("{:.0f} ms", static_cast<double>(us) / 1e3);
  if (us < 60'000'000) {
    return fmt::format("{:g} s", std::round(static_cast<double>(us) / 1e5) / 10);
  }
  return in_units(us / 1'000'000, 2);
}

std::string show_estimate(double seconds) {
  if (seconds < 1) return "<1 s";
  if (seconds >= 1e9) return "years";
  const auto s = std::llround(seconds);
  if (s < 90) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min", (s + 30) / 60);
  return show_duration(std::chrono::seconds(s));
}

std::string show_time(WallTime t) {
  if (t.count() == 0) return "-";
  const std::time_t seconds = t.count() / 1'000'000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char buffer[32];
  const std::size_t n = std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M:%S", &parts);
  return {buffer, n};
}

std::string show_age(WallTime from, WallTime now) {
  if (from.count() == 0) return "-";
  // Wall clocks of two nodes differ: a time in the future is just "now".
  if (now - from < std::chrono::seconds(1)) return "now";
  return show_duration(now - from) + " ago";
}

std::string show_count(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string plural(std::uint64_t n, std::string_view one, std::string_view many) {
  if (n == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", show_count(n), one)
                      : fmt::format("{} {}", show_count(n), many);
}

}  // namespace torc
