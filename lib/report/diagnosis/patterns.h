// Lines that known programs print when something goes wrong: the data of the diagnosis.
#pragma once

#include <span>
#include <string_view>

#include "lib/report/diagnosis/causes.h"

namespace torc::report {

// A regular expression of RE2, searched anywhere in a text of many lines: ^ and $ are the ends of a
// line, a dot is no end of one. Bytes are Latin-1, so that no byte is wrong.
struct Pattern {
  Cause cause;
  std::string_view expression;
  std::string_view meets;   // a line that it is for
  std::string_view passes;  // one that looks like it, and is not
};
[[nodiscard]] std::span<const Pattern> patterns();

}  // namespace torc::report
