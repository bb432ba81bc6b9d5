// Numbers as programs write them: digits, with a '-' where the type has one, and nothing around
// them. What people write is read by quantities.h.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace torc {

// nullopt: something else stands in the text, or behind the number, or it does not fit.
template <std::integral Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text, int base = 10) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// The same of what the text begins with.
template <std::integral Number>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text, int base = 10) {
  Number value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace torc
