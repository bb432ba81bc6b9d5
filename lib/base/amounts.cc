#include "lib/base/amounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/text/text.h"

namespace torc {
namespace {

constexpr std::size_t kLongestResourceName = 64;

// A type may begin with a digit.
bool is_resource_word(std::string_view text, bool is_type) {
  if (text.empty() || !(is_letter(text.front()) || (is_type && is_digit(text.front()))))
    return false;
  return std::ranges::all_of(
      text, [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; });
}

auto place_of(const Amounts& amounts, std::string_view name) {
  return std::lower_bound(amounts.begin(), amounts.end(), name,
                          [](const Amount& a, std::string_view n) { return a.name < n; });
}

}  // namespace

std::optional<std::string> resource_name(std::string_view text) {
  if (text.size() > kLongestResourceName) return std::nullopt;
  const std::size_t slash = text.find('/');
  if (!is_resource_word(text.substr(0, slash), false)) return std::nullopt;
  if (slash != std::string_view::npos && !is_resource_word(text.substr(slash + 1), true))
    return std::nullopt;
  std::string name(text);
  std::ranges::transform(name, name.begin(), [](char c) { return lower(c); });
  return name;
}

bool is_reserved_resource(std::string_view name) {
  constexpr std::string_view kOwn[] = {"cpus",     "cpu",      "memory",   "mem",        "gpus",
                                       "gpu",      "nodes",    "runtime",  "time_limit", "min_time",
                                       "num_cpus", "num_gpus", "num_nodes"};
  return std::ranges::find(kOwn, base_name(name)) != std::end(kOwn) && !name.starts_with("gpus/");
}

std::optional<std::uint64_t> parse_amount(std::string_view text) {
  if (text == "all") return kAllThereIs;
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view part =
      point == std::string_view::npos ? std::string_view("0") : text.substr(point + 1);
  if (whole.empty() || whole.size() > 7 || part.empty() || part.size() > 3) return std::nullopt;
  std::uint64_t n = 0;
  for (const std::string_view digits : {whole, part}) {
    if (!std::ranges::all_of(digits, [](char c) { return is_digit(c); })) return std::nullopt;
    for (const char c : digits) n = n * 10 + static_cast<std::uint64_t>(c - '0');
  }
  for (std::size_t i = part.size(); i < 3; ++i) n *= 10;
  if (n == 0 || n > kMostAmount) return std::nullopt;
  return n;
}

std::string show_thousandths(std::uint64_t thousandths) {
  if (thousandths == kAllThereIs) return "all";
  std::string text = std::to_string(thousandths / kWhole);
  if (thousandths % kWhole == 0) return text;
  text += fmt::format(".{:03}", thousandths % kWhole);
  while (text.ends_with('0')) text.pop_back();
  return text;
}

std::string show(const Amounts& amounts) {
  std::string text;
  for (const Amount& a : amounts)
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", show_thousandths(a.thousandths), a.name);
  return text;
}

std::string variable_of(std::string_view name) {
  std::string variable = "TORC_RESOURCE_";
  for (const char c : name) {
    if (is_letter(c)) {
      variable += upper(c);
    } else {
      variable += is_digit(c) ? c : '_';
    }
  }
  return variable;
}

bool is_of(std::string_view kind, std::string_view name) {
  return kind.starts_with(name) && (kind.size() == name.size() || kind[name.size()] == '/');
}

const Amount* find_amount(const Amounts& amounts, std::string_view name) {
  const auto at = place_of(amounts, name);
  return at != amounts.end() && at->name == name ? &*at : nullptr;
}

void set_amount(Amounts& amounts, Amount amount) {
  const auto at = amounts.begin() + (place_of(amounts, amount.name) - amounts.cbegin());
  const bool there = at != amounts.end() && at->name == amount.name;
  if (amount.thousandths == 0) {
    if (there) amounts.erase(at);
  } else if (there) {
    *at = std::move(amount);
  } else {
    amounts.insert(at, std::move(amount));
  }
}

void write_amounts_of(Encoder& out, const Amounts& amounts) {
  for (const Amount& a : amounts)
    out.text(a.name).varint(a.thousandths * 2 + (a.by_piece ? 1U : 0U));
}

std::optional<Amounts> read_amounts_of(Decoder& in, std::uint64_t count) {
  if (count > kMostNamed) return std::nullopt;
  Amounts amounts;
  while (in.ok() && amounts.size() < count) {
    Amount a;
    a.name = in.text();
    const std::uint64_t n = in.up_to(2 * kAllThereIs + 1);
    a.thousandths = n / 2;
    a.by_piece = n % 2 != 0;
    const bool ascending = amounts.empty() || amounts.back().name < a.name;
    if (!ascending || resource_name(a.name) != a.name || a.thousandths == 0) return std::nullopt;
    if (a.thousandths > kMostAmount && a.thousandths != kAllThereIs) return std::nullopt;
    amounts.push_back(std::move(a));
  }
  if (!in.ok()) return std::nullopt;
  return amounts;
}

}  // namespace torc
