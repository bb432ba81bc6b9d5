// The commands that a ProcessHost started and whose ends it has not reported, and by which moment
// something is to be done about one of them. Values and look-ups; no system calls. Internal to
// lib/exec: include process_host.h.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/exec/run/run.h"

namespace torc::exec {

// A Run stays where it is until remove(): references and iterators to others survive add() and
// remove().
class RunTable {
 public:
  // The key that take_key() gave last; 0: none yet. Keys grow with time and are never used again.
  [[nodiscard]] RunKey last_key() const { return last_key_; }
  RunKey take_key() { return ++last_key_; }

  // An older run with the same group has surely lost its own: the kernel gave the number again.
  // Wants a look at memory.next.
  Run& add(RunKey key, Run run);
  void remove(RunKey key);
  // Its leader was reaped, and ended with this status, as wait4 has it.
  void lose_leader(RunKey key, int status);

  [[nodiscard]] Run* find(RunKey key);
  // The run whose leader has, or had, this process id, which is the number of its session.
  [[nodiscard]] std::optional<RunKey> by_session(pid_t session) const;
  // The first run, in the order of their starts, and the next one behind a key.
  [[nodiscard]] std::optional<RunKey> oldest() const;
  [[nodiscard]] std::optional<RunKey> after(RunKey key) const;
  // Those without a leader, in the order in which they lost them.
  [[nodiscard]] const std::vector<RunKey>& leaderless() const { return leaderless_; }

  void set_deadline(RunKey key, std::optional<BootTime> deadline);
  // All deadlines, by time that does not count.
  void shift_deadlines(std::chrono::nanoseconds by);
  [[nodiscard]] std::optional<BootTime> next_deadline() const;
  // A run whose deadline is not after `now`.
  [[nodiscard]] std::optional<RunKey> due(BootTime now) const;

  // When the next look at what runs use is due; nullopt: nobody wants one. Who looks says when the
  // next one is.
  [[nodiscard]] std::optional<BootTime> next_look() const { return next_look_; }
  void set_next_look(std::optional<BootTime> at) { next_look_ = at; }
  void want_look(BootTime at);  // then, unless one is due before

  [[nodiscard]] std::size_t size() const { return runs_.size(); }
  [[nodiscard]] std::map<RunKey, Run>& all() { return runs_; }
  [[nodiscard]] const std::map<RunKey, Run>& all() const { return runs_; }

 private:
  RunKey last_key_ = 0;
  std::map<RunKey, Run> runs_;
  std::unordered_map<pid_t, RunKey> by_group_;
  std::set<std::pair<BootTime, RunKey>> deadlines_;
  std::vector<RunKey> leaderless_;
  std::optional<BootTime> next_look_;
};

}  // namespace torc::exec
