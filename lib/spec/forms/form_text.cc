#include "lib/spec/forms/form_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"

namespace torc::spec {
namespace {

constexpr const char* kNothingElse = "\ncorrect this first: nothing else in the file was checked";

int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  const char letter = lower(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

}  // namespace

void report_mistake(const Source& source, Report& report, std::string_view form,
                    const FormMistake& mistake) {
  report.error(source.place(mistake.begin, std::max<std::size_t>(mistake.bytes, 1)),
               fmt::format("not valid {}: {}", form, mistake.message),
               mistake.remedy + kNothingElse);
}

void report_failure(Report& report, std::string_view form, const std::exception& e) {
  report.error({}, fmt::format("the {} cannot be read: {}", form, e.what()), "make it smaller");
}

char32_t FormCursor::character(std::size_t& bytes) const {
  const CodePoint c = decode_utf8(text_, at_);
  bytes = c.bytes;
  return c.value;
}

std::string_view FormCursor::hex_digits(std::size_t most) const {
  std::size_t n = 0;
  while (n < most && at_ + n < text_.size() && digit_of(text_[at_ + n]) >= 0) ++n;
  return text_.substr(at_, n);
}

std::string_view FormCursor::word() const {
  constexpr std::size_t kShown = 40;
  std::size_t n = 0;
  const auto in_word = [&](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '$' || c == '-' || c == '.' ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  while (n < kShown && at_ + n < text_.size() && in_word(text_[at_ + n])) ++n;
  while (n > 0 && at_ + n < text_.size() && continues_character(text_[at_ + n])) --n;
  return text_.substr(at_, std::max<std::size_t>(n, at_end() ? 0 : 1));
}

bool is_unicode_blank(char32_t c) {
  return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F ||
         c == 0x3000 || c == 0xFEFF;
}

bool is_unicode_letter(char32_t c) {
  if (c < 0xAA || is_unicode_blank(c)) return false;
  if (c < 0xC0) return c == 0xAA || c == 0xB5 || c == 0xBA;
  if (c == 0xD7 || c == 0xF7) return false;
  if (c == 0x200C || c == 0x200D) return true;          // joiners within a word
  if (c >= 0x2010 && c <= 0x206F) return false;         // punctuation, ends of lines, directions
  if (c >= 0x2190 && c <= 0x2BFF) return false;         // arrows, mathematics, drawings
  if (c >= 0x3001 && c <= 0x3004) return false;         // punctuation of East Asia
  return !(c >= 0xE000 && c <= 0xF8FF) && c < 0xF0000;  // for private use
}

void append_utf8(std::string& out, char32_t c) {
  const auto byte = [&](char32_t v) { out += static_cast<char>(static_cast<unsigned char>(v)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0U | (c >> 6U));
    byte(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    byte(0xE0U | (c >> 12U));
    byte(0x80U | ((c >> 6U) & 0x3FU));
    byte(0x80U | (c & 0x3FU));
  } else {
    byte(0xF0U | (c >> 18U));
    byte(0x80U | ((c >> 12U) & 0x3FU));
    byte(0x80U | ((c >> 6U) & 0x3FU));
    byte(0x80U | (c & 0x3FU));
  }
}

std::optional<std::string> in_decimal(std::string_view digits, unsigned base) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    const auto digit = static_cast<std::uint64_t>(digit_of(c));
    if (value > (UINT64_MAX - digit) / base) return {};
    value = value * base + digit;
  }
  return std::to_string(value);
}

Node& TreeWriter::make(NodeKind kind, std::size_t begin, std::size_t bytes) {
  Node& node = tree_->nodes.emplace_back();
  node.kind = kind;
  node.closed = true;
  node.offset = static_cast<std::uint32_t>(begin);
  node.length = static_cast<std::uint32_t>(std::max<std::size_t>(bytes, 1));
  return node;
}

Node& TreeWriter::scalar(std::size_t begin, std::size_t bytes, std::string text, bool plain) {
  if (text.size() > kMaxTextBytes) {
    throw FormMistake{begin, bytes, fmt::format("a text of more than {} MiB", kMaxTextBytes >> 20U),
                      "keep it in a file of its own, and name that"};
  }
  if (text.find('\0') != std::string::npos)
    throw FormMistake{begin, bytes, "a text with a NUL character", "remove the escape of it"};
  Node& node = make(NodeKind::scalar, begin, bytes);
  node.plain = plain;
  node.nodes += static_cast<std::uint32_t>(text.size() / kBytesOfOne);
  node.text = std::move(text);
  return node;
}

void TreeWriter::append(Node& parent, const Node& child) {
  parent.items.push_back(&child);
  parent.nodes += child.nodes;
  if (parent.nodes <= kMaxNodes) return;
  throw FormMistake{child.offset, child.length,
                    fmt::format("more than {} values, long texts as one for each {} bytes",
                                kMaxNodes, kBytesOfOne),
                    "write many similar jobs as one with parameters"};
}

}  // namespace torc::spec
