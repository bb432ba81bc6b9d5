#include "lib/slurm/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "lib/base/number.h"

namespace torc::slurm {
namespace {

using Hosts = std::vector<std::string>;

constexpr std::size_t kMaxHostBytes = 255;  // of a name in the DNS
constexpr std::size_t kMostShown = 200;

Error no_host_list(std::string_view text, std::string_view why) {
  const bool long_one = text.size() > kMostShown;
  return Error{ErrorKind::invalid,
               fmt::format("'{}{}' is not a host list: {}", text.substr(0, kMostShown),
                           long_one ? "…" : "", why),
               "write one as Slurm prints it, for example n[01-04,7],login1"};
}

// A short list could else ask for a hundred thousand long names.
Error too_long(std::string_view text) {
  return no_host_list(text, fmt::format("a host's name has more than {} bytes", kMaxHostBytes));
}

// "01-04,7" -> 01 02 03 04 7. As wide as the range's first number is written.
Result<Hosts> expand_ranges(std::string_view ranges, std::string_view text) {
  Hosts numbers;
  while (true) {
    const auto comma = ranges.find(',');
    const auto range = ranges.substr(0, comma);
    const auto dash = range.find('-');
    const auto low = range.substr(0, dash);
    const auto first = whole_number<std::uint64_t>(low);
    const auto last = dash == std::string_view::npos
                          ? first
                          : whole_number<std::uint64_t>(range.substr(dash + 1));
    if (!first || !last)
      return no_host_list(text, fmt::format("'{}' is not a range of numbers", range));
    if (*last < *first)
      return no_host_list(text, fmt::format("the range '{}' runs backwards", range));
    if (*last - *first >= kMaxHosts - numbers.size())
      return no_host_list(text, "it has too many hosts");
    if (low.size() > kMaxHostBytes) return too_long(text);
    // Counted, since a last number of 2^64 - 1 is never passed.
    for (std::uint64_t i = 0; i <= *last - *first; ++i)
      numbers.push_back(fmt::format("{:0{}}", *first + i, low.size()));
    if (comma == std::string_view::npos) return numbers;
    ranges.remove_prefix(comma + 1);
  }
}

bool by_size(const std::string& a, const std::string& b) {
  return a.size() < b.size();
}

// One element between top-level commas: text and brackets in turn.
Result<Hosts> expand_element(std::string_view element, std::string_view text) {
  Hosts hosts{""};
  std::size_t longest = 0;  // of them
  while (!element.empty()) {
    const auto open = element.find('[');
    const auto literal = element.substr(0, open);
    if (literal.find(']') != std::string_view::npos) return no_host_list(text, "a ']' has no '['");
    longest += literal.size();
    if (longest > kMaxHostBytes) return too_long(text);
    for (auto& host : hosts) host += literal;
    if (open == std::string_view::npos) break;
    const auto close = element.find(']', open);
    if (close == std::string_view::npos) return no_host_list(text, "a '[' has no ']'");
    TORC_ASSIGN(const auto numbers,
                expand_ranges(element.substr(open + 1, close - open - 1), text));
    if (hosts.size() * numbers.size() > kMaxHosts)
      return no_host_list(text, "it has too many hosts");
    longest += std::max_element(numbers.begin(), numbers.end(), by_size)->size();
    if (longest > kMaxHostBytes) return too_long(text);
    Hosts longer;
    longer.reserve(hosts.size() * numbers.size());
    for (const auto& host : hosts) {
      for (const auto& n : numbers) longer.push_back(host + n);
    }
    hosts = std::move(longer);
    element.remove_prefix(close + 1);
  }
  return hosts;
}

// Where the element at the front of `list` ends: at a comma outside brackets.
std::size_t element_end(std::string_view list) {
  bool inside = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') inside = true;
    if (list[i] == ']') inside = false;
    if (list[i] == ',' && !inside) return i;
  }
  return list.size();
}

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view text) {
  Hosts hosts;
  auto rest = text;
  if (rest.empty()) return hosts;
  while (true) {
    const auto end = element_end(rest);
    if (end == 0) return no_host_list(text, "an element is empty");
    TORC_ASSIGN(auto more, expand_element(rest.substr(0, end), text));
    if (hosts.size() + more.size() > kMaxHosts) return no_host_list(text, "it has too many hosts");
    hosts.insert(hosts.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    if (end == rest.size()) return hosts;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace torc::slurm
