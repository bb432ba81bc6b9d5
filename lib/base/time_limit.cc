#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include "lib/base/quantities.h"

namespace torc {
namespace {

// A hundred years; every product below stays far from overflow.
constexpr std::int64_t kMostSeconds = std::int64_t{100} * 366 * 86'400;

Error invalid(std::string_view text) {
  return Error{ErrorKind::invalid, fmt::format("'{}' is no time limit of Slurm", text),
               "write minutes, HH:MM:SS or D-HH:MM:SS"};
}

std::optional<std::int64_t> number(std::string_view digits) {
  std::int64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0 || value > kMostSeconds) return std::nullopt;
  if (digits.empty() || digits.front() == '-') return std::nullopt;
  return value;
}

// The numbers of "1:30:00", at most three.
std::optional<std::vector<std::int64_t>> colon_fields(std::string_view text) {
  std::vector<std::int64_t> fields;
  while (fields.size() < 3) {
    const auto colon = text.find(':');
    const auto field = number(text.substr(0, colon));
    if (!field) return std::nullopt;
    fields.push_back(*field);
    if (colon == std::string_view::npos) return fields;
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

// What the fields mean depends on their count and on whether days stand before them.
std::int64_t seconds_of(const std::vector<std::int64_t>& fields, bool after_days) {
  constexpr std::array<std::int64_t, 3> kFromHours{3'600, 60, 1};
  constexpr std::array<std::int64_t, 3> kFromMinutes{60, 1, 0};
  const auto& units = after_days || fields.size() == 3 ? kFromHours : kFromMinutes;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) total += fields[i] * units[i];
  return total;
}

}  // namespace

Result<std::optional<std::chrono::seconds>> parse_time_limit(std::string_view text) {
  using Limit = std::optional<std::chrono::seconds>;
  if (text == "UNLIMITED" || text == "INFINITE" || text == "unlimited" || text == "infinite" ||
      text == "-1") {
    return Limit{};
  }
  const auto dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  const auto days = has_days ? number(text.substr(0, dash)) : std::optional<std::int64_t>{0};
  const auto fields = colon_fields(has_days ? text.substr(dash + 1) : text);
  if (!days || !fields) return invalid(text);
  const auto total = *days * 86'400 + seconds_of(*fields, has_days);
  if (total > kMostSeconds) return invalid(text);
  if (total == 0) return Limit{};
  return Limit{std::chrono::seconds(total)};
}

}  // namespace torc
