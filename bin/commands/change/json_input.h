// JSON that people type, with the place of a mistake.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace torc::cli {

// The same value without blanks between its parts; numbers stay as they are written. Error invalid:
// `from` (what the text is, for the message), line and column, the line and a caret.
Result<std::string> minified_json(std::string_view text, std::string_view from);
// Plain text as a JSON string. Error invalid: it is no UTF-8.
Result<std::string> json_string(std::string_view text, std::string_view from);

// All of it; Error invalid when it is more than `most` bytes.
Result<std::string> read_stream(std::FILE* stream, std::size_t most);

}  // namespace torc::cli
