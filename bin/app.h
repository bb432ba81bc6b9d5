// The world as main built it, passed to every command: nothing below main asks the system for time,
// environment or streams by itself.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/text/quote.h"
#include "lib/workflow/context/context.h"

namespace torc::cli {

// What scripts can trust; documented in `torc --help` and docs/user/commands.md.
enum class Exit : int {
  ok = 0,          // all jobs completed; the command did what was asked
  failed = 1,      // some job failed or was never reached; or what was asked for is left undone
  usage = 2,       // wrong flags, or a spec with errors, or what Slurm refuses
  unfinished = 3,  // no job failed, but some may yet run
  store = 4        // the store cannot be used: not found, damaged, no space, no permission, …
  // Above 128: see exit_by_signal().
};

// --color.
enum class Color : unsigned char { automatic, always, never };

struct App : workflow::Context {
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  bool out_is_terminal = false;
  int terminal_columns = 80;
  bool err_is_terminal = false;
  std::function<int()> columns = {};  // of the terminal as it is now; empty: terminal_columns
  std::function<int()> rows = {};     // the same, 0: not known; empty: never known
  bool wide = false;                  // --wide: no table is shortened
  Color color = Color::automatic;
  std::string words = {};  // the command as it was typed
  WallTime asked_at = {};  // when it began
};

// Bytes as they are: what jobs wrote, and the line of progress that draws itself anew.
inline bool write_raw(std::FILE* to, std::string_view bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), to) == bytes.size();
}

// Everything that the program says goes through here, and here alone it loses its power over a
// terminal, wherever it comes from: lines and tabs stay, other control characters and bytes that
// are no UTF-8 become \x1b. Names among it pass printable() before (lib/base/text/quote.h), so that
// they cannot make up lines either. Whether anybody reads it is not minded: a worker must not end
// because its log cannot be written.
template <class... Args>
void say(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  (void)write_raw(to, terminal_text(fmt::format(format, std::forward<Args>(args)...)));
}

// Prints "torc: error: …" with the remedy below, and gives the exit code that fits the kind.
Exit report(const App& app, const Error& error);
// What a command does; an error is told by whoever called it.
using RunCommand = std::function<Result<Exit>(const App&)>;
Exit report(const App& app, const Result<Exit>& done);

}  // namespace torc::cli
