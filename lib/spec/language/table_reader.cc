
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"
#include "lib/spec/language/parameter_values.h"
#include "lib/spec/text/json_table.h"
#include "lib/spec/text/placeholder.h"

namespace torc::spec {
namespace {

using Column = std::vector<ParameterValue>;

// Columns by name, in their order, filled row by row.
class Table {
 public:
  Result<void> name(std::string column) {
    if (parameters_.size() == kMostParameters) {
      return invalid(fmt::format("the table has more than {} columns", kMostParameters),
                     "leave out those that nothing uses");
    }
    if (!is_identifier(column)) {
      return invalid(fmt::format("the column {} cannot be a parameter", torc::quoted(column)),
                     "name the columns in the first line, by letters, digits and '_'");
    }
    for (const Parameter& p : parameters_) {
      if (p.name == column)
        return invalid(fmt::format("two columns are named {}", torc::quoted(column)), "rename one");
    }
    parameters_.push_back({std::move(column), Column{}});
    return {};
  }
  void add(std::size_t column, ParameterValue value) {
    std::get<Column>(parameters_[column].values).push_back(std::move(value));
  }
  [[nodiscard]] std::size_t width() const { return parameters_.size(); }
  [[nodiscard]] const std::string& title(std::size_t column) const {
    return parameters_[column].name;
  }
  Result<std::vector<Parameter>> take() && {
    if (parameters_.empty() || std::get<Column>(parameters_.front().values).empty())
      return invalid("the table has no rows", "write a line for each set of values");
    return std::move(parameters_);
  }

 private:
  std::vector<Parameter> parameters_;
};

struct Cell {
  std::string text;
  bool in_quotes = false;
};

// Cuts rows off a text.
class CsvRows {
 public:
  explicit CsvRows(std::string_view text) : rest_(text) {}
  [[nodiscard]] std::size_t line() const { return line_; }  // of the row taken last

