// The world as main built it, passed to every command: nothing below main asks the system for time,
// environment or streams by itself.
#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/machine.h"
#include "lib/store/store.h"

namespace torc::cli {

using Path = std::filesystem::path;

// What scripts can trust; documented in `torc --help` and docs/commands.md.
enum class Exit : int {
  ok = 0,          // all jobs completed; the command did what was asked
  unfinished = 1,  // some job failed or was never reached
  usage = 2,       // wrong flags, or a spec with errors
  store = 3        // the store cannot be used: not found, damaged, no space, no permission, …
};

struct App {
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  bool out_is_terminal = false;
  int terminal_columns = 80;
  exec::GetEnv env;
  Clock& clock;
  store::World world;            // for the thread that runs the command
  store::World world2;           // the same world with an entropy of its own, for a second thread
  Path directory;                // working directory, absolute
  Path program;                  // absolute path of this program, as other nodes will find it
  char** environment = nullptr;  // environ
};

// Prints "torc: error: …" with the remedy below, and gives the exit code that fits the kind.
Exit report(const App& app, const Error& error);

}  // namespace torc::cli
