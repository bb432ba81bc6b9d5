#include "lib/base/text/utf8.h"

#include <algorithm>

namespace torc {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},
    {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},
    {0x2753, 0x2757},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
    {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x1B2FB}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FC}, {0x1F7E0, 0x1F7F0}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF},
    {0x20000, 0x3FFFD}};
// Also those of Hebrew, Arabic, Devanagari, Thai and Lao, and the vowels and ends of syllables of
// Hangul.
constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x05BF, 0x05BF},  {0x05C1, 0x05C2},
    {0x05C4, 0x05C5}, {0x05C7, 0x05C7}, {0x0610, 0x061A}, {0x064B, 0x065F},  {0x0670, 0x0670},
    {0x06D6, 0x06DC}, {0x06DF, 0x06E4}, {0x0900, 0x0902}, {0x093C, 0x093C},  {0x0941, 0x0948},
    {0x094D, 0x094D}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},  {0x0EB1, 0x0EB1},
    {0x0EB4, 0x0EBC}, {0x0EC8, 0x0ECD}, {0x1160, 0x11FF}, {0x1AB0, 0x1AFF},  {0x1DC0, 0x1DFF},
    {0x200B, 0x200F}, {0x2060, 0x206F}, {0x20D0, 0x20FF}, {0x302A, 0x302D},  {0x3099, 0x309A},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF}};

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
  if (c < 0x0300) return 1;
  if (in(kCombining, c)) return 0;
  return in(kWide, c) ? 2 : 1;
}

std::size_t terminal_width(std::string_view text) {
  std::size_t cells = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    cells += c.bytes == 0 ? 1 : terminal_width(c.value);
    i += std::max<std::size_t>(c.bytes, 1);
  }
  return cells;
}

std::string_view without_bom(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

}  // namespace torc
