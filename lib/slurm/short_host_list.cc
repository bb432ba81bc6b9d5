#include "lib/slurm/short_host_list.h"

#include <cstdint>
#include <string_view>

#include "lib/base/number.h"

namespace torc::slurm {
namespace {

constexpr std::size_t kMostDigits = 18;

struct Numbered {
  std::string_view letters;
  std::string_view digits;  // empty: it does not end in a number
  std::uint64_t number = 0;
};

Numbered split_number(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t at = last == std::string_view::npos ? 0 : last + 1;
  Numbered parts{name.substr(0, at), name.substr(at)};
  if (parts.digits.size() > kMostDigits) return {name, {}};
  parts.number = whole_number<std::uint64_t>(parts.digits).value_or(0);
  return parts;
}

bool differ_in_number(const Numbered& a, const Numbered& b) {
  return !a.digits.empty() && a.letters == b.letters && a.digits.size() == b.digits.size();
}

}  // namespace

std::string short_host_list(const std::vector<std::string>& nodes) {
  std::string text;
  for (std::size_t at = 0; at < nodes.size();) {
    const Numbered first = split_number(nodes[at]);
    std::string numbers(first.digits);
    std::size_t end = at + 1;
    Numbered before = first;
    bool in_range = false;
    for (; end < nodes.size(); ++end) {
      const Numbered next = split_number(nodes[end]);
      if (!differ_in_number(first, next)) break;
      const bool follows = next.number == before.number + 1;
      if (in_range && !follows) numbers.append("-").append(before.digits);
      if (!follows) numbers.append(",").append(next.digits);
      in_range = follows;
      before = next;
    }
    if (in_range) numbers.append("-").append(before.digits);
    if (!text.empty()) text += ',';
    text.append(first.letters);
    text.append(end == at + 1 ? numbers : "[" + numbers + "]");
    at = end;
  }
  return text;
}

}  // namespace torc::slurm
