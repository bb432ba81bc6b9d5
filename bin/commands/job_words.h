// Words that stand for several jobs: 'align_*', stage:align, @FILE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bin/app.h"

namespace torc::cli {

// Words as they were typed, with the lines of each @FILE in its place; "-" and "@-": of standard
// input. Empty lines count for nothing. Errors: there is no such file, or it is too long.
Result<std::vector<std::string>> job_words(const App& app, const std::vector<std::string>& typed);

// As the shell's: * is any text, ? a character, [a-f] and [!x] one of some. The regular expression
// of whole names; nullopt: it is none, but a name.
[[nodiscard]] std::optional<std::string> expression_of_glob(std::string_view word);
// What names begin with that a glob finds.
[[nodiscard]] std::string_view fixed_beginning(std::string_view glob);

// The name of an entry without its parameters: "align" of "align_{i}". Empty: nothing is left.
[[nodiscard]] std::string stage_name(std::string_view entry);
// Of "stage:NAME" the name.
[[nodiscard]] std::optional<std::string_view> stage_in(std::string_view word);

}  // namespace torc::cli
