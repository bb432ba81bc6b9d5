// Tables that a command prints: as wide as the terminal, and in its colors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bin/app.h"
#include "lib/base/text/table.h"

namespace torc::cli {

// For Table::text(): as wide as the terminal is now. Nothing is shortened where --wide says so, and
// into a pipe, so that grep finds whole names.
[[nodiscard]] std::optional<std::size_t> table_columns(const App& app);

// States of jobs have a color each where --color says so, or else on a terminal, unless NO_COLOR is
// set in the environment (https://no-color.org).
void say_table(const App& app, const Table& table);

// What --color takes.
inline constexpr std::string_view kColorWords[] = {"auto", "always", "never"};

}  // namespace torc::cli
