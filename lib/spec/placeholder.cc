#include "lib/spec/placeholder.h"

#include <optional>

namespace torc::spec {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Flags, width and precision, then at most one letter for the kind: what printf and Python have in
// common.
bool is_format(std::string_view text) {
  if (text.empty()) return false;
  if (is_letter(text.back()) && text.back() != '_') text.remove_suffix(1);
  return text.find_first_not_of("-+#0123456789.<>^=,") == std::string_view::npos;
}

// The placeholder whose opening brace is at `begin`, if there is one.
std::optional<Placeholder> placeholder_at(std::string_view text, std::size_t begin) {
  if (begin > 0 && (text[begin - 1] == '$' || text[begin - 1] == '{')) return {};
  std::size_t i = begin + 1;
  while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]))) ++i;
  const std::string_view name = text.substr(begin + 1, i - begin - 1);
  if (!is_identifier(name) || i == text.size()) return {};
  if (text[i] == '}') return Placeholder{begin, i + 1, name, {}};
  if (text[i] != ':') return {};
  const std::size_t close = text.find_first_of("{}", i);
  if (close == std::string_view::npos || text[close] != '}') return {};
  const std::string_view format = text.substr(i + 1, close - i - 1);
  if (!is_format(format)) return {};
  return Placeholder{begin, close + 1, name, format};
}

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || !is_letter(text.front())) return false;
  for (const char c : text) {
    if (!is_letter(c) && !is_digit(c)) return false;
  }
  return true;
}

std::vector<Placeholder> placeholders(std::string_view text) {
  std::vector<Placeholder> found;
  for (std::size_t i = text.find('{'); i != std::string_view::npos; i = text.find('{', i)) {
    if (const auto p = placeholder_at(text, i)) {
      found.push_back(*p);
      i = p->end;
    } else {
      ++i;
    }
  }
  return found;
}

}  // namespace torc::spec
