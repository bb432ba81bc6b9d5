// The texts of KDL in quotes: on one line, over several, and raw ones.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "lib/spec/forms/kdl_text.h"

namespace torc::spec {
namespace {

constexpr std::string_view kLines = "\"\"\"";

// Where a text stands in the file, for what is wrong with it.
struct Span {
  std::size_t begin;
  std::size_t bytes;
};

[[noreturn]] void fail(Span span, std::string message, std::string remedy) {
  throw FormMistake{span.begin, span.bytes, std::move(message), std::move(remedy)};
}

bool is_space(char32_t c) {
  return c == ' ' || c == '\t' || is_unicode_blank(c) || is_kdl_line_end(c);
}

void skip_space(FormCursor& in) {
  std::size_t bytes = 0;
  while (!in.at_end() && is_space(in.character(bytes))) in.go(bytes);
}

// Behind "\u".
char32_t take_code(FormCursor& in, Span span) {
  constexpr std::size_t kMost = 6;
  const bool open = in.take('{');
  const std::string_view hex = in.hex_digits(kMost);
  in.go(hex.size());
  const bool closed = open && !hex.empty() && in.take('}');
  char32_t value = 0;
  unsigned number = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
  value = number;
  if (!closed || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
    fail(span, "an escape of no character",
         "write \\u{…} with one to six hexadecimal digits of a character");
  return value;
}

// What an escape stands for; the backslash has been taken.
void append_escape(FormCursor& in, Span span, std::string& out) {
  constexpr std::pair<char, char> kSimple[] = {{'n', '\n'}, {'r', '\r'},  {'t', '\t'},
                                               {'b', '\b'}, {'f', '\f'},  {'s', ' '},
                                               {'"', '"'},  {'\\', '\\'}, {'/', '/'}};
  for (const auto& [letter, meaning] : kSimple) {
    if (!in.take(letter)) continue;
    out += meaning;
    return;
  }
  if (in.take('u')) return append_utf8(out, take_code(in, span));
  std::size_t bytes = 0;
  if (is_space(in.character(bytes)) && bytes > 0) return skip_space(in);
  fail(span, fmt::format("\\{} is not an escape", in.word()), "write \\\\ for a backslash");
}

std::string with_escapes(std::string_view raw, Span span) {
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  FormCursor in(raw);
  std::string out;
  while (!in.at_end()) {
    const std::size_t plain = std::min(raw.find('\\', in.at()), raw.size());
    out.append(raw, in.at(), plain - in.at());
    in.go_to(plain);
    if (in.take('\\')) append_escape(in, span, out);
  }
  return out;
}

// Backslashes in front of blanks, and these: they go before the lines are looked at.
std::string without_space_escapes(std::string_view raw) {
  FormCursor in(raw);
  std::string out;
  while (!in.at_end()) {
    const std::size_t plain = std::min(raw.find('\\', in.at()), raw.size());
    out.append(raw, in.at(), plain - in.at());
    in.go_to(plain);
    if (!in.take('\\')) break;
    std::size_t bytes = 0;
    if (is_space(in.character(bytes)) && bytes > 0) {
      skip_space(in);
    } else {
      out += '\\';
      (void)in.character(bytes);
      out.append(raw, in.at(), bytes);
      in.go(bytes);
    }
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  FormCursor in(text);
  std::size_t begin = 0;
  while (!in.at_end()) {
    const std::size_t end = in.at();
    if (take_kdl_line_end(in)) {
      lines.push_back(text.substr(begin, end - begin));
      begin = in.at();
    } else {
      std::size_t bytes = 0;
      (void)in.character(bytes);
      in.go(bytes);
    }
  }
  lines.push_back(text.substr(begin));
  return lines;
}

bool is_blank_line(std::string_view line) {
  FormCursor in(line);
  skip_space(in);
  return in.at_end();
}

// Of a text over several lines, what its last line is indented by is taken off all of them.
std::string dedented(std::string_view body, Span span) {
  std::vector<std::string_view> lines = lines_of(body);
  if (lines.size() < 2)
    fail(span, "a line end must follow this \"\"\"", "begin the text on a line of its own");
  if (!lines.front().empty())
    fail(span, "text follows this \"\"\" on its line", "begin the text on a line of its own");
  const std::string_view indent = lines.back();
  if (!is_blank_line(indent))
    fail(span, "the closing \"\"\" does not stand alone on its line", "put it on one of its own");
  std::string text;
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    if (i > 1) text += '\n';
    if (is_blank_line(lines[i])) continue;
    if (!lines[i].starts_with(indent))
      fail(span, "a line of this text is indented less than its closing \"\"\"",
           "indent it by the same blanks");
    text += lines[i].substr(indent.size());
  }
  return text;
}

// Where the closing `end` begins. Escapes hide a quote unless the text is raw.
std::size_t find_end(const FormCursor& in, std::string_view end, bool raw) {
  std::size_t at = in.at();
  while (true) {
    at = in.text().find_first_of("\"\\", at);
    if (at == std::string_view::npos) return at;
    if (in.text()[at] == '"' && in.text().substr(at).starts_with(end)) return at;
    at += in.text()[at] == '\\' && !raw ? 2 : 1;
    if (at > in.text().size()) return std::string_view::npos;
  }
}

std::size_t count_of(const FormCursor& in, std::size_t from, char c) {
  std::size_t n = 0;
  while (in.peek(from + n) == c) ++n;
  return n;
}

}  // namespace

bool is_at_kdl_text(const FormCursor& in) {
  const std::size_t begin = in.peek() == 'r' ? 1 : 0;
  return in.peek(begin + count_of(in, begin, '#')) == '"';
}

std::string take_kdl_text(FormCursor& in) {
  const std::size_t begin = in.at();
  bool raw = in.take('r');
  const std::size_t hashes = count_of(in, 0, '#');
  raw = raw || hashes > 0;
  in.go(hashes);
  // Three quotes begin a text of lines, except for an empty one with a '#' behind: #""#.
  const bool lines = in.is_at(kLines);
  const std::size_t quotes = lines ? kLines.size() : 1;
  const std::size_t opening = in.at() + quotes - begin;
  in.go(quotes);
  const std::string end = std::string(quotes, '"') + std::string(hashes, '#');
  const std::size_t close = find_end(in, end, raw);
  if (close == std::string_view::npos)
    fail({begin, opening}, fmt::format("this {} is never closed", in.text().substr(begin, opening)),
         fmt::format("close it with {}", end));
  const std::string_view body = in.text().substr(in.at(), close - in.at());
  in.go_to(close + end.size());
  const std::size_t first_line = std::min(in.since(begin).find('\n'), in.at() - begin);
  const Span span{begin, first_line};
  if (!lines) return raw ? std::string(body) : with_escapes(body, span);
  if (raw) return dedented(body, span);
  return with_escapes(dedented(without_space_escapes(body), span), span);
}

}  // namespace torc::spec
