#include "lib/spec/text/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <vector>

#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kLongest = 3650 * kDay;
constexpr double kMostBytes = 1152921504606846976.0;  // 1 EiB

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

Error invalid(std::string what, std::string remedy) {
  return {ErrorKind::invalid, std::move(what), std::move(remedy)};
}

// Digits, then perhaps a point and digits; cut off the front of `text`.
std::string_view take_number(std::string_view& text) {
  std::size_t i = 0;
  while (i < text.size() && is_digit(text[i])) ++i;
  if (i > 0 && i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1])) {
    ++i;
    while (i < text.size() && is_digit(text[i])) ++i;
  }
  const std::string_view number = text.substr(0, i);
  text.remove_prefix(i);
  return number;
}

// Bytes of one unit; 0: no such unit.
double unit_bytes(std::string_view suffix) {
  const std::string unit = lower(suffix);
  if (unit.empty() || unit == "b") return 1;
  const std::size_t power = std::string_view("kmgtp").find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return 0;
  return std::pow(1024.0, static_cast<double>(power) + 1);
}

constexpr std::string_view kMemoryForms = "write it like 512k, 100m, 2g or 1t";
constexpr std::string_view kDurationForms = "write it like PT30M, PT1H30M or P1DT12H";
constexpr std::string_view kWalltimeForms =
    "write it like 30 (minutes), 01:30:00 (hours:minutes:seconds) or 2-00:00:00 (with days)";

Error bad_duration(std::string_view text) {
  return invalid(fmt::format("{} is no ISO 8601 duration", quoted(text)),
                 std::string(kDurationForms));
}

Result<seconds> checked(double amount, std::string_view text, std::string_view forms) {
  if (amount <= 0)
    return invalid(fmt::format("{} is no time at all", quoted(text)), std::string(forms));
  if (amount > static_cast<double>(kLongest)) {
    return invalid(fmt::format("{} is longer than 3650 days", quoted(text)), std::string(forms));
  }
  return seconds(static_cast<std::int64_t>(std::ceil(amount)));
}

struct Unit {
  char letter;
  bool time;  // behind the T
  std::int64_t length;
};
constexpr std::array<Unit, 5> kUnits = {{{'w', false, 7 * kDay},
                                         {'d', false, kDay},
                                         {'h', true, kHour},
                                         {'m', true, kMinute},
                                         {'s', true, 1}}};

// The seconds of "1dt12h", the P cut off; negative: not of that form.
double sum_of_units(std::string_view rest) {
  double total = 0;
  bool time = false;
  bool fraction = false;
  std::size_t next = 0;  // units come in this order, each at most once
  bool any = false;
  while (!rest.empty()) {
    if (rest[0] == 't' && !time && rest.size() > 1) {
      time = true;
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view number = take_number(rest);
    if (number.empty() || rest.empty() || fraction) return -1;
    fraction = number.find('.') != std::string_view::npos;
    while (next < kUnits.size() && (kUnits[next].letter != rest[0] || kUnits[next].time != time))
      ++next;
    if (next == kUnits.size()) return -1;
    total += parse_decimal(number).value_or(0) * static_cast<double>(kUnits[next++].length);
    rest.remove_prefix(1);
    any = true;
  }
  return any ? total : -1;
}

bool has_months_or_years(std::string_view rest) {
  const std::string_view date = rest.substr(0, rest.find('t'));
  return date.find('y') != std::string_view::npos || date.find('m') != std::string_view::npos;
}

// The numbers between the ':' of a walltime; empty: not digits and ':' alone.
std::vector<double> fields_of(std::string_view text) {
  std::vector<double> fields;
  while (true) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (!all_digits(text.substr(0, end))) return {};
    fields.push_back(parse_decimal(text.substr(0, end)).value_or(0));
    if (end == text.size()) return fields;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Result<std::optional<std::int64_t>> parse_integer(std::string_view text) {
  using Number = std::optional<std::int64_t>;
  std::string_view digits = text;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  if (!all_digits(digits) || (digits.size() > 1 && digits[0] == '0')) return Number{};
  const std::string_view number = text.starts_with('+') ? digits : text;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{}) {
    return invalid(fmt::format("{} does not fit into 64 bits", quoted(text)),
                   "write a smaller number");
  }
  return Number{value};
}

std::optional<double> parse_decimal(std::string_view text) {
  std::string_view number = text;
  if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
  if (number.empty() || !(is_digit(number[0]) || number[0] == '.')) return {};
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || !std::isfinite(value))
    return {};
  return text.starts_with('-') ? -value : value;
}

