#include <fmt/format.h>
#include <cmath>

#include <ctime>
#include <utility>

#include "lib/base/quantities.h"

namespace torc {
namespace {

constexpr std::string_view kSizeUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

struct Scaled {
  double value = 0;
  std::size_t unit = 0;  // of kSizeUnits
};

Scaled scaled(ByteCount bytes) {
  Scaled out{static_cast<double>(bytes.value)};
  for (; out.value >= 1024 && out.unit + 1 < std::size(kSizeUnits); ++out.unit) out.value /= 1024;
  return out;
}

}  // namespace

std::string show_bytes(ByteCount bytes) {
  const Scaled s = scaled(bytes);
  return s.unit == 0 ? fmt::format("{} B", bytes.value)
                     : fmt::format("{:.1f} {}", s.value, kSizeUnits[s.unit]);
}

std::string show_exactly(ByteCount bytes) {
  const Scaled s = scaled(bytes);
  return fmt::format("{:.4g} {}", s.value, kSizeUnits[s.unit]);
}

std::string show_exactly(std::chrono::seconds duration) {
  constexpr std::pair<std::int64_t, std::string_view> kNames[] = {
      {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  std::int64_t left = duration.count();
  if (left == 0) return "0s";
  std::string out;
  for (const auto& [length, name] : kNames) {
    if (left / length == 0) continue;
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", left / length, name);
    left %= length;
  }
  return out;
}

std::string show_duration(std::chrono::microseconds d) {
  const auto us = d.count();
  if (us < 1000) return fmt::format("{} us", us);
  if (us < 1'000'000) return fmt::format("{:.0f} ms", static_cast<double>(us) / 1e3);
  if (us < 60'000'000) return fmt::format("{:.1f} s", static_cast<double>(us) / 1e6);
  const auto s = us / 1'000'000;
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
  return fmt::format("{} d {} h", s / 86400, s % 86400 / 3600);
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

}  // namespace torc
