// Values of parameters as texts have them.
#pragma once

#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/language/workflow.h"

namespace torc::spec {

// "1:100", "0:100:10", "0.0:1.0:0.1", "[1,5,10]", "['adam','sgd']", or one value. A range may stand
// in braces, as its parameter does elsewhere: "{1:100}".
[[nodiscard]] Result<ParameterValues> parse_values(std::string_view text);

// An integer or a finite decimal number becomes that, or a numeral when it would be printed
// otherwise; anything else stays text (010 too: it is no decimal number). Error: a number that no
// 64 bits hold.
[[nodiscard]] Result<ParameterValue> parse_value(std::string_view text);

// --- tables: each column a parameter, each row one value of all of them ---

// By the ending of the name: .csv, .json, .jsonl or .ndjson.
[[nodiscard]] bool is_table(std::string_view path);
// The last three.
[[nodiscard]] bool is_json_table(std::string_view path);

// CSV as RFC 4180 has it, separated by commas, with a first line that names the columns; what
// stands in quotes, and numbers with leading zeros, are texts. JSON: a list of objects with the
// same keys, or one object of lists of equal length; JSON lines: such an object on each. Numbers
// keep their spelling. Errors (invalid) name the row.
[[nodiscard]] Result<std::vector<Parameter>> parse_table(std::string_view bytes,
                                                         std::string_view path);

}  // namespace torc::spec
