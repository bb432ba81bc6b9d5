// The words of JSON5: blanks, strings, names, numbers. All go past what they take, and throw
// FormMistake for what is none.
#pragma once

#include <optional>
#include <string>

#include "lib/spec/forms/form_text.h"

namespace torc::spec {

// Blanks, ends of lines and comments.
void skip_json5_blanks(FormCursor& in);
// Precondition: a quote is here.
[[nodiscard]] std::string take_json5_string(FormCursor& in);
// A name without quotes, its escapes put in; empty: there is none.
[[nodiscard]] std::string take_json5_name(FormCursor& in);
// A number in JSON's words, or Infinity, -Infinity, NaN; none: there is no number.
[[nodiscard]] std::optional<std::string> take_json5_number(FormCursor& in);

}  // namespace torc::spec
