#include "lib/base/text/utf8.h"

#include <algorithm>

namespace torc {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},  {0x3041, 0xA4CF},
                           {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},  {0xFE30, 0xFE6F},
                           {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                           {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};

template <std::size_t N>
bool in(const Range (&ranges)[N], char32_t c) {
  return std::ranges::any_of(ranges, [c](Range r) { return c >= r.first && c <= r.last; });
}

struct Lead {
  std::size_t bytes;
  char32_t bits;
  char32_t smallest;  // below it the form is overlong
};

Lead lead_of(unsigned char b) {
  if (b < 0x80) return {1, b, 0};
  if (b >= 0xC2 && b < 0xE0) return {2, b & 0x1FU, 0x80};
  if (b >= 0xE0 && b < 0xF0) return {3, b & 0x0FU, 0x800};
  if (b >= 0xF0 && b < 0xF5) return {4, b & 0x07U, 0x10000};
  return {0, 0, 0};
}

}  // namespace

CodePoint decode_utf8(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return {};
  const Lead lead = lead_of(static_cast<unsigned char>(text[offset]));
  if (lead.bytes == 0 || lead.bytes > text.size() - offset) return {};
  char32_t value = lead.bits;
  for (std::size_t i = 1; i < lead.bytes; ++i) {
    const char b = text[offset + i];
    if (!continues_character(b)) return {};
    value = (value << 6U) | (static_cast<unsigned char>(b) & 0x3FU);
  }
  if (value < lead.smallest || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {};
  return {value, lead.bytes};
}

std::size_t count_characters(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++n) {
    i += std::max<std::size_t>(decode_utf8(text, i).bytes, 1);
  }
  return n;
}

std::size_t terminal_width(char32_t c) {
  if (in(kCombining, c)) return 0;
  return in(kWide, c) ? 2 : 1;
}

std::string_view without_bom(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

}  // namespace torc
