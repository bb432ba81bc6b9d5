#include "bin/guard.h"

#include <signal.h>

#include <cstring>
#include <string>

#include "bin/signals.h"
#include "lib/base/quantities.h"
#include "lib/exec/watchdog/kept_child.h"
#include "lib/exec/watchdog/watchdog.h"

namespace torc::cli {

namespace {

// By Ctrl-C, a closed terminal or a reader that left.
bool is_from_a_person(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGPIPE;
}

std::string jobs_of(const std::string& again) {
  return again.empty() ? "its jobs go to others" : "its jobs run again; go on with: " + again;
}

}  // namespace

Exit under_watchdog(const App& app, const std::string& again, const RunCommand& command) {
  std::fflush(nullptr);  // or both would print it
  auto split = exec::split_off_watchdog(app.clock);
  if (!split) return report(app, split.error());
  if (auto* lease = std::get_if<std::unique_ptr<exec::WatchedLease>>(&*split)) {
    App guarded = app;
    guarded.watched = lease->get();
    explain_crashes_and_die();
    const Exit exit = report(guarded, command(guarded));
    std::clearerr(app.out);  // that its log could not be written says nothing of its work
    return exit;
  }
  const auto& ended = std::get<exec::WorkerEnded>(*split);
  if (ended.given_up) {
    say(app.err,
        "torc: the worker had lost its lease, was told to stop and did not: it was killed; {}\n",
        jobs_of(again));
    return Exit::store;
  }
  // Of a crash it says more itself, if it can.
  if (ended.signal != 0 && !is_from_a_person(ended.signal)) {
    say(app.err, "torc: the worker was killed by signal {} ({}){}; {}\n", ended.signal,
        strsignal(ended.signal), ended.signal == SIGKILL ? ", perhaps because memory ran out" : "",
        jobs_of(again));
  }
  if (is_crash(ended.signal)) return Exit::store;
  if (ended.signal != 0) exec::die_of(ended.signal);
  return static_cast<Exit>(ended.exit_code);
}

Result<Exit> replaced_when_killed(const App& app, const RunCommand& command) {
  std::fflush(nullptr);  // or both would print it
  bool given_up = false;
  const auto tell = [&](const exec::ChildEnd&, std::size_t replacements) {
    given_up = replacements == 0;
    const auto within = show_duration(exec::kReplacementsWithin);
    if (given_up) {
      say(app.err,
          "{} torc: the worker on {} was killed again, after {} new ones within {}: no further one "
          "is started, and the node is left to others\n",
          show_time(app.clock.wall_now()), app.world.host, exec::kMostReplacements, within);
    } else {
      say(app.err,
          "{} torc: the worker on {} was killed; a new one takes its place ({} of at most {} "
          "within "
          "{})\n",
          show_time(app.clock.wall_now()), app.world.host, replacements, exec::kMostReplacements,
          within);
    }
    std::fflush(app.err);
  };
  TORC_ASSIGN(const auto ended, exec::replace_when_killed(app.clock, tell));
  if (!ended) return command(app);
  if (given_up) return Exit::store;
  if (ended->signal != 0) exec::die_of(ended->signal);
  return static_cast<Exit>(ended->exit_code);
}

}  // namespace torc::cli
