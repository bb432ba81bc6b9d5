// A child of this process that is waited for together with the signals that this process gets. For
// who starts a killed one again: it has one thread and nothing else to do.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/watchdog/replacements.h"

namespace torc::exec {

class KeptChild {
 public:
  // Blocks SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGURG and SIGCHLD, but for those
  // that are ignored, and makes this process a child subreaper. Must be made while the process has
  // one thread, with nothing open that a fork would share to its harm.
  KeptChild();
  KeptChild(const KeptChild&) = delete;
  KeptChild& operator=(const KeptChild&) = delete;

  // A copy of this process, whose signals are as they were before: returns 0 in the copy, its
  // number here. Error busy: no process can be made.
  Result<pid_t> fork_one();
  // Executes `argv`, whose first word is looked for along PATH, with `environment` ("NAME=value").
  // One that cannot be executed ends with exit code 127.
  Result<void> start(const std::vector<std::string>& argv,
                     const std::vector<std::string>& environment);

  // What comes first: a signal to this process, its number; SIGCHLD: the child has ended; 0: `time`
  // has passed.
  [[nodiscard]] int wait(std::optional<std::chrono::nanoseconds> time = std::nullopt);
  // Who sent the newest signal: the process that started this one. Then it is one for the whole
  // family of processes, as Slurm sends them to all of a step.
  [[nodiscard]] bool from_parent() const { return from_parent_; }
  void send(int signal) const;
  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] const ChildEnd& end() const { return end_; }
  // Whether this process was asked to stop, by any of the signals that wait() told.
  [[nodiscard]] bool told_to_stop() const { return told_to_stop_; }
  // SIGKILL to all that the child has left behind, until nothing of it is there, or for two
  // seconds.
  void end_what_is_left() const;

 private:
  void reap();

  sigset_t watched_{};
  sigset_t before_{};
  pid_t pid_ = -1;
  ChildEnd end_;
  bool told_to_stop_ = false;
  bool from_parent_ = false;
};

// What is said when a child was killed: how, and how many of its replacements count by now, this
// one included; 0: it gets none.
using TellKilled = std::function<void(const ChildEnd& end, std::size_t replacements)>;

// Returns in a child of this process, nullopt, each time one is needed: the first one, and one for
// each that was_killed(), when nothing of that is left any more. Returns here when the last one has
// ended, with its end. Passes on signals to stop and SIGUSR1 that somebody sends to this process
// alone. The calling process must be as KeptChild wants it. Error busy: there is no process.
Result<std::optional<ChildEnd>> replace_when_killed(Clock& clock, const TellKilled& tell);

}  // namespace torc::exec
