// The loop of the watchdog. Internal to lib/exec: include watchdog.h.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "lib/base/clock.h"
#include "lib/exec/end/kill_tree.h"
#include "lib/exec/watchdog/watchdog.h"

namespace torc::exec {

// Those that the watchdog reads instead of suffering them. One that was ignored when the process
// started (nohup) is none of them.
[[nodiscard]] sigset_t watched_signals();

class Watch {
 public:
  // Owns `wake_fd`, which is readable when the worker changed the page, and `news_fd`, by which the
  // worker is told that this process did. The watched signals are blocked, and this process is a
  // child subreaper.
  Watch(Clock& clock, LeasePage& page, pid_t worker, int wake_fd, int news_fd);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Until the worker has ended and nothing that came from it is left.
  WorkerEnded run();

 private:
  void look_at_lease();
  void look_at_pause(BootTime now);
  void look_at_fence(BootTime now);
  [[nodiscard]] bool is_out_of_patience(BootTime now) const;
  void tell_worker() const;
  void set_timer(std::optional<BootTime> at);
  void handle_signals();
  void pass_on(int number);
  void pause_with_worker();
  void stop_worker_and_jobs();
  bool reap();
  void end_what_is_left();

  Clock& clock_;
  LeasePage& page_;
  pid_t worker_;
  int wake_fd_;
  int news_fd_;
  int signal_fd_;
  int stop_fd_;  // readable while SIGTSTP is pending; never read
  int timer_fd_;
  std::chrono::nanoseconds look_again_;  // after a sweep, for what was just being started
  std::optional<BootTime> doubted_at_;   // the lease was paused or fenced, and was not since
  bool told_fenced_ = false;
  StoppedProcesses stopped_;  // of a paused lease
  std::optional<BootTime> told_to_stop_;
  std::optional<BootTime> asked_in_pause_;  // to stop, the first time since the lease was paused
  bool worker_gone_ = false;
  WorkerEnded ended_;
};

}  // namespace torc::exec
