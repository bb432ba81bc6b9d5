#include "lib/spec/forms/kdl_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc::spec {
namespace {

constexpr std::string_view kNoWord = "\\/(){};[]\"#=";

bool is_kdl_blank(char32_t c) {
  return c == ' ' || c == '\t' || is_unicode_blank(c);
}

bool is_word(char32_t c) {
  if (c < 0x80)
    return c > ' ' && c != 0x7F && kNoWord.find(static_cast<char>(c)) == std::string_view::npos;
  return !is_kdl_blank(c) && !is_kdl_line_end(c);
}

void skip_block_comment(FormCursor& in) {
  const std::size_t begin = in.at();
  std::size_t open = 0;
  do {
    const std::size_t next = in.text().find_first_of("*/", in.at());
    if (next == std::string_view::npos)
      throw FormMistake{begin, 2, "this comment is never closed",
                        "close it with */, once for each /* within it"};
    in.go_to(next);
    if (in.take("/*")) {
      ++open;
    } else if (in.take("*/")) {
      --open;
    } else {
      in.go(1);
    }
  } while (open > 0);
}

}  // namespace

bool is_kdl_line_end(char32_t c) {
  return (c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool take_kdl_line_end(FormCursor& in) {
  if (in.take("\r\n")) return true;
  std::size_t bytes = 0;
  if (!is_kdl_line_end(in.character(bytes))) return false;
  in.go(bytes);
  return true;
}

bool skip_kdl_blanks(FormCursor& in) {
  const std::size_t begin = in.at();
  while (!in.at_end()) {
    std::size_t bytes = 0;
    if (is_kdl_blank(in.character(bytes))) {
      in.go(bytes);
    } else if (in.is_at("/*")) {
      skip_block_comment(in);
    } else {
      break;
    }
  }
  return in.at() > begin;
}

bool skip_kdl_line_comment(FormCursor& in) {
  if (!in.take("//")) return false;
  std::size_t bytes = 0;
  while (!in.at_end() && !is_kdl_line_end(in.character(bytes))) in.go(bytes);
  return true;
}

bool skip_kdl_space(FormCursor& in) {
  const std::size_t begin = in.at();
  while (skip_kdl_blanks(in) || in.peek() == '\\') {
    const std::size_t line = in.at();
    if (!in.take('\\')) continue;
    (void)skip_kdl_blanks(in);
    (void)skip_kdl_line_comment(in);
    if (!take_kdl_line_end(in) && !in.at_end())
      throw FormMistake{line, 1, "a '\\' that is not the last of its line",
                        "it makes a line go on; put quotes around a text that has one"};
  }
  return in.at() > begin;
}

std::string take_kdl_word(FormCursor& in) {
  const std::size_t begin = in.at();
  std::size_t bytes = 0;
  while (!in.at_end() && is_word(in.character(bytes))) in.go(bytes);
  return std::string(in.since(begin));
}

bool is_at_kdl_number(const FormCursor& in) {
  const char first = in.peek();
  return is_digit(first) || ((first == '+' || first == '-') && is_digit(in.peek(1)));
}

namespace {

// Digits and '_', which does not come first.
std::string take_digits(FormCursor& in, std::size_t number) {
  std::string digits;
  const bool good = is_digit(in.peek());
  while (is_digit(in.peek()) || in.peek() == '_') {
    if (in.peek() != '_') digits += in.peek();
    in.go(1);
  }
  if (!good)
    throw FormMistake{number, in.at() - number + 1, "a number without a digit where one must be",
                      "write the digits, or put quotes around a text"};
  return digits;
}

std::string take_based_number(FormCursor& in, std::size_t begin, unsigned base) {
  in.go(2);
  const std::size_t first = in.at();
  const auto is_in = [&](char c) {
    const char letter = lower(c);
    if (base == 16 && letter >= 'a' && letter <= 'f') return true;
    return is_digit(c) && static_cast<unsigned>(c - '0') < base;
  };
  if (!is_in(in.peek()))
    throw FormMistake{begin, in.at() - begin + 1, fmt::format("no digit of base {} follows", base),
                      "write it"};
  while (is_in(in.peek()) || in.peek() == '_') in.go(1);
  std::optional<std::string> decimal = in_decimal(in.since(first), base);
  if (!decimal)
    throw FormMistake{begin, in.at() - begin, "a number beyond 64 bits", "write a smaller one"};
  return *std::move(decimal);
}

}  // namespace

std::string take_kdl_number(FormCursor& in) {
  const std::size_t begin = in.at();
  const bool negative = in.peek() == '-';
  if (negative || in.peek() == '+') in.go(1);
  std::string number;
  const unsigned base = in.peek() != '0'    ? 10
                        : in.peek(1) == 'x' ? 16
                        : in.peek(1) == 'o' ? 8
                        : in.peek(1) == 'b' ? 2
                                            : 10;
  if (base != 10) {
    number = take_based_number(in, begin, base);
  } else {
    number = take_digits(in, begin);
    number.erase(0, std::min(number.find_first_not_of('0'), number.size() - 1));
    if (in.take('.')) number += "." + take_digits(in, begin);
    if (in.peek() == 'e' || in.peek() == 'E') {
      in.go(1);
      number += 'e';
      if (in.peek() == '-' || in.peek() == '+') {
        number += in.peek();
        in.go(1);
      }
      number += take_digits(in, begin);
    }
  }
  std::size_t bytes = 0;
  if (is_word(in.character(bytes)) && bytes > 0) {
    (void)take_kdl_word(in);
    throw FormMistake{begin, in.at() - begin, fmt::format("{} is not a number", in.since(begin)),
                      "put quotes around a text"};
  }
  return negative ? "-" + number : number;
}

}  // namespace torc::spec
