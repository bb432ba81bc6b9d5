#include "bin/help/wrap.h"

#include <algorithm>
#include <vector>

#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"

namespace torc::cli {
namespace {

// Where a second column would leave less than that, its text goes on further to the left.
constexpr std::size_t kLeastText = 20;
constexpr std::size_t kFurtherLeft = 6;

bool is_indented(std::string_view line) {
  return line.starts_with(' ');
}

// Whether the sentence goes on in the next line.
bool goes_on(std::string_view line, std::string_view next) {
  return !line.empty() && !next.empty() && !is_indented(line) && !is_indented(next) &&
         !next.starts_with("Usage:") &&
         std::string_view(".:)").find(line.back()) == std::string_view::npos;
}

std::vector<std::string> joined_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::string_view before;
  for (const std::string_view line : torc::split(text, '\n')) {
    if (goes_on(before, line))
      lines.back() += " " + std::string(line);
    else
      lines.emplace_back(line);
    before = line;
  }
  return lines;
}

// Bytes before the text that goes on: the indentation, and a first column with its blanks.
std::size_t second_column(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  if (first == 0) return 0;
  const std::size_t gap = line.find("  ", first);
  if (gap == std::string_view::npos) return first;
  return std::min(line.find_first_not_of(' ', gap), line.size());
}

// A list of choices may be wider than the screen: it is broken behind its commas.
std::vector<std::string_view> pieces_of(std::string_view word, std::size_t room) {
  if (terminal_width(word) <= room) return {word};
  std::vector<std::string_view> pieces;
  while (!word.empty()) {
    const std::size_t comma = word.find(',');
    pieces.push_back(word.substr(0, comma == std::string_view::npos ? comma : comma + 1));
    word.remove_prefix(pieces.back().size());
  }
  return pieces;
}

void append_wrapped(std::string& out, std::string_view line, std::size_t columns) {
  const std::size_t at = second_column(line);
  const bool has_two = line.substr(0, at).find_first_not_of(' ') != std::string_view::npos;
  std::size_t used = terminal_width(line.substr(0, at));
  std::size_t indent = used;
  // Below a flag that stands alone in its line nothing may look like the next flag.
  if (!has_two && indent > 0 && indent < kFurtherLeft) indent = kFurtherLeft;
  if (indent + kLeastText > columns) indent = std::min(indent, kFurtherLeft);
  out += line.substr(0, at);
  std::string_view blank;
  for (const std::string_view word : torc::split(line.substr(at), ' ')) {
    for (const std::string_view piece : pieces_of(word, columns - std::min(columns, indent))) {
      const std::size_t width = terminal_width(piece);
      if (used > indent && used + blank.size() + width > columns) {
        out += '\n' + std::string(indent, ' ');
        used = indent;
      } else {
        out += blank;
        used += blank.size();
      }
      out += piece;
      used += width;
      blank = {};
    }
    blank = " ";
  }
}

}  // namespace

std::string wrapped_help(std::string_view text, std::size_t columns) {
  std::string out;
  for (const std::string& line : joined_lines(text)) {
    if (terminal_width(line) <= columns)
      out += line;
    else
      append_wrapped(out, line, columns);
    out += '\n';
  }
  return out;
}

}  // namespace torc::cli
