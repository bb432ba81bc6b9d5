#include "lib/workflow/change/parted.h"

#include <algorithm>

#include "lib/base/quote.h"

namespace torc::workflow {
namespace {

constexpr std::size_t kShown = 60;   // bytes of each
constexpr std::size_t kBefore = 20;  // of them before where they part

// Within a character of UTF-8.
bool is_inside(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
}

std::string shown(std::string_view text, std::size_t from) {
  std::size_t end = std::min(from + kShown, text.size());
  while (end > from && is_inside(text, end)) --end;
  std::string out = from > 0 ? "…" : "";
  out += printable(text.substr(from, end - from));
  return end < text.size() ? out + "…" : out;
}

}  // namespace

Parted where_they_part(std::string_view before, std::string_view now) {
  const auto part = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
  const auto at = static_cast<std::size_t>(part.first - before.begin());
  std::size_t from = at > kBefore ? at - kBefore : 0;
  while (from > 0 && is_inside(before, from)) --from;
  return {shown(before, from), shown(now, from)};
}

std::string beginning_of(std::string_view text) {
  return shown(text, 0);
}

}  // namespace torc::workflow
