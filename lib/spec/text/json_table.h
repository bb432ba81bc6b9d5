// JSON as far as tables need it, with numbers in the words of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"

namespace torc::spec {

// What stands in a row or a column; lists and objects below are only known to be there.
struct JsonCell {
  enum class Kind : std::uint8_t { number, text, boolean, other };
  Kind kind = Kind::other;
  std::string text;  // of a boolean: true or false
};

// A list or an object of lists and objects.
struct JsonTable {
  struct Part {
    enum class Kind : std::uint8_t { list, object, cell };
    Kind kind = Kind::cell;
    std::string key;                                      // where the whole is an object
    std::vector<std::pair<std::string, JsonCell>> cells;  // keys of an object, "" of a list
  };
  bool is_object = false;
  std::vector<Part> parts;
};

// Error (invalid): what is wrong and its line and column. Never recurses.
[[nodiscard]] Result<JsonTable> read_json_table(std::string_view text);

}  // namespace torc::spec
