#include "lib/base/text/table.h"

#include <algorithm>

#include "lib/base/text/quote.h"
#include "lib/base/text/utf8.h"

namespace torc {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kEllipsis = "…";
constexpr std::string_view kPlain = "\x1b[0m";  // ECMA-48, SGR 0

// Of one that is not UTF-8 a byte.
struct Character {
  std::string_view bytes;
  std::size_t cells = 0;
};

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> all;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    all.push_back({text.substr(i, bytes), c.bytes == 0 ? 1 : terminal_width(c.value)});
    i += bytes;
  }
  return all;
}

}  // namespace

std::string shortened(std::string_view text, std::size_t cells) {
  if (terminal_width(text) <= cells) return std::string(text);
  const std::vector<Character> all = characters_of(text);
  const std::size_t room = cells - 1;  // beside the ellipsis
  std::string head;
  std::size_t used = 0;
  for (const Character& c : all) {
    if (used + c.cells > room - room / 2) break;
    used += c.cells;
    head += c.bytes;
  }
  std::size_t tail = 0;
  std::size_t tail_bytes = 0;
  std::size_t taken = 0;
  // A combining mark stays with what it is on.
  for (std::size_t i = all.size(); i-- > 0;) {
    taken += all[i].bytes.size();
    tail += all[i].cells;
    if (used + tail > room) break;
    if (all[i].cells > 0) tail_bytes = taken;
  }
  return head + std::string(kEllipsis) + std::string(text.substr(text.size() - tail_bytes));
}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

Table::Widths Table::widths() const {
  Widths widths;
  for (const Column& column : columns_) widths.emplace_back(terminal_width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(*widths[i], terminal_width(row[i]));
  }
  return widths;
}

Table::Widths Table::fitting(std::size_t most) const {
  Widths widths = this->widths();
  const auto least = [&](std::size_t i) {
    const std::size_t cells = std::max(kLeastCells, terminal_width(columns_[i].title));
    return columns_[i].shorten == Shorten::no ? *widths[i] : std::min(*widths[i], cells);
  };
  // With each column as wide as `cells` says.
  const auto line = [&](const auto& cells) {
    std::size_t all = 0;
    std::size_t shown = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!widths[i]) continue;
      all += cells(i);
      ++shown;
    }
    return all + (shown == 0 ? 0 : (shown - 1) * kGap.size());
  };
  while (line(least) > most) {
    std::size_t goes = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!widths[i] || columns_[i].dispensable == 0) continue;
      if (goes == widths.size() || columns_[i].dispensable > columns_[goes].dispensable) goes = i;
    }
    if (goes == widths.size()) break;
    widths[goes].reset();
  }
  for (std::size_t now = line([&](std::size_t i) { return *widths[i]; }); now > most; --now) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!widths[i] || *widths[i] <= least(i)) continue;
      if (widest == widths.size() || *widths[i] > *widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    --*widths[widest];
  }
  return widths;
}

std::vector<std::string> Table::left_out(std::size_t most) const {
  const Widths shown = fitting(most);
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (!shown[i]) titles.push_back(columns_[i].title);
  }
  return titles;
}

void Table::append_line(std::string& out, const std::vector<std::string>& cells,
                        const Widths& widths, const Paint& paint) const {
  std::size_t last = widths.size();
  while (last > 0 && !widths[last - 1]) --last;
  for (std::size_t i = 0; i < cells.size() && i < last; ++i) {
    if (!widths[i]) continue;
    std::string cell = shortened(cells[i], std::max<std::size_t>(*widths[i], 1));
    const std::string padding(*widths[i] - std::min(*widths[i], terminal_width(cell)), ' ');
    if (const std::string_view color = paint ? paint(columns_[i].title, cells[i]) : "";
        !color.empty())
      cell.insert(0, color).append(kPlain);
    const bool is_last = i + 1 == last;
    if (columns_[i].align == Align::right)
      out += padding + cell;
    else
      out += is_last ? cell : cell + padding;
    if (!is_last) out += kGap;
  }
  out += '\n';
}

std::string Table::text(std::optional<std::size_t> most, const Paint& paint) const {
  const Widths shown = most ? fitting(*most) : widths();
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string out;
  append_line(out, titles, shown, {});
  for (const auto& row : rows_) append_line(out, row, shown, paint);
  return out;
}

}  // namespace torc
