#include "bin/commands/look/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lib/base/text/utf8.h"

namespace torc::cli {
namespace {

// Rows of a terminal, where a long line is wrapped.
std::size_t rows_of(std::string_view line, int columns) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < line.size();) {
    const CodePoint c = decode_utf8(line, at);
    width += terminal_width(c.value);
    at += std::max<std::size_t>(c.bytes, 1);
  }
  const auto across = static_cast<std::size_t>(std::max(columns, 1));
  return std::max<std::size_t>((width + across - 1) / across, 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string redrawn(std::string_view text, Window window, bool first) {
  // Lines are cleared one by one: a whole screen that is cleared first flickers.
  std::string out = first ? "\x1b[2J\x1b[H" : "\x1b[H";
  const auto lines = lines_of(text);
  std::size_t used = 2;  // the line of what is left out, and the cursor's
  for (std::size_t i = 0; i < lines.size(); ++i) {
    used += rows_of(lines[i], window.columns);
    if (window.rows > 0 && used > static_cast<std::size_t>(window.rows)) {
      out += fmt::format("… and {} more lines: torc status shows all\x1b[K\n", lines.size() - i);
      break;
    }
    out += lines[i];
    out += "\x1b[K\n";
  }
  return out + "\x1b[J";
}

}  // namespace torc::cli
