#include "lib/spec/text/placeholder.h"

#include <algorithm>
#include <optional>

#include "lib/base/text/text.h"

namespace torc::spec {
namespace {

bool begins_name(char c) {
  return is_letter(c) || c == '_';
}
bool is_of_name(char c) {
  return begins_name(c) || is_digit(c);
}

// Flags, width and precision, then at most one letter for the kind: what printf and Python have in
// common.
bool is_format(std::string_view text) {
  if (text.empty()) return false;
  if (is_letter(text.back())) text.remove_suffix(1);
  return text.find_first_not_of("-+#0123456789.<>^=,") == std::string_view::npos;
}

enum class Form : bool { right, wrong };  // of the format

// The placeholder whose opening brace is at `begin`, if there is one with a format of that form.
std::optional<Placeholder> placeholder_at(std::string_view text, std::size_t begin, Form form) {
  if (begin > 0 && (text[begin - 1] == '$' || text[begin - 1] == '{')) return {};
  std::size_t i = begin + 1;
  while (i < text.size() && is_of_name(text[i])) ++i;
  const std::string_view name = text.substr(begin + 1, i - begin - 1);
  if (!is_identifier(name) || i == text.size()) return {};
  if (text[i] == '}' && form == Form::right) return Placeholder{begin, i + 1, name, {}};
  if (text[i] != ':') return {};
  const std::size_t close = text.find_first_of("{}", i);
  if (close == std::string_view::npos || text[close] != '}') return {};
  const std::string_view format = text.substr(i + 1, close - i - 1);
  if (form == Form::wrong &&
      format.find_first_of(" \t\n\r\"'`$(){}[]/\\") != std::string_view::npos)
    return {};
  if (is_format(format) != (form == Form::right)) return {};
  return Placeholder{begin, close + 1, name, format};
}

std::vector<Placeholder> all_of_form(std::string_view text, Form form) {
  std::vector<Placeholder> found;
  for (std::size_t i = text.find('{'); i != std::string_view::npos; i = text.find('{', i)) {
    if (const auto p = placeholder_at(text, i, form)) {
      found.push_back(*p);
      i = p->end;
    } else {
      ++i;
    }
  }
  return found;
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && begins_name(text.front()) && std::ranges::all_of(text, is_of_name);
}

std::vector<Placeholder> placeholders(std::string_view text) {
  return all_of_form(text, Form::right);
}

std::vector<Placeholder> misformatted(std::string_view text) {
  return all_of_form(text, Form::wrong);
}

}  // namespace torc::spec
