// Text from users on its way to a terminal: names that may hold anything, and commands to paste.
#pragma once

#include <string>
#include <string_view>

namespace torc {

// 'text' as one word of a POSIX shell. Precondition: no NUL byte.
[[nodiscard]] std::string shell_quote(std::string_view text);
// One word of a shell command that stands for `text` exactly: bare where that is safe, quoted
// otherwise; control characters in the $'…' form of bash, zsh and ksh.
[[nodiscard]] std::string shell_word(std::string_view text);

// Text of a user as a message shows it: in single quotes, on one line, control characters escaped,
// long text cut.
[[nodiscard]] std::string quoted(std::string_view text);
// The same text without power over a terminal: control characters as \n, \t, \x1b, bytes that are
// no UTF-8 and what turns the order of a line as \xff. A backslash stays one, so this is for
// reading, not for reading back.
[[nodiscard]] std::string printable(std::string_view text);
// The same, but lines stay lines: all after the first begin with `indent` blanks.
[[nodiscard]] std::string printable_lines(std::string_view text, std::size_t indent);
// The same, but lines and tabs stay: what becomes of all that the program prints (say() in
// bin/app.h).
[[nodiscard]] std::string terminal_text(std::string text);

}  // namespace torc
