#include "lib/spec/language/parameter_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/language/format.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

constexpr const char* kForms =
    "write a range like \"1:100\" or \"0.0:1.0:0.1\", or a list like [1, 5, 10]";

// The numbers of a range; an empty one at its end counts.
std::vector<std::string_view> bounds_of(std::string_view text) {
  std::vector<std::string_view> parts = split(text, ':');
  if (text.ends_with(':')) parts.emplace_back();
  for (std::string_view& part : parts) part = trimmed(part);
  return parts;
}

Error too_many(std::string_view text) {
  return invalid(fmt::format("{} has more than {} values", torc::quoted(text), kMaxParameterValues),
                 "use a larger step, or several parameters");
}

// What ranges of integers and of decimals have in common.
template <class Number>
Result<void> check_bounds(std::string_view text, Number first, Number last, Number step) {
  if (step == 0) return invalid(fmt::format("the step of {} is zero", torc::quoted(text)), kForms);
  if (step < 0) {
    return invalid(fmt::format("the step of {} is negative", torc::quoted(text)),
                   "write the smaller bound first and a positive step");
  }
  if (last < first) {
    return invalid(fmt::format("the range {} is empty", torc::quoted(text)),
                   "write the smaller bound first");
  }
  return {};
}

Result<ParameterValues> integer_range(std::string_view text, const std::vector<std::int64_t>& n) {
  const IntegerRange range{n[0], n[1], n.size() == 3 ? n[2] : 1};
  TORC_TRY(check_bounds(text, range.first, range.last, range.step));
  // The count of the whole range of int64 with step 1 would wrap to 0.
  const auto span =
      static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first);
  if (span / static_cast<std::uint64_t>(range.step) >= kMaxParameterValues) return too_many(text);
  return ParameterValues{range};
}

Result<ParameterValues> decimal_range(std::string_view text,
                                      const std::vector<std::string_view>& parts,
                                      const std::vector<double>& n) {
  FloatRange range{n[0], n.size() == 3 ? n[2] : 1.0, 0, 0};
  const double last = n[1];
  TORC_TRY(check_bounds(text, range.first, last, range.step));
  for (const std::string_view part : parts)
    range.decimals = std::max(range.decimals, decimals_of(part));
  constexpr int kMaxDecimals = 15;
  if (range.decimals > kMaxDecimals) range.decimals = -1;
  // In units of the last decimal the bounds are integers, and the division is exact when it should
  // be.
  const double unit = range.decimals > 0 ? std::pow(10.0, range.decimals) : 1.0;
  const auto scaled = [&](double x) { return range.decimals >= 0 ? std::round(x * unit) : x; };
  const double steps = std::floor((scaled(last) - scaled(range.first)) / scaled(range.step) + 1e-9);
  if (!(steps < static_cast<double>(kMaxParameterValues))) return too_many(text);
  range.count = static_cast<std::uint64_t>(steps) + 1;
  return ParameterValues{range};
}

// Bytes of the sign and of zeros that a number would lose: 2 of -007.
std::size_t idle_zeros(std::string_view number) {
  const std::size_t sign = number.starts_with('+') || number.starts_with('-') ? 1 : 0;
  std::size_t i = sign;
  while (i + 1 < number.size() && number[i] == '0' && is_digit(number[i + 1])) ++i;
  return i - sign;
}

// Nobody knows whether 01 is meant as a number or as two digits.
std::optional<Error> leading_zeros(std::string_view text,
                                   const std::vector<std::string_view>& parts) {
  std::string plain;
  std::size_t width = 0;
  bool whole = true;
  for (const std::string_view part : parts) {
    if (!parse_decimal(part)) return {};
    const std::size_t zeros = idle_zeros(part);
    if (zeros > 0) width = std::max(width, part.size());
    whole = whole && part.find_first_of(".eE") == std::string_view::npos;
    const std::size_t digits = part.find_first_not_of("+-");
    plain += fmt::format("{}{}{}", plain.empty() ? "" : ":", part.substr(0, digits),
                         part.substr(digits + zeros));
  }
  if (width == 0) return {};
  return invalid(fmt::format("the bounds of {} have leading zeros", torc::quoted(text)),
                 whole ? fmt::format("write {}, and a format such as {{i:0{}d}} where they are to "
                                     "be seen; a list in quotes for a text, like ['{}']",
                                     plain, width, text)
                       : fmt::format("write {}", plain));
}

