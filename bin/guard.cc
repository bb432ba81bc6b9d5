#include "bin/guard.h"

#include <utility>

#include "lib/exec/watchdog.h"

namespace torc::cli {

Exit under_watchdog(const App& app, const std::function<Exit(const App&)>& command) {
  std::fflush(nullptr);  // or both would print it
  auto split = exec::split_off_watchdog(app.clock);
  if (!split) return report(app, split.error());
  if (auto* lease = std::get_if<std::unique_ptr<exec::WatchedLease>>(&*split)) {
    App guarded = app;
    guarded.watched = lease->get();
    return command(guarded);
  }
  const auto& ended = std::get<exec::WorkerEnded>(*split);
  if (ended.given_up) return Exit::store;
  if (ended.signal != 0) exec::die_of(ended.signal);
  return static_cast<Exit>(ended.exit_code);
}

}  // namespace torc::cli
