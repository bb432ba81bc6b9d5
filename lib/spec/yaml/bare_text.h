// The usual slip with braces: shell text between brackets, without quotes.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace torc::spec {

// Bytes [begin, end) of a text.
struct BareText {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The first text without quotes, between brackets of YAML, that has a bracket within: `awk '{print
// $1}' f` in {name: a, command: awk '{print $1}' f}. YAML ends the text there, and what it says of
// the rest helps nobody. Looks at the lines of [from, to], of which the first is not within a text
// of several lines.
[[nodiscard]] std::optional<BareText> bare_text_with_bracket(std::string_view text,
                                                             std::size_t from, std::size_t to);

}  // namespace torc::spec
