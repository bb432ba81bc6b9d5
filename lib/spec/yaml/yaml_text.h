// What is looked at in the text before and beside the YAML parser.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/text/source.h"

namespace torc::spec {

// Reports what no YAML text may hold and the parser would misread (other encodings, control
// characters, which it takes for the end of the file), and text beyond the size limit. True:
// nothing of the kind. `blanks`: control characters that the text's form has for blanks.
[[nodiscard]] bool check_bytes(const Source& source, Report& report, std::string_view blanks = {});

// Skips anchors and tags: the offset of the value itself, when it stands on the same line.
[[nodiscard]] std::size_t skip_properties(std::string_view text, std::size_t offset);

// The quoted scalar at `offset` (a quote stands there): bytes up to and with its closing quote;
// none: never closed.
[[nodiscard]] std::optional<std::size_t> quoted_length(std::string_view text, std::size_t offset);

// JSON writes a character beyond U+FFFF as two escapes, \ud83d\ude00, which YAML does not know.
struct JoinedEscapes {
  std::string text;               // with one for each two: \U0001f600
  std::vector<std::size_t> cuts;  // offsets in it, in front of which bytes are missing
  // Of a byte of `text`, in the text that it was made of.
  [[nodiscard]] std::size_t original(std::size_t offset) const;
};
// Whether the first thing in the text is a bracket, as in JSON.
[[nodiscard]] bool looks_like_json(std::string_view text);
// None: there is nothing to join, or the text does not look like JSON.
[[nodiscard]] std::optional<JoinedEscapes> join_escapes(std::string_view text);

// The text in double quotes, in ASCII and on one line, such that YAML reads it back. A byte that is
// no UTF-8 becomes U+FFFD.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

// The first tab used for indentation in the lines of [from, to], if any.
[[nodiscard]] std::optional<std::size_t> indenting_tab(const Source& source, std::size_t from,
                                                       std::size_t to);

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
