// Plain handling of texts: ASCII characters, whatever the locale, parts, and words of enumerations.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace torc {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Without `blanks` at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The parts between separators; one at the end ends the last part. Views into `text`.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    parts.push_back(text.substr(0, text.find(separator)));
    text.remove_prefix(std::min(parts.back().size() + 1, text.size()));
  }
  return parts;
}
// Of a temporary text the parts would be gone before anybody looks at them.
template <std::same_as<std::string> Text>
std::vector<std::string_view> split(Text&& text, char separator) = delete;

// The word of an enumeration's value, from all of them in its order; "?" beyond.
template <class Enum, std::size_t N>
constexpr std::string_view word_of(Enum value, const std::string_view (&words)[N]) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? words[i] : "?";
}

}  // namespace torc
