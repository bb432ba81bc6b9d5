// The words of KDL: blanks, texts, numbers. All go past what they take, and throw FormMistake for
// what is none.
#pragma once

#include <string>

#include "lib/spec/forms/form_text.h"
#include "lib/spec/forms/kdl_document.h"

namespace torc::spec {

[[nodiscard]] bool is_kdl_line_end(char32_t c);
// The line end here, which may be two characters. False: there is none.
bool take_kdl_line_end(FormCursor& in);
// Blanks and comments between /* and */. Whether there were any.
bool skip_kdl_blanks(FormCursor& in);
// The comment that begins with // here, up to the end of its line.
bool skip_kdl_line_comment(FormCursor& in);
// The same, and lines that go on behind a '\': what may stand between the values of a node.
bool skip_kdl_space(FormCursor& in);

// Whether a text in quotes begins here, of any kind.
[[nodiscard]] bool is_at_kdl_text(const FormCursor& in);
[[nodiscard]] std::string take_kdl_text(FormCursor& in);
// A word without quotes; empty: there is none.
[[nodiscard]] std::string take_kdl_word(FormCursor& in);
// Whether a number begins here.
[[nodiscard]] bool is_at_kdl_number(const FormCursor& in);
[[nodiscard]] std::string take_kdl_number(FormCursor& in);

}  // namespace torc::spec
