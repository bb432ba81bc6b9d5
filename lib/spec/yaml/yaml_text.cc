#include "lib/spec/yaml/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lib/base/text/utf8.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {
namespace {

// What YAML calls not printable. The parser at hand takes U+0004 for the end of the file.
bool forbidden(char32_t c) {
  if (c < 0x20) return c != '\t' && c != '\n' && c != '\r';
  return c == 0x7F || (c >= 0x80 && c < 0xA0 && c != 0x85) || c == 0xFFFE || c == 0xFFFF;
}

// Reports the first bad byte only: a binary file is full of them.
bool check_characters(const Source& source, Report& report, std::string_view blanks) {
  const std::string_view text = source.text();
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    if (c.bytes == 0) {
      report.error(source.place(i),
                   fmt::format("byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(text[i])),
                   "save the file as UTF-8");
      return false;
    }
    if (c.value == 0) {
      report.error(source.place(i), "a NUL byte",
                   "a spec is text in UTF-8: is this the right file?");
      return false;
    }
    const bool blank = c.bytes == 1 && blanks.find(text[i]) != std::string_view::npos;
    if (forbidden(c.value) && !blank) {
      report.error(source.place(i),
                   fmt::format("control character U+{:04X}", static_cast<unsigned>(c.value)),
                   "remove it, or write it as an escape in double quotes");
      return false;
    }
    i += c.bytes;
  }
  return true;
}

constexpr std::size_t kEscape = 6;  // bytes of \ud83d
constexpr std::size_t kCut = 2;     // that \ud83d\ude00 has more than \U0001f600

// The four digits of an escape at `at`; 0: there is none.
unsigned escaped_unit(std::string_view text, std::size_t at) {
  const std::string_view escape = text.substr(std::min(at, text.size()), kEscape);
  if (escape.size() < kEscape || !escape.starts_with("\\u")) return 0;
  unsigned unit = 0;
  const auto [end, error] = std::from_chars(escape.data() + 2, escape.data() + kEscape, unit, 16);
  return error == std::errc() && end == escape.data() + kEscape ? unit : 0;
}

// Of the character that the two escapes at `at` stand for together; 0: they do not.
unsigned pair_at(std::string_view text, std::size_t at) {
  const unsigned high = escaped_unit(text, at);
  if (high < 0xD800 || high >= 0xDC00) return 0;
  const unsigned low = escaped_unit(text, at + kEscape);
  if (low < 0xDC00 || low >= 0xE000) return 0;
  return 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00);
}

}  // namespace

std::size_t JoinedEscapes::original(std::size_t offset) const {
  const auto before = std::ranges::upper_bound(cuts, offset) - cuts.begin();
  return offset + kCut * static_cast<std::size_t>(before);
}

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

std::optional<JoinedEscapes> join_escapes(std::string_view text) {
  if (!looks_like_json(text) || text.find("\\u") == std::string_view::npos) return {};
  JoinedEscapes joined;
  bool in_quotes = false;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_quotes = !in_quotes;
    if (!in_quotes || text[i] != '\\') continue;
    if (const unsigned character = pair_at(text, i); character != 0) {
      joined.text.append(text, done, i - done);
      joined.text += fmt::format("\\U{:08x}", character);
      joined.cuts.push_back(joined.text.size());
      done = i + 2 * kEscape;
      i = done - 1;
    } else {
      ++i;
    }
  }
  if (joined.cuts.empty()) return {};
  joined.text.append(text, done);
  return joined;
}

std::string yaml_quoted(std::string_view text) {
  constexpr char32_t kUnknown = 0xFFFD;
  std::string quoted = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint read = decode_utf8(text, i);
    const char32_t c = read.bytes == 0 ? kUnknown : read.value;
    i += std::max<std::size_t>(read.bytes, 1);
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (c >= ' ' && c < 0x7F) {
      quoted += static_cast<char>(c);
    } else if (c <= 0xFFFF) {
      quoted += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
    } else {
      quoted += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(c));
    }
  }
  return quoted + '"';
}

bool check_bytes(const Source& source, Report& report, std::string_view blanks) {
  const std::string_view text = source.text();
  if (text.size() > kMaxSpecBytes) {
    report.error({},
                 fmt::format("the file has {} bytes; the limit is {} MiB", text.size(),
                             kMaxSpecBytes >> 20U),
                 "write many similar jobs as one with parameters");
    return false;
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    report.error(source.place(0), "the file is UTF-16", "save the file as UTF-8");
    return false;
  }
  return check_characters(source, report, blanks);
}

std::size_t skip_properties(std::string_view text, std::size_t offset) {
  std::size_t i = offset;
  while (i < text.size() && (text[i] == '&' || text[i] == '!')) {
    i = std::min(text.find_first_of(" \t\r\n", i), text.size());
    i = std::min(text.find_first_not_of(" \t", i), text.size());
  }
  return i < text.size() && text[i] != '\n' && text[i] != '\r' ? i : offset;
}

std::optional<std::size_t> quoted_length(std::string_view text, std::size_t offset) {
  const char quote = text[offset];
  for (std::size_t i = offset + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return i + 1 - offset;
      ++i;
    }
  }
  return {};
}

std::optional<std::size_t> indenting_tab(const Source& source, std::size_t from, std::size_t to) {
  const std::string_view text = source.text();
  for (std::size_t start = source.line_start(from); start <= to && start < text.size();) {
    const std::size_t content = std::min(text.find_first_not_of(" \t", start), text.size());
    const std::size_t tab = text.substr(start, content - start).find('\t');
    const bool blank = content == text.size() || text[content] == '\n' || text[content] == '\r';
    if (tab != std::string_view::npos && !blank && text[content] != '#') return start + tab;
    const std::size_t end = text.find('\n', start);
    if (end == std::string_view::npos) break;
    start = end + 1;
  }
  return {};
}

}  // namespace torc::spec
