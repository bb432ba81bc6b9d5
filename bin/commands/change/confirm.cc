#include "bin/commands/change/confirm.h"

#include <unistd.h>

#include <cstdio>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"

namespace torc::cli {

bool can_ask(const App& app) {
  return app.out_is_terminal && isatty(STDIN_FILENO) == 1;
}

bool confirms_redoing(const App& app, std::uint64_t jobs) {
  say(app.out, "run {} again? [y/N] ", plural(jobs, "completed job"));
  std::fflush(app.out);
  char line[16] = {};
  const bool answered = std::fgets(line, sizeof line, stdin) != nullptr;
  return answered && (line[0] == 'y' || line[0] == 'Y');
}

}  // namespace torc::cli
