#include "lib/base/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>
#include <limits>

namespace torc {
namespace {

Error not_a(std::string_view kind, std::string_view text, std::string_view examples) {
  return Error{ErrorKind::invalid, fmt::format("'{}' is no {}", text, kind),
               fmt::format("write it like {}", examples)};
}

constexpr std::chrono::seconds kLongest = std::chrono::days(3650);  // as lib/spec/text/quantity.cc
constexpr std::uint64_t kFar = std::uint64_t{1} << 60;

Result<std::chrono::seconds> bounded(std::chrono::seconds time, std::string_view text) {
  if (time <= kLongest) return time;
  return Error{ErrorKind::invalid, fmt::format("'{}' is longer than ten years", text),
               "3650d is the most; most limits can be left out"};
}

// Reads "1h30m" and the like; nothing when it is not of that form.
std::optional<std::chrono::seconds> unit_chain(std::string_view text) {
  std::uint64_t total = 0;
  bool any = false;
  while (!text.empty()) {
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || n > 1'000'000'000) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    std::uint64_t unit = 1;
    if (text.empty()) {
      if (any) return std::nullopt;  // "1h30" is ambiguous
    } else {
      switch (std::tolower(static_cast<unsigned char>(text.front()))) {
        case 's':
          unit = 1;
          break;
        case 'm':
          unit = 60;
          break;
        case 'h':
          unit = 3600;
          break;
        case 'd':
          unit = 86400;
          break;
        case 'w':
          unit = 604800;
          break;
        default:
          return std::nullopt;
      }
      text.remove_prefix(1);
    }
    total = std::min(total + n * unit, kFar);
    any = true;
  }
  if (!any) return std::nullopt;
  return std::chrono::seconds(total);
}

}  // namespace

Result<ByteCount> parse_bytes(std::string_view text) {
  const auto bad = [&] { return not_a("amount of memory", text, "512m, 4g, 2GiB"); };
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{}) return bad();
  std::string unit(end, text.data() + text.size());
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.ends_with("ib"))
    unit.resize(unit.size() - 2);
  else if (unit.ends_with("b"))
    unit.resize(unit.size() - 1);
  int shift = 0;
  if (unit == "k")
    shift = 10;
  else if (unit == "m")
    shift = 20;
  else if (unit == "g")
    shift = 30;
  else if (unit == "t")
    shift = 40;
  else if (!unit.empty())
    return bad();
  if (n > (std::numeric_limits<std::uint64_t>::max() >> shift)) return bad();
  return ByteCount{n << shift};
}

Result<std::chrono::seconds> parse_duration(std::string_view text) {
  std::string_view body = text;
  if (body.starts_with("PT") || body.starts_with("pt")) body.remove_prefix(2);
  if (auto seconds = unit_chain(body)) return bounded(*seconds, text);
  if (text.find(':') != std::string_view::npos || text.find('-') != std::string_view::npos) {
    auto limit = parse_time_limit(text);
    if (limit && *limit) return bounded(**limit, text);
  }
  return not_a("duration", text, "90s, 30m, 4h, 1h30m, PT30M or 1:30:00");
}

std::string show_bytes(ByteCount bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes.value);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes.value)
                   : fmt::format("{:.1f} {}", value, kUnits[unit]);
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
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
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
