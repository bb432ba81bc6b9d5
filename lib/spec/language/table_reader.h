// Tables of parameters: each column a parameter, each row one value of all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/language/workflow.h"

namespace torc::spec {

// By the ending of the name: .csv or .json.
[[nodiscard]] bool is_table(std::string_view path);

// CSV as RFC 4180 has it, separated by commas, with a first line that names the columns; what
// stands in quotes, and numbers with leading zeros, are texts. JSON: a list of objects with the
// same keys, or one object of lists of equal length. Numbers keep their spelling. Errors (invalid)
// name the row.
[[nodiscard]] Result<std::vector<Parameter>> parse_table(std::string_view bytes,
                                                         std::string_view path);

}  // namespace torc::spec
