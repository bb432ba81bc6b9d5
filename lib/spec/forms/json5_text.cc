#include "lib/spec/forms/json5_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc::spec {
namespace {

constexpr char32_t kLineSeparator = 0x2028;
constexpr char32_t kParagraphSeparator = 0x2029;

bool ends_line(char32_t c) {
  return c == '\n' || c == '\r' || c == kLineSeparator || c == kParagraphSeparator;
}

bool is_blank(char32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == kLineSeparator || c == kParagraphSeparator ||
         is_unicode_blank(c);
}

bool begins_name(char32_t c) {
  return c < 0x80 ? is_letter(static_cast<char>(c)) || c == '_' || c == '$' : is_unicode_letter(c);
}

bool continues_name(char32_t c) {
  return begins_name(c) || (c < 0x80 && is_digit(static_cast<char>(c)));
}

unsigned take_hex(FormCursor& in, std::size_t digits, std::size_t escape) {
  const std::string_view hex = in.hex_digits(digits);
  if (hex.size() < digits) {
    throw FormMistake{escape, in.at() + hex.size() - escape,
                      fmt::format("an escape with fewer than {} hexadecimal digits", digits),
                      "write them all, as \\x41 and \\u0041; \\\\ is a backslash"};
  }
  unsigned value = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  in.go(digits);
  return value;
}

// Behind \u. Two of them may stand for one character.
char32_t take_unicode_escape(FormCursor& in, std::size_t escape) {
  const char32_t unit = take_hex(in, 4, escape);
  if (unit < 0xD800 || unit > 0xDFFF) return unit;
  if (unit < 0xDC00 && in.take("\\u")) {
    const char32_t low = take_hex(in, 4, escape);
    if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((unit - 0xD800) << 10U) + (low - 0xDC00);
  }
  throw FormMistake{escape, in.at() - escape, "half of a pair of escapes",
                    "write the character itself, or both escapes of it, as \\ud83d\\ude00"};
}

// Behind the backslash at `escape`.
void append_escape(FormCursor& in, std::size_t escape, std::string& out) {
  constexpr std::pair<char, char> kSimple[] = {{'b', '\b'}, {'f', '\f'}, {'n', '\n'},
                                               {'r', '\r'}, {'t', '\t'}, {'v', '\v'}};
  const char c = in.peek();
  for (const auto& [letter, meaning] : kSimple) {
    if (c != letter) continue;
    in.go(1);
    out += meaning;
    return;
  }
  if (in.take('x')) return append_utf8(out, take_hex(in, 2, escape));
  if (in.take('u')) return append_utf8(out, take_unicode_escape(in, escape));
  if (is_digit(c)) {
    if (c != '0' || is_digit(in.peek(1))) {
      throw FormMistake{escape, 2, "an escape with a decimal digit",
                        "write \\x and two hexadecimal digits, or \\\\ for a backslash"};
    }
    in.go(1);
    out += '\0';
    return;
  }
  if (in.take("\r\n")) return;  // the line goes on
  std::size_t bytes = 0;
  const char32_t character = in.character(bytes);
  if (!ends_line(character)) append_utf8(out, character);
  in.go(bytes);
}

// Digits from here on.
std::string take_digits(FormCursor& in) {
  const std::size_t begin = in.at();
  while (is_digit(in.peek())) in.go(1);
  return std::string(in.since(begin));
}

std::string take_hex_number(FormCursor& in, std::size_t begin) {
  in.go(2);
  const std::string_view digits = in.hex_digits(in.text().size());
  if (digits.empty())
    throw FormMistake{begin, in.at() - begin, "a hexadecimal number without digits",
                      "write them behind 0x"};
  in.go(digits.size());
  std::optional<std::string> decimal = in_decimal(digits, 16);
  if (!decimal)
    throw FormMistake{begin, in.at() - begin, "a number beyond 64 bits", "write a smaller one"};
  return *std::move(decimal);
}

std::string take_decimal_number(FormCursor& in, std::size_t begin) {
  std::string number = take_digits(in);
  if (number.size() > 1 && number[0] == '0') {
    throw FormMistake{begin, in.at() - begin, "a number with leading zeros",
                      "write it without them, or put quotes around a text"};
  }
  std::string fraction;
  if (in.take('.')) fraction = take_digits(in);
  if (number.empty() && fraction.empty())
    throw FormMistake{begin, in.at() - begin, "a number without digits", "write them"};
  if (number.empty()) number = "0";
  if (!fraction.empty()) number += "." + fraction;
  if (in.peek() != 'e' && in.peek() != 'E') return number;
  in.go(1);
  number += 'e';
  if (in.peek() == '+' || in.peek() == '-') {
    number += in.peek();
    in.go(1);
  }
  const std::string exponent = take_digits(in);
  if (exponent.empty())
    throw FormMistake{begin, in.at() - begin, "an exponent without digits", "write them"};
  return number + exponent;
}

}  // namespace