  // None: the end. Blank lines are passed over.
  Result<std::optional<std::vector<Cell>>> next() {
    while (!rest_.empty()) {
      line_ = next_line_;
      std::vector<Cell> row;
      do {
        TORC_TRY(take_cell(row.emplace_back()));
      } while (take(','));
      if (!take_line_end() && !rest_.empty()) {
        return invalid(fmt::format("line {} has text behind a quote", line_),
                       "put a comma between values");
      }
      const bool blank = row.size() == 1 && row[0].text.empty() && !row[0].in_quotes;
      if (!blank) return std::optional(std::move(row));
    }
    return std::optional<std::vector<Cell>>();
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_line_end() {
    (void)take('\r');
    if (!take('\n')) return false;
    ++next_line_;
    return true;
  }
  Result<void> take_cell(Cell& cell) {
    if (!take('"')) {
      const std::size_t end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
      cell.text = trimmed(rest_.substr(0, end), " \t");
      rest_.remove_prefix(end);
      return {};
    }
    cell.in_quotes = true;
    while (true) {
      const std::size_t end = rest_.find('"');
      if (end == std::string_view::npos)
        return invalid(fmt::format("a quote in line {} is never closed", line_), "close it");
      const std::string_view part = rest_.substr(0, end);
      cell.text.append(part);
      next_line_ += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
      rest_.remove_prefix(end + 1);
      if (!take('"')) return {};
      cell.text += '"';
    }
  }

  std::string_view rest_;
  std::size_t line_ = 1;
  std::size_t next_line_ = 1;
};

// Whatever the case of its letters.
bool has_ending(std::string_view path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  return std::ranges::equal(path.substr(path.size() - ending.size()), ending, {}, lower);
}

bool is_json_lines(std::string_view path) {
  return has_ending(path, ".jsonl") || has_ending(path, ".ndjson");
}

ParameterValue value_of(Cell cell) {
  if (!cell.in_quotes) {
    if (Result<ParameterValue> value = parse_value(cell.text); value.ok()) return *std::move(value);
  }
  return std::move(cell.text);
}

Result<std::vector<Parameter>> parse_csv(std::string_view text) {
  CsvRows rows(text);
  Table table;
  TORC_ASSIGN(auto head, rows.next());
  for (Cell& cell : head.value_or(std::vector<Cell>{})) TORC_TRY(table.name(std::move(cell.text)));
  while (true) {
    TORC_ASSIGN(auto row, rows.next());
    if (!row) return std::move(table).take();
    if (row->size() != table.width()) {
      return invalid(fmt::format("line {} has {} values, and the first line names {} columns",
                                 rows.line(), row->size(), table.width()),
                     "give every row a value for every column; put quotes around one with a comma");
    }
    for (std::size_t c = 0; c < row->size(); ++c) {
      if ((*row)[c].text.empty()) {
        return invalid(
            fmt::format("line {} has no value for {}", rows.line(), torc::quoted(table.title(c))),
            "write a value");
      }
      table.add(c, value_of(std::move((*row)[c])));
    }
  }
}

std::optional<ParameterValue> value_of(JsonCell cell) {
  switch (cell.kind) {
    case JsonCell::Kind::number: {
      Result<ParameterValue> value = parse_value(cell.text);
      if (value.ok()) return *std::move(value);
      return {};
    }
    case JsonCell::Kind::text:
      if (!cell.text.empty()) return std::move(cell.text);
      return {};
    case JsonCell::Kind::boolean:
      return std::move(cell.text);
    case JsonCell::Kind::other:
      break;
  }
  return {};
}

Result<void> add_cell(Table& table, std::size_t column, JsonCell cell, std::size_t row) {
  std::optional<ParameterValue> value = value_of(std::move(cell));
  if (!value) {
    return invalid(fmt::format("row {} has no number and no text for {}", row,
                               torc::quoted(table.title(column))),
                   "write a number within 64 bits, a text that is not empty, true or false");
  }
  table.add(column, *std::move(value));
  return {};
}

Result<std::vector<Parameter>> columns_of(JsonTable json) {
  Table table;
  std::size_t rows = 0;
  for (JsonTable::Part& part : json.parts) {
    TORC_TRY(table.name(part.key));
    if (part.kind != JsonTable::Part::Kind::list) {
      return invalid(fmt::format("the column {} is not a list", torc::quoted(part.key)),
                     "write a list of objects, or an object of lists");
    }
    const std::size_t column = table.width() - 1;
    if (column == 0) rows = part.cells.size();
    if (part.cells.size() != rows) {
      return invalid(
          fmt::format("the column {} has {} values, and {} has {}", torc::quoted(part.key),
                      part.cells.size(), torc::quoted(table.title(0)), rows),
          "give all columns the same number of values");
    }
    for (std::size_t r = 0; r < rows; ++r)
      TORC_TRY(add_cell(table, column, std::move(part.cells[r].second), r + 1));
  }
  return std::move(table).take();
}

Result<std::vector<Parameter>> rows_of(JsonTable json) {
  Table table;
  for (std::size_t r = 0; r < json.parts.size(); ++r) {
    JsonTable::Part& row = json.parts[r];
    if (row.kind != JsonTable::Part::Kind::object) {
      return invalid(fmt::format("row {} is not an object", r + 1),
                     "write a list of objects, or an object of lists");
    }
    if (r == 0) {
      for (const auto& [title, cell] : row.cells) TORC_TRY(table.name(title));
    }
    if (row.cells.size() > table.width()) {
      return invalid(fmt::format("row {} has {} values, and the first row has {}", r + 1,
                                 row.cells.size(), table.width()),
                     "give every row the same columns");
    }
    for (std::size_t c = 0; c < table.width(); ++c) {
      const auto is_it = [&](const auto& cell) { return cell.first == table.title(c); };
      // Most rows have the order of the first.
      const auto found = c < row.cells.size() && is_it(row.cells[c])
                             ? row.cells.begin() + static_cast<std::ptrdiff_t>(c)
                             : std::ranges::find_if(row.cells, is_it);
      if (found == row.cells.end()) {
        return invalid(fmt::format("row {} has no {}", r + 1, torc::quoted(table.title(c))),
                       "give every row a value for every column");
      }
      TORC_TRY(add_cell(table, c, std::move(found->second), r + 1));
    }
  }
  return std::move(table).take();
}

// An object on each line that is not blank.
Result<std::vector<Parameter>> parse_json_lines(std::string_view text) {
  JsonTable all;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trimmed(line).empty()) continue;
    Result<JsonTable> one = read_json_table(fmt::format("[{}]", line));
    if (!one || one->parts.size() != 1 || one->parts[0].kind != JsonTable::Part::Kind::object) {
      return invalid(fmt::format("line {} is not a JSON object", number),
                     "write one object of names and values on each line");
    }
    all.parts.push_back(std::move(one->parts[0]));
  }
  return rows_of(std::move(all));
}

Result<std::vector<Parameter>> parse_json(std::string_view text) {
  TORC_ASSIGN(JsonTable json, read_json_table(text));
  return json.is_object ? columns_of(std::move(json)) : rows_of(std::move(json));
}

}  // namespace

bool is_table(std::string_view path) {
  return has_ending(path, ".csv") || is_json_table(path);
}

bool is_json_table(std::string_view path) {
  return has_ending(path, ".json") || is_json_lines(path);
}

Result<std::vector<Parameter>> parse_table(std::string_view bytes, std::string_view path) {
  bytes = without_bom(bytes);
  if (is_json_lines(path)) return parse_json_lines(bytes);
  return is_json_table(path) ? parse_json(bytes) : parse_csv(bytes);
}

}  // namespace torc::spec
