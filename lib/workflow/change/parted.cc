#include "lib/workflow/change/parted.h"

#include <algorithm>

#include "lib/base/text/quote.h"
#include "lib/base/text/utf8.h"

namespace torc::workflow {
namespace {

constexpr std::size_t kShown = 60;   // bytes of each
constexpr std::size_t kBefore = 20;  // of them before where they part

std::string shown(std::string_view text, std::size_t from) {
  std::size_t end = std::min(from + kShown, text.size());
  while (end > from && end < text.size() && continues_character(text[end])) --end;
  std::string out = from > 0 ? "…" : "";
  out += printable(text.substr(from, end - from));
  return end < text.size() ? out + "…" : out;
}

}  // namespace

Parted where_they_part(std::string_view before, std::string_view now) {
  const auto part = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
  const auto at = static_cast<std::size_t>(part.first - before.begin());
  std::size_t from = at > kBefore ? at - kBefore : 0;
  while (from > 0 && from < before.size() && continues_character(before[from])) --from;
  return {shown(before, from), shown(now, from)};
}

std::string beginning_of(std::string_view text) {
  return shown(text, 0);
}

}  // namespace torc::workflow