void skip_json5_blanks(FormCursor& in) {
  while (!in.at_end()) {
    const std::size_t begin = in.at();
    if (in.take("//")) {
      std::size_t bytes = 0;
      while (!in.at_end() && !ends_line(in.character(bytes))) in.go(bytes);
      continue;
    }
    if (in.take("/*")) {
      const std::size_t end = in.text().find("*/", in.at());
      if (end == std::string_view::npos)
        throw FormMistake{begin, 2, "this comment is never closed", "close it with */"};
      in.go_to(end + 2);
      continue;
    }
    std::size_t bytes = 0;
    if (!is_blank(in.character(bytes))) return;
    in.go(bytes);
  }
}

std::string take_json5_string(FormCursor& in) {
  const std::size_t begin = in.at();
  const char quote = in.peek();
  in.go(1);
  std::string text;
  while (true) {
    const std::size_t plain =
        std::min(in.text().find_first_of("\"'\\\r\n", in.at()), in.text().size());
    text.append(in.text(), in.at(), plain - in.at());
    in.go_to(plain);
    if (in.take(quote)) return text;
    if (in.at_end() || in.peek() == '\n' || in.peek() == '\r') {
      throw FormMistake{begin, 1, fmt::format("this {} is not closed on its line", quote),
                        "close the quote; a '\\' at the end of a line goes on in the next"};
    }
    if (in.peek() != '\\') {
      text += in.peek();  // the other quote
      in.go(1);
      continue;
    }
    const std::size_t escape = in.at();
    in.go(1);
    if (!in.at_end()) append_escape(in, escape, text);
  }
}

std::string take_json5_name(FormCursor& in) {
  std::string name;
  while (!in.at_end()) {
    const std::size_t begin = in.at();
    std::size_t bytes = 0;
    char32_t c = in.character(bytes);
    if (in.take("\\u")) {
      c = take_unicode_escape(in, begin);
      bytes = 0;
    } else if (c == '\\') {
      throw FormMistake{begin, 1, "a backslash in a name without quotes", "put quotes around it"};
    }
    const bool good = name.empty() ? begins_name(c) : continues_name(c);
    if (!good && bytes == 0)
      throw FormMistake{begin, in.at() - begin, "an escape of what no name may have",
                        "put quotes around the name"};
    if (!good) return name;
    append_utf8(name, c);
    in.go(bytes);
  }
  return name;
}

std::optional<std::string> take_json5_number(FormCursor& in) {
  const std::size_t begin = in.at();
  const char sign = in.peek();
  const bool is_signed = sign == '+' || sign == '-';
  const std::size_t skip = is_signed ? 1 : 0;
  const char first = in.peek(skip);
  const std::string_view rest = in.text().substr(std::min(begin + skip, in.text().size()));
  const bool is_word = rest.starts_with("Infinity") || rest.starts_with("NaN");
  if (!is_signed && !is_digit(first) && first != '.' && !is_word) return {};
  in.go(skip);
  std::string number;
  if (in.take("Infinity")) {
    number = "Infinity";
  } else if (in.take("NaN")) {
    number = "NaN";
  } else if (first == '0' && (in.peek(1) == 'x' || in.peek(1) == 'X')) {
    number = take_hex_number(in, begin);
  } else {
    number = take_decimal_number(in, begin);
  }
  std::size_t bytes = 0;
  const char32_t next = in.character(bytes);
  if (bytes > 0 && (continues_name(next) || next == '.' || next == '\\')) {
    throw FormMistake{begin, in.at() - begin + in.word().size(),
                      fmt::format("{}{} is not a number", in.since(begin), in.word()),
                      "put quotes around a text"};
  }
  if (sign == '-' && number != "NaN") number.insert(number.begin(), '-');
  return number;
}

}  // namespace torc::spec
