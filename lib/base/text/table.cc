#include "lib/base/text/table.h"

#include <algorithm>

#include "lib/base/text/quote.h"
#include "lib/base/text/utf8.h"

namespace torc {
namespace {

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align,
                 bool last) {
  const std::size_t own = count_characters(cell);
  const std::string padding(width > own ? width - own : 0, ' ');
  if (align == Align::right)
    line += padding + cell;
  else
    line += last ? cell : cell + padding;
  if (!last) line += "  ";
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(count_characters(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], count_characters(row[i]));
    }
  }
  std::string out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    append_cell(out, columns_[i].title, widths[i], columns_[i].align, i + 1 == columns_.size());
  }
  out += '\n';
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < columns_.size(); ++i) {
      append_cell(out, row[i], widths[i], columns_[i].align, i + 1 == columns_.size());
    }
    out += '\n';
  }
  return out;
}

}  // namespace torc
