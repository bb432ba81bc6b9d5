#include "lib/spec/script/script_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/base/number.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc::spec {
namespace {

constexpr std::int64_t kLargest = 1'000'000'000;
// Of several ranges, which are kept number by number.
constexpr std::int64_t kMostNumbers = 1'000'000;

struct Part {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 1;
  [[nodiscard]] std::int64_t count() const { return (last - first) / step + 1; }
};

Error refused(std::string_view text) {
  return invalid(fmt::format("{} is not an array of jobs", torc::quoted(text)),
                 "write numbers, ranges and steps: 1-100, 0-99:10, 1,4,7-9; and how many run at a "
                 "time behind a '%': 1-100%10");
}

// From 0; leading zeros are nothing to Slurm.
std::optional<std::int64_t> number(std::string_view digits) {
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  const auto value = whole_number<std::int64_t>(digits);
  if (!value || *value > kLargest) return std::nullopt;
  return value;
}

std::optional<Part> part_of(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  if (!first) return std::nullopt;
  if (dash == std::string_view::npos) return Part{*first, *first, 1};
  const std::string_view rest = text.substr(dash + 1);
  const std::size_t colon = rest.find(':');
  const auto last = number(rest.substr(0, colon));
  const auto step = colon == std::string_view::npos ? 1 : number(rest.substr(colon + 1));
  if (!last || !step || *step < 1 || *last < *first) return std::nullopt;
  return Part{*first, *last, *step};
}

}  // namespace

std::int64_t ScriptArray::count() const {
  return numbers.empty() ? (last - first) / step + 1 : static_cast<std::int64_t>(numbers.size());
}

Result<ScriptArray> parse_array(std::string_view text) {
  ScriptArray array;
  const std::size_t percent = text.find('%');
  if (percent != std::string_view::npos) {
    const auto most = number(text.substr(percent + 1));
    if (!most) return refused(text);
    array.at_once = static_cast<std::uint32_t>(*most);
  }
  const std::string_view list = text.substr(0, percent);
  if (list.empty() || list.ends_with(',')) return refused(text);
  std::vector<Part> parts;
  std::int64_t total = 0;
  for (const std::string_view one : split(list, ',')) {
    const auto part = part_of(one);
    if (!part) return refused(text);
    parts.push_back(*part);
    total += part->count();
    if (parts.size() > 1 && total > kMostNumbers)
      return invalid(fmt::format("an array of several ranges with more than {} jobs", kMostNumbers),
                     "write it as one range, 1-2000000");
  }
  if (parts.size() == 1) {
    array.first = parts[0].first;
    array.step = parts[0].step;
    array.last = array.first + (parts[0].count() - 1) * array.step;
    return array;
  }
  // A set, as in Slurm: what stands there twice is there once.
  for (const Part& part : parts) {
    for (std::int64_t n = part.first; n <= part.last; n += part.step) array.numbers.push_back(n);
  }
  std::ranges::sort(array.numbers);
  const auto twice = std::unique(array.numbers.begin(), array.numbers.end());
  array.numbers.erase(twice, array.numbers.end());
  array.first = array.numbers.front();
  array.last = array.numbers.back();
  return array;
}

}  // namespace torc::spec