// A number that would be printed in other words than `text` keeps these.
ParameterValue spelled(std::variant<std::int64_t, double> number, std::string_view text) {
  if (plain_text(number) != text) return Numeral{std::string(text)};
  return std::visit([](auto value) { return ParameterValue{value}; }, number);
}

Result<ParameterValues> parse_range(std::string_view text) {
  const std::vector<std::string_view> parts = bounds_of(text);
  const Error bad =
      invalid(fmt::format("{} is not a range", torc::quoted(text)),
              "write first:last or first:last:step; a list in quotes for a text with ':', "
              "like ['a:b']");
  if (parts.size() > 3) return bad;
  if (const auto fault = leading_zeros(text, parts)) return *fault;
  std::vector<std::int64_t> integers;
  std::vector<double> decimals;
  for (const std::string_view part : parts) {
    TORC_ASSIGN(const std::optional<std::int64_t> integer, parse_integer(part));
    if (integer) integers.push_back(*integer);
    const std::optional<double> decimal = parse_decimal(part);
    if (!decimal) return bad;
    decimals.push_back(*decimal);
  }
  if (integers.size() == parts.size()) return integer_range(text, integers);
  return decimal_range(text, parts, decimals);
}

// One element of a list in a text, cut off its front; in quotes it stays text.
Result<ParameterValue> take_element(std::string_view& rest, std::string_view whole) {
  rest = trimmed(rest);
  const char quote = rest.empty() ? ' ' : rest[0];
  if (quote != '\'' && quote != '"') {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view element = trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
    if (element.empty())
      return invalid(fmt::format("{} has an empty element", torc::quoted(whole)), kForms);
    return parse_value(element);
  }
  const std::size_t close = rest.find(quote, 1);
  if (close == std::string_view::npos) {
    return invalid(fmt::format("a {} in {} is never closed", quote, torc::quoted(whole)),
                   "close the quote");
  }
  std::string element(rest.substr(1, close - 1));
  rest = trimmed(rest.substr(close + 1));
  if (!rest.empty() && rest[0] != ',') {
    return invalid(fmt::format("{} has text behind a quote", torc::quoted(whole)),
                   "put a comma between elements");
  }
  return ParameterValue{std::move(element)};
}

Result<ParameterValues> parse_list(std::string_view text) {
  if (!text.ends_with(']'))
    return invalid(fmt::format("the list {} has no ']' at its end", torc::quoted(text)), kForms);
  std::string_view rest = trimmed(text.substr(1, text.size() - 2));
  if (rest.empty()) return invalid(fmt::format("the list {} is empty", torc::quoted(text)), kForms);
  std::vector<ParameterValue> values;
  while (true) {
    TORC_ASSIGN(ParameterValue value, take_element(rest, text));
    values.push_back(std::move(value));
    if (rest.empty()) return ParameterValues{std::move(values)};
    rest.remove_prefix(1);
  }
}

}  // namespace

Result<ParameterValue> parse_value(std::string_view text) {
  const Result<std::optional<std::int64_t>> integer = parse_integer(text);
  if (!integer.ok()) {
    return invalid(integer.error().what, "put quotes around it to use it as text");
  }
  if (integer->has_value()) return spelled(**integer, text);
  constexpr std::string_view kNotFinite[] = {".inf", "-.inf", "+.inf", ".nan",
                                             ".Inf", "-.Inf", ".NaN"};
  if (std::ranges::find(kNotFinite, text) != std::end(kNotFinite)) {
    return invalid(fmt::format("{} is not a finite number", torc::quoted(text)),
                   "put quotes around it to use it as text");
  }
  // With a leading zero it is a name that only looks like a number: 007, but not 0.7.
  const bool zeros = idle_zeros(text) > 0;
  const std::optional<double> decimal = zeros ? std::nullopt : parse_decimal(text);
  if (decimal) return spelled(*decimal, text);
  return ParameterValue{std::string(text)};
}

Result<ParameterValues> parse_values(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text.front() == '{' && text.back() == '}' &&
      text.find(',') == std::string_view::npos)
    text = trimmed(text.substr(1, text.size() - 2));
  if (text.empty()) return invalid("a parameter without values", kForms);
  if (text[0] == '[') return parse_list(text);
  if (text.find(':') != std::string_view::npos) return parse_range(text);
  TORC_ASSIGN(ParameterValue value, parse_value(text));
  return ParameterValues{std::vector<ParameterValue>{std::move(value)}};
}

}  // namespace torc::spec