int decimals_of(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = mantissa.find('.');
  const auto written =
      point == std::string_view::npos ? 0 : static_cast<std::int64_t>(mantissa.size() - point - 1);
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  }
  return static_cast<int>(std::clamp<std::int64_t>(written - exponent, 0, 1000));
}

Result<ByteCount> parse_memory(std::string_view text) {
  std::string_view rest = text;
  const std::string_view number = take_number(rest);
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  const double unit = unit_bytes(rest);
  if (number.empty() || unit == 0) {
    return invalid(fmt::format("{} is no amount of memory", quoted(text)),
                   std::string(kMemoryForms));
  }
  const double bytes = std::floor(parse_decimal(number).value_or(kMostBytes * 2) * unit);
  if (bytes < 1)
    return invalid(fmt::format("{} is no memory at all", quoted(text)), std::string(kMemoryForms));
  if (bytes > kMostBytes) {
    return invalid(fmt::format("{} is more than 1 EiB", quoted(text)), std::string(kMemoryForms));
  }
  return ByteCount{static_cast<std::uint64_t>(bytes)};
}

std::optional<ByteCount> parse_slurm_memory(std::string_view mem) {
  if (mem.empty() || mem == "0") return {};
  const bool unit = mem.back() < '0' || mem.back() > '9';
  const auto bytes = parse_memory(unit ? std::string(mem) : fmt::format("{}m", mem));
  if (!bytes.ok()) return {};
  return *bytes;
}

Result<seconds> parse_duration(std::string_view text) {
  const std::string form = lower(text);
  if (!form.starts_with('p')) return bad_duration(text);
  const std::string_view rest = std::string_view(form).substr(1);
  if (has_months_or_years(rest)) {
    return invalid(fmt::format("{}: months and years have no fixed length", quoted(text)),
                   "write days, as in P30D; minutes stand behind a T, as in PT30M");
  }
  const double total = sum_of_units(rest);
  if (total < 0) return bad_duration(text);
  return checked(total, text, kDurationForms);
}

Result<std::optional<seconds>> parse_walltime(std::string_view text) {
  using Time = std::optional<seconds>;
  const std::string word = lower(text);
  if (word == "unlimited" || word == "infinite") return Time{};
  const Error bad = invalid(fmt::format("{} is no time limit of Slurm", quoted(text)),
                            std::string(kWalltimeForms));
  const std::size_t dash = text.find('-');
  const bool with_days = dash != std::string_view::npos;
  if (with_days && !all_digits(text.substr(0, dash))) return bad;
  const std::vector<double> f = fields_of(with_days ? text.substr(dash + 1) : text);
  if (f.empty() || f.size() > 3) return bad;
  double total = 0;
  if (with_days) {
    total = parse_decimal(text.substr(0, dash)).value_or(0) * kDay + f[0] * kHour;
    if (f.size() > 1) total += f[1] * kMinute;
    if (f.size() > 2) total += f[2];
  } else if (f.size() == 3) {
    total = f[0] * kHour + f[1] * kMinute + f[2];
  } else {
    total = f[0] * kMinute + (f.size() == 2 ? f[1] : 0);
  }
  TORC_ASSIGN(const seconds limit, checked(total, text, kWalltimeForms));
  return Time{limit};
}

std::string to_text(seconds duration) {
  constexpr std::pair<std::int64_t, std::string_view> kNames[] = {
      {kDay, "d"}, {kHour, "h"}, {kMinute, "min"}, {1, "s"}};
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

std::string to_text(ByteCount bytes) {
  constexpr std::string_view kNames[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes.value);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(kNames)) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", amount, kNames[unit]);
}

}  // namespace torc::spec
