// Tables for people: columns line up, the last one is free to be long. Widths are those of a
// terminal.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torc {

enum class Align : unsigned char { left, right };
// Whether a terminal that is too narrow may be shown less of a column's cells. A name or a reason
// is told by its ends; half a number, a state, an id or a time is told wrongly.
enum class Shorten : unsigned char { no, yes };

// `text` on at most so many columns of a terminal, with "…" for its middle where it is longer.
// Precondition: cells > 0.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t cells);

class Table {
 public:
  // A column is not shortened further than that, nor than its title.
  static constexpr std::size_t kLeastCells = 12;

  struct Column {
    std::string title;
    Align align = Align::left;
    Shorten shorten = Shorten::no;
    // Above 0: where lines would be too wide all the same, it is left out, the highest first.
    int dispensable = 0;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A cell is one line, whatever its text says (printable()).
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  // Title line, then the rows. With `most`, lines are no wider than that, or else as narrow as
  // they can be: of the columns with Shorten::yes the widest gives way first, then some are left
  // out.
  // `paint`: what is written before a cell of the column `title` to give it a color, and undone
  // behind it; empty: nothing.
  using Paint = std::function<std::string_view(std::string_view title, std::string_view cell)>;
  [[nodiscard]] std::string text(std::optional<std::size_t> most = std::nullopt,
                                 const Paint& paint = {}) const;
  // Titles of the columns that text(most) leaves out, in their order.
  [[nodiscard]] std::vector<std::string> left_out(std::size_t most) const;

 private:
  // Of each column; nullopt: it is left out.
  using Widths = std::vector<std::optional<std::size_t>>;
  [[nodiscard]] Widths widths() const;
  [[nodiscard]] Widths fitting(std::size_t most) const;
  void append_line(std::string& out, const std::vector<std::string>& cells, const Widths& widths,
                   const Paint& paint) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace torc
