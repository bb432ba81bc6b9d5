#include "lib/spec/text/reference_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/base/text/quote.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

using Section = ReferenceText::Section;

constexpr std::string_view kForm =
    "write ${files.input.NAME}, ${files.output.NAME}, or the same "
    "with user_data";

// The position behind the brace that closes the one before `from`; braces between are balanced.
std::optional<std::size_t> closing(std::string_view text, std::size_t from) {
  constexpr std::size_t kLongestName = 8192;  // of a path with much around it
  int depth = 1;
  for (std::size_t i = from; i < std::min(text.size(), from + kLongestName); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return {};
}

void judge(ReferenceText& r, std::string_view section, std::string_view side) {
  const std::string near_section = nearest(section, {"files", "user_data"});
  const std::string near_side = nearest(side, {"input", "output"});
  const bool right = section == near_section && side == near_side && !r.name.empty();
  if (right) {
    r.section = section == "files" ? Section::files : Section::user_data;
    r.side = side == "input" ? FileSide::input : FileSide::output;
    return;
  }
  r.remedy = near_side.empty() || r.name.empty()
                 ? std::string(kForm)
                 : fmt::format("did you mean ${{{}.{}.{}}}?", near_section, near_side, r.name);
}

// The reference whose "${" is at `begin`.
std::optional<ReferenceText> reference_at(std::string_view text, std::size_t begin) {
  const std::size_t word = begin + 2;
  const std::size_t dot = text.find_first_not_of(
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", word);
  if (dot == std::string_view::npos || text[dot] != '.') return {};
  const std::string_view section = text.substr(word, dot - word);
  if (nearest(section, {"files", "user_data"}).empty()) return {};
  ReferenceText r;
  r.begin = begin;
  const auto end = closing(text, dot);
  r.end = end.value_or(dot);
  if (!end) {
    r.message = fmt::format("{} is never closed", torc::quoted(text.substr(begin, dot - begin)));
    r.remedy = "add the '}'";
    return r;
  }
  const std::string_view rest = text.substr(dot + 1, r.end - dot - 2);
  const std::size_t second = rest.find('.');
  const std::string_view side = rest.substr(0, second);
  if (second != std::string_view::npos) r.name = rest.substr(second + 1);
  judge(r, section, side);
  r.message = fmt::format("{} names no file and no user data",
                          torc::quoted(text.substr(begin, r.end - begin)));
  return r;
}

}  // namespace

std::vector<ReferenceText> reference_texts(std::string_view command) {
  std::vector<ReferenceText> found;
  for (std::size_t i = command.find("${"); i != std::string_view::npos; i = command.find("${", i)) {
    if (auto r = reference_at(command, i)) {
      i = r->end;
      found.push_back(*std::move(r));
    } else {
      i += 2;
    }
  }
  return found;
}

}  // namespace torc::spec
