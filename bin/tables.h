// How wide the tables are that a command prints.
#pragma once

#include <cstddef>
#include <optional>

#include "bin/app.h"

namespace torc::cli {

// For Table::text(): as wide as the terminal is now. Nothing is shortened where --wide says so, and
// into a pipe, so that grep finds whole names.
inline std::optional<std::size_t> table_columns(const App& app) {
  if (app.wide || !app.out_is_terminal) return std::nullopt;
  const int now = app.columns ? app.columns() : app.terminal_columns;
  return now > 0 ? std::optional(static_cast<std::size_t>(now)) : std::nullopt;
}

}  // namespace torc::cli
