// Just enough of UTF-8 for places and carets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace torc {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8 (or at the end of the text)
};

// The code point at `offset`. Overlong forms, surrogates and values above U+10FFFF are not UTF-8.
[[nodiscard]] CodePoint decode_utf8(std::string_view text, std::size_t offset);

// Code points in `text`; a byte that is not UTF-8 counts as one.
[[nodiscard]] std::size_t count_characters(std::string_view text);

// Whether a character goes on with this byte: nothing may be cut in front of it.
constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80;
}

// Columns that a terminal gives to it: 0 for combining marks, 2 for wide characters. An
// approximation by ranges.
[[nodiscard]] std::size_t terminal_width(char32_t c);
// The same of a line without control characters; a byte that is not UTF-8 counts as one.
[[nodiscard]] std::size_t terminal_width(std::string_view text);

// A byte order mark, which no parser wants, is cut off. Offsets are into the result.
[[nodiscard]] std::string_view without_bom(std::string_view text);

}  // namespace torc
