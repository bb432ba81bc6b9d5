#include "lib/spec/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/spec/utf8.h"
#include "lib/spec/yaml_tree.h"

namespace torc::spec {
namespace {

// What YAML calls not printable. The parser at hand takes U+0004 for the end of the file.
bool forbidden(char32_t c) {
  if (c < 0x20) return c != '\t' && c != '\n' && c != '\r';
  return c == 0x7F || (c >= 0x80 && c < 0xA0 && c != 0x85) || c == 0xFFFE || c == 0xFFFF;
}

// Reports the first bad byte only: a binary file is full of them.
bool check_characters(const Source& source, Report& report) {
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
    if (forbidden(c.value)) {
      report.error(source.place(i),
                   fmt::format("control character U+{:04X}", static_cast<unsigned>(c.value)),
                   "remove it, or write it as an escape in double quotes");
      return false;
    }
    i += c.bytes;
  }
  return true;
}

}  // namespace

bool check_bytes(const Source& source, Report& report) {
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
  return check_characters(source, report);
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
