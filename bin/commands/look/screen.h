// A text that takes the place of the one before it on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace torc::cli {

struct Window {
  int rows = 0;  // 0: not known, nothing is left out
  int columns = 80;
};

// What to write so that `text`, whole lines without escapes, stands alone on the screen. What does
// not fit below is left out, and how many lines that are is said. `first`: something else stands
// there by now. Pure.
[[nodiscard]] std::string redrawn(std::string_view text, Window window, bool first);

}  // namespace torc::cli
