// The loop of the watchdog. Internal to lib/exec: include watchdog.h.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "lib/base/clock.h"
#include "lib/exec/watchdog.h"

namespace torc::exec {

// Those that the watchdog reads instead of suffering them. One that was ignored when the process
// started (nohup) is none of them.
[[nodiscard]] sigset_t watched_signals();

class Watch {
 public:
  // Owns `wake_fd`, which is readable when a lease has begun. The watched signals are blocked.
  Watch(Clock& clock, LeasePage& page, pid_t worker, int wake_fd);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Until the worker has ended and nothing that came from it is left.
  WorkerEnded run();

 private:
  void look_at_lease();
  void set_timer(std::optional<BootTime> at);
  void handle_signals();
  void pass_on(int number);
  void pause_with_worker();
  bool reap();
  void end_what_is_left();

  Clock& clock_;
  LeasePage& page_;
  pid_t worker_;
  int wake_fd_;
  int signal_fd_;
  int timer_fd_;
  std::chrono::nanoseconds look_again_;  // after a fencing, for what was just being started
  std::optional<BootTime> fenced_at_;
  std::optional<BootTime> told_to_stop_;
  bool worker_gone_ = false;
  WorkerEnded ended_;
};

}  // namespace torc::exec
