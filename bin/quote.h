// Text from users on its way to a terminal: names that may hold anything, and commands to paste.
#pragma once

#include <string>
#include <string_view>

#include "bin/app.h"
#include "lib/claim/job.h"

namespace torc::cli {

// One word of a shell command that stands for `text` exactly: bare where that is safe, quoted
// otherwise; control characters in the $'…' form of bash, zsh and ksh.
[[nodiscard]] std::string shell_word(std::string_view text);
// A path as one reads it from the working directory: relative where it lies below, as a shell word.
[[nodiscard]] std::string shown_path(const App& app, const Path& path);
// How a job is named to a command: its name, or '#number' where that would be taken for a flag.
[[nodiscard]] std::string job_word(std::string_view name, JobId id);

// The same text without power over a terminal: control characters as \n, \t, \x1b, bytes that are
// no UTF-8 as \xff. A backslash stays one, so this is for reading, not for reading back.
[[nodiscard]] std::string printable(std::string_view text);
// The same, but lines stay lines: all after the first begin with `indent` blanks.
[[nodiscard]] std::string printable_lines(std::string_view text, std::size_t indent);

}  // namespace torc::cli
