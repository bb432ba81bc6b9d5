#include "lib/spec/text/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"

namespace torc::spec {
namespace {

constexpr std::size_t kTabStop = 8;
constexpr std::size_t kShownColumns = 96;   // of a source line; more is cut around the place
constexpr std::size_t kColumnsBefore = 40;  // of those, before the place
constexpr std::string_view kSeverities[] = {"error", "warning", "note"};
constexpr std::string_view kCut = "…";
constexpr std::string_view kUnprintable = "\uFFFD";

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

// One character of a source line as the terminal shows it.
struct Cell {
  std::string text;
  std::size_t width = 1;
};

std::vector<Cell> cells_of(std::string_view line) {
  std::vector<Cell> cells;
  std::size_t column = 0;
  for (std::size_t i = 0; i < line.size();) {
    const CodePoint c = decode_utf8(line, i);
    Cell cell{std::string(kUnprintable), 1};
    if (c.bytes > 0 && c.value == '\t') {
      cell.width = kTabStop - column % kTabStop;
      cell.text.assign(cell.width, ' ');
    } else if (c.bytes > 0 && !is_control(c.value)) {
      cell = {std::string(line.substr(i, c.bytes)), terminal_width(c.value)};
    }
    column += cell.width;
    cells.push_back(std::move(cell));
    i += c.bytes == 0 ? 1 : c.bytes;
  }
  return cells;
}

std::size_t width_of(const std::vector<Cell>& cells, std::size_t first, std::size_t last) {
  return std::accumulate(cells.begin() + static_cast<std::ptrdiff_t>(first),
                         cells.begin() + static_cast<std::ptrdiff_t>(last), std::size_t{0},
                         [](std::size_t sum, const Cell& c) { return sum + c.width; });
}

// Cells [first, last) of the line: all of a short one, else those around the place.
struct Window {
  std::size_t first;
  std::size_t last;
};

Window window_of(const std::vector<Cell>& cells, std::size_t at) {
  if (width_of(cells, 0, cells.size()) <= kShownColumns) return {0, cells.size()};
  std::size_t first = std::min(at, cells.size());
  std::size_t width = 0;
  while (first > 0 && width + cells[first - 1].width <= kColumnsBefore)
    width += cells[--first].width;
  std::size_t last = std::min(at, cells.size());
  while (last < cells.size() && width + cells[last].width <= kShownColumns)
    width += cells[last++].width;
  return {first, last};
}

// The source line and the line with the caret below it.
std::string excerpt(const Diagnostic& d) {
  const std::vector<Cell> cells = cells_of(d.source_line);
  const std::size_t column = d.place.column > 0 ? d.place.column - 1 : 0;
  const std::size_t at = std::min(column - std::min(column, d.skipped), cells.size());
  const Window window = window_of(cells, at);
  std::string source;
  std::size_t shift = 0;
  if (window.first > 0 || d.skipped > 0) {
    source += kCut;
    shift = 1;
  }
  for (std::size_t i = window.first; i < window.last; ++i) source += cells[i].text;
  if (window.last < cells.size()) source += kCut;
  source.erase(source.find_last_not_of(' ') + 1);
  const std::size_t end =
      std::clamp(at + std::max<std::size_t>(d.place.length, 1), at, window.last);
  const std::size_t width = std::max<std::size_t>(width_of(cells, at, std::max(at, end)), 1);
  const std::size_t before = shift + width_of(cells, window.first, at);
  return fmt::format("{:>5} |{}{}\n      | {}^{}\n", d.place.line, source.empty() ? "" : " ",
                     source, std::string(before, ' '), std::string(width - 1, '~'));
}

// Edits (insert, delete, replace, swap of neighbours) from a to b, or anything above `limit` when
// they are more. Only what is within `limit` of the diagonal is looked at, and it ends where all of
// that is beyond the limit.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  const std::size_t beyond = limit + 1;
  if (gap > limit) return beyond;
  std::vector<std::size_t> before(b.size() + 1, beyond), row(before), next(before);
  std::iota(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(std::min(limit, b.size()) + 1),
            std::size_t{0});
  std::size_t least_before = 0;  // of the row before
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t first = i > limit ? i - limit : 1;
    const std::size_t last = std::min(b.size(), i + limit);
    next[first - 1] = first == 1 ? std::min(i, beyond) : beyond;
    std::size_t least = next[first - 1];
    for (std::size_t j = first; j <= last; ++j) {
      const std::size_t replace = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({replace, row[j] + 1, next[j - 1] + 1, beyond});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
      least = std::min(least, next[j]);
    }
    if (last < b.size()) next[last + 1] = beyond;
    // By a swap the next row may come from the one before this.
    if (std::min(least, std::exchange(least_before, least)) >= beyond) return beyond;
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

// The only candidate that holds the name or is held by it: 'cpus' for num_cpus.
std::string containing(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kShortest = 3;
  if (name.size() < kShortest) return {};
  std::string only;
  for (const std::string& candidate : candidates) {
    const bool held =
        candidate.size() >= kShortest && name.find(candidate) != std::string_view::npos;
    if (!held && candidate.find(name) == std::string::npos) continue;
    if (!only.empty()) return {};
    only = candidate;
  }
  return only;
}

}  // namespace

std::string to_text(const Diagnostic& d) {
  std::string out = d.file;
  if (d.place.line > 0) out += fmt::format(":{}:{}", d.place.line, d.place.column);
  out += fmt::format(": {}: {}\n", word_of(d.severity, kSeverities), d.message);
  if (d.place.line > 0) out += excerpt(d);
  for (const std::string_view line : split(d.remedy, '\n'))
    out += fmt::format("      = {}\n", line);
  return out;
}

std::string to_text(const std::vector<Diagnostic>& all) {
  std::string out;
  for (const Diagnostic& d : all) out += to_text(d);
  return out;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest =
      200;  // a slip in a longer name is not worth the time of looking for it
  if (name.size() > kLongest) return {};
  std::string_view best;
  // A third of the characters may be wrong, of a long name fewer: 'comand' is a slip, 'x' for 'y'
  // is another name.
  constexpr std::size_t kMostEdits = 12;
  std::size_t limit = std::min(name.size() / 3, kMostEdits);
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(name, candidate, limit);
    if (distance > limit) continue;
    if (distance == 0) return candidate;
    best = candidate;
    limit = distance - 1;
  }
  return best.empty() ? containing(name, candidates) : std::string(best);
}

}  // namespace torc::spec
