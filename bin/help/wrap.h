// The lines of --help as wide as a screen, whatever wrote them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace torc::cli {

// `text` with no line wider than `columns` of a terminal, where blanks let it be broken. What goes
// on below a row of two columns begins where the second one does. A sentence that was broken by
// hand between two lines that are not indented is one line first.
[[nodiscard]] std::string wrapped_help(std::string_view text, std::size_t columns);

}  // namespace torc::cli
