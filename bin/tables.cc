#include "bin/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace torc::cli {
namespace {

// ECMA-48, SGR: six colors that screens with a light and with a dark ground have.
std::string_view color_of_state(std::string_view title, std::string_view cell) {
  constexpr std::string_view kGreen = "\x1b[32m", kRed = "\x1b[31m", kCyan = "\x1b[36m",
                             kBlue = "\x1b[34m", kYellow = "\x1b[33m", kMagenta = "\x1b[35m";
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kColors{{
      {"completed", kGreen},
      {"failed", kRed},
      {"terminated", kRed},
      {"running", kCyan},
      {"claimed", kCyan},
      {"ready", kBlue},
      {"delayed", kYellow},
      {"pending_failed", kYellow},
      {"canceled", kMagenta},
      {"held", kMagenta},
  }};
  if (title != "state") return "";
  const auto at = std::ranges::find(kColors, cell, [](const auto& pair) { return pair.first; });
  return at == kColors.end() ? "" : at->second;
}

bool has_colors(const App& app) {
  if (app.color != Color::automatic) return app.color == Color::always;
  const auto refused = app.env("NO_COLOR");
  return app.out_is_terminal && (!refused || refused->empty());
}

}  // namespace

std::optional<std::size_t> table_columns(const App& app) {
  if (app.wide || !app.out_is_terminal) return std::nullopt;
  const int now = app.columns ? app.columns() : app.terminal_columns;
  return now > 0 ? std::optional(static_cast<std::size_t>(now)) : std::nullopt;
}

// Cells are printable: nothing but the colors has power over a terminal.
void say_table(const App& app, const Table& table) {
  const auto columns = table_columns(app);
  if (has_colors(app))
    (void)write_raw(app.out, table.text(columns, color_of_state));
  else
    say(app.out, "{}", table.text(columns));
  auto left_out = columns ? table.left_out(*columns) : std::vector<std::string>();
  std::vector<std::string> seen;
  std::erase_if(left_out, [&](const std::string& title) {
    const bool is_known = std::ranges::find(seen, title) != seen.end();
    if (!is_known) seen.push_back(title);
    return is_known;
  });
  if (!left_out.empty())
    say(app.out, "too narrow for: {} (--wide)\n", fmt::format("{}", fmt::join(left_out, ", ")));
}

}  // namespace torc::cli
