// What wakes a host: ends of children, an alarm, and descriptors that others registered, in one
// epoll set. Internal to lib/exec: include process_host.h.
#pragma once

#include <signal.h>

#include <chrono>
#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace torc::exec {

// All calls from one thread. Owns its own descriptors, not those that are watched.
class Events {
 public:
  explicit Events(const Clock& clock) : clock_(clock) {}
  // Closes, and gives the thread the signal mask that it had before open().
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // Takes over SIGCHLD, which it blocks in this thread; invalid: another thread does not block it.
  // After an Error only destruction is left.
  Result<void> open();

  Result<void> watch(int fd);
  void unwatch(int fd);
  // From its moment on sleep() does not sleep; nullopt: no alarm. An alarm that has woken is over.
  Result<void> set_alarm(std::optional<BootTime> at);
  // Muted, ends of children wake nobody; those of meanwhile do so as soon as they may again. Where
  // that cannot be changed it stays as it is.
  void mute_children(bool mute);
  [[nodiscard]] bool children_muted() const { return muted_; }

  struct Woken {
    bool by_children = false;  // one or more may have ended
    std::vector<int> readable;
  };
  // Until something wakes it, perhaps nothing; `at_once`: what would wake it now. May return with
  // nothing, after signals.
  Result<Woken> sleep(bool at_once);
  // Whether something comes within this time that sleep() tells of then.
  [[nodiscard]] bool comes_within(std::chrono::milliseconds time) const;

 private:
  const Clock& clock_;
  bool took_signal_ = false;
  sigset_t signals_before_{};
  int epoll_ = -1;
  int child_signals_ = -1;
  int timer_ = -1;
  std::optional<BootTime> alarm_;  // as the timer is set
  bool muted_ = false;
};

}  // namespace torc::exec
