// Values of parameters as texts have them.
#pragma once

#include <string_view>

#include "lib/base/result.h"
#include "lib/spec/language/workflow.h"

namespace torc::spec {

// "1:100", "0:100:10", "0.0:1.0:0.1", "[1,5,10]", "['adam','sgd']", or one value.
[[nodiscard]] Result<ParameterValues> parse_values(std::string_view text);

// An integer or a finite decimal number becomes that, or a numeral when it would be printed
// otherwise; anything else stays text (010 too: it is no decimal number). Error: a number that no
// 64 bits hold.
[[nodiscard]] Result<ParameterValue> parse_value(std::string_view text);

}  // namespace torc::spec
