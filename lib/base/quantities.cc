#include "lib/base/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr double kMostSeconds = 3650 * kDay;
constexpr double kMostOfSlurm = 36600 * kDay;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
constexpr double kTooMuch = 1e300;

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}
std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = torc::lower(c);
  return out;
}

constexpr std::string_view kMemoryForms = "write it like 512k, 100m, 2g or 1t";
constexpr std::string_view kDurationForms =
    "write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00";
constexpr std::string_view kWalltimeForms =
    "write it like 30 (minutes), 01:30:00 (hours:minutes:seconds) or 2-00:00:00 (with days)";

Error wrong(std::string_view text, std::string_view how, std::string_view forms) {
  return invalid(fmt::format("{} {}", quoted(text), how), std::string(forms));
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

double value_of(std::string_view digits) {
  return parse_decimal(digits).value_or(kTooMuch);
}

// The power of 1024 that a unit stands for; none: no such unit.
std::optional<unsigned> power_of(std::string_view suffix) {
  const std::string unit = lower(suffix);
  if (unit.empty() || unit == "b") return 0;
  const std::size_t power = std::string_view("kmgtp").find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return {};
  return static_cast<unsigned>(power) + 1;
}

struct Unit {
  char letter;
  bool time;  // behind the T of ISO 8601
  std::int64_t length;
};
constexpr std::array<Unit, 5> kUnits = {{{'w', false, 7 * kDay},
                                         {'d', false, kDay},
                                         {'h', true, kHour},
                                         {'m', true, kMinute},
                                         {'s', true, 1}}};

// The seconds of "1h30m": units in any order. None: not of that form.
std::optional<double> sum_of_units(std::string_view rest) {
  double total = 0;
  for (bool any = false; !any || !rest.empty(); any = true) {
    const std::string_view number = take_number(rest);
    if (number.empty() || number.find('.') != std::string_view::npos) return {};
    if (rest.empty()) return {};
    const auto* const unit = std::ranges::find(kUnits, rest[0], &Unit::letter);
    if (unit == kUnits.end()) return {};
    total += value_of(number) * static_cast<double>(unit->length);
    rest.remove_prefix(1);
  }
  return total;
}

// The seconds of "1dt12h", the P cut off: each unit at most once, the largest first, and only the
// last number with a fraction. None: not of that form.
std::optional<double> sum_of_iso_units(std::string_view rest) {
  double total = 0;
  bool time = false;
  bool fraction = false;
  std::size_t next = 0;  // of kUnits
  bool any = false;
  while (!rest.empty()) {
    if (rest[0] == 't' && !time && rest.size() > 1) {
      time = true;
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view number = take_number(rest);
    if (number.empty() || rest.empty() || fraction) return {};
    fraction = number.find('.') != std::string_view::npos;
    while (next < kUnits.size() && (kUnits[next].letter != rest[0] || kUnits[next].time != time))
      ++next;
    if (next == kUnits.size()) return {};
    total += value_of(number) * static_cast<double>(kUnits[next++].length);
    rest.remove_prefix(1);
    any = true;
  }
  return any ? std::optional(total) : std::nullopt;
}

// The seconds of "2-12:30:00" and its kind, as sbatch reads them. None: not of that form.
std::optional<double> clock_seconds(std::string_view text) {
  const std::size_t dash = text.find('-');
  const bool days = dash != std::string_view::npos;
  if (days && !all_digits(text.substr(0, dash))) return {};
  double total = days ? value_of(text.substr(0, dash)) * kDay : 0;
  const std::string_view clock = days ? text.substr(dash + 1) : text;
  const auto colons = std::count(clock.begin(), clock.end(), ':');
  if (colons > 2) return {};
  auto unit = static_cast<double>(days || colons == 2 ? kHour : kMinute);
  for (std::size_t at = 0; at <= clock.size(); unit /= 60) {
    const std::size_t end = std::min(clock.find(':', at), clock.size());
    if (!all_digits(clock.substr(at, end - at))) return {};
    total += value_of(clock.substr(at, end - at)) * unit;
    at = end + 1;
  }
  return total;
}

bool has_months_or_years(std::string_view iso) {
  const std::string_view date = iso.substr(0, iso.find('t'));
  return date.find_first_of("ym") != std::string_view::npos;
}

Result<seconds> bounded(double amount, std::string_view text, std::string_view forms) {
  if (amount > kMostSeconds) return wrong(text, "is longer than 3650 days", forms);
  return seconds(static_cast<std::int64_t>(std::ceil(amount)));
}

Result<seconds> positive(double amount, std::string_view text, std::string_view forms) {
  if (amount <= 0) return wrong(text, "is zero", forms);
  return bounded(amount, text, forms);
}

// The seconds of all forms whose unit is not left to guess.
Result<double> duration_of(std::string_view text) {
  const std::string form = lower(text);
  if (form.starts_with('p')) {
    const std::string_view iso = std::string_view(form).substr(1);
    if (has_months_or_years(iso)) {
      return invalid(fmt::format("{}: months and years have no fixed length", quoted(text)),
                     "write days, as in P30D; minutes stand behind a T, as in PT30M");
    }
    const std::optional<double> total = sum_of_iso_units(iso);
    if (!total) return wrong(text, "is not a duration", kDurationForms);
    return *total;
  }
  if (!form.empty() && form.find_first_not_of("0123456789.") == std::string::npos)
    return wrong(text, "is a duration without a unit", kDurationForms);
  if (const std::optional<double> total = sum_of_units(form)) return *total;
  const auto colons = std::count(form.begin(), form.end(), ':');
  const std::optional<double> total = clock_seconds(form);
  if (total && colons == 1 && form.find('-') == std::string::npos)
    return wrong(text, "may be minutes or hours", kDurationForms);
  // A clock of zeros is what Slurm takes for no limit.
  if (!total || *total == 0) return wrong(text, "is not a duration", kDurationForms);
  return *total;
}

bool is_unlimited(std::string_view text) {
  const std::string word = lower(text);
  return word == "unlimited" || word == "infinite";
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
    return wrong(text, "does not fit into 64 bits", "write a smaller number");
  }
  return Number{value};
}

std::optional<std::uint32_t> parse_thousandths(std::string_view text) {
  const std::string_view number = take_number(text);
  if (number.empty() || (!text.empty() && text != "%")) return {};
  constexpr double kAll = 1000;
  const double exact = value_of(number) * (text.empty() ? kAll : kAll / 100);
  const double nearest = std::round(exact);
  constexpr double kInexact = 1e-6;  // of binary numbers
  if (exact > kAll || std::abs(exact - nearest) > kInexact) return {};
  return static_cast<std::uint32_t>(nearest);
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

Result<ByteCount> parse_bytes(std::string_view text) {
  std::string_view rest = text;
  const std::string_view number = take_number(rest);
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::optional<unsigned> power = power_of(rest);
  if (number.empty() || !power) return wrong(text, "is not an amount of memory", kMemoryForms);
  // An integer is exact, also beyond the 53 bits of a double.
  const double bytes = std::ldexp(value_of(number), static_cast<int>(10 * *power));
  if (bytes > static_cast<double>(kMostBytes))
    return wrong(text, "is more than 1 EiB", kMemoryForms);
  std::uint64_t whole = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), whole);
  if (end != number.data() + number.size()) return ByteCount{static_cast<std::uint64_t>(bytes)};
  return ByteCount{std::min(whole << (10 * *power), kMostBytes)};
}

