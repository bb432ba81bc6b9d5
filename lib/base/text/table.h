// Tables for people: columns line up, the last one is free to be long.
#pragma once

#include <string>
#include <vector>

namespace torc {

enum class Align : unsigned char { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A cell is one line, whatever its text says (printable()).
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  // Title line, then the rows; widths count UTF-8 characters.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace torc
