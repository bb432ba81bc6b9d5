#include "bin/commands/change/confirm.h"

#include <fmt/format.h>
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
  if (answered && (line[0] == 'y' || line[0] == 'Y')) return true;
  say(app.err,
      "torc: not confirmed: nothing was changed and nothing was run; --yes does not ask\n");
  return false;
}

void say_more_than_confirmed(const App& app, std::uint64_t confirmed, std::uint64_t now) {
  say(app.err,
      "torc: not confirmed: by now {} would run again, and {} confirmed; nothing was changed and "
      "nothing was run\n",
      plural(now, "completed job"),
      confirmed == 1 ? "one was" : fmt::format("{} were", show_count(confirmed)));
}

}  // namespace torc::cli