std::uint64_t rounded_memory(double bytes) {
  const double step = bytes < 4096.0 * (1 << 20) ? 64 << 20 : 512 << 20;
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(bytes / step)) * step);
}

Result<ByteCount> parse_memory(std::string_view text) {
  TORC_ASSIGN(const ByteCount bytes, parse_bytes(text));
  const bool has_unit = text.find_first_not_of("0123456789. ") != std::string_view::npos;
  const bool is_zero = text.find_first_not_of("0.") == std::string_view::npos;
  if (!has_unit && !is_zero && bytes < mebibytes(1)) {
    return invalid(
        fmt::format("{} without a unit is {} bytes", quoted(text), bytes.value),
        fmt::format("write {0}m or {0}g, or {0}b where bytes are meant", printable(text)));
  }
  if (bytes.value == 0) return wrong(text, "is zero", kMemoryForms);
  return bytes;
}

std::optional<ByteCount> parse_slurm_memory(std::string_view mem) {
  if (mem.empty() || mem == "0") return {};
  const auto bytes =
      parse_memory(is_digit(mem.back()) ? fmt::format("{}m", mem) : std::string(mem));
  if (!bytes.ok()) return {};
  return *bytes;
}

Result<seconds> parse_duration(std::string_view text) {
  if (text == "0") return seconds(0);
  TORC_ASSIGN(const double total, duration_of(text));
  return bounded(total, text, kDurationForms);
}

Result<seconds> parse_spec_duration(std::string_view text) {
  TORC_ASSIGN(const double total, duration_of(text));
  return positive(total, text, kDurationForms);
}

Result<std::optional<seconds>> parse_walltime(std::string_view text) {
  if (is_unlimited(text)) return std::optional<seconds>();
  const std::optional<double> total = clock_seconds(text);
  if (!total) return wrong(text, "is not a time limit of Slurm", kWalltimeForms);
  TORC_ASSIGN(const seconds limit, positive(*total, text, kWalltimeForms));
  return std::optional(limit);
}

Result<std::optional<seconds>> parse_time_limit(std::string_view text) {
  if (is_unlimited(text) || text == "-1") return std::optional<seconds>();
  const std::optional<double> total = clock_seconds(text);
  if (!total || *total > kMostOfSlurm)
    return wrong(text, "is not a time limit of Slurm", kWalltimeForms);
  if (*total == 0) return std::optional<seconds>();
  return std::optional(seconds(static_cast<std::int64_t>(*total)));
}

}  // namespace torc
