// Adopted processes: what commands left behind when its parents ended, which the kernel made
// children of this process. Values and look-ups; no system calls. Internal to lib/exec: include
// process_host.h.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lib/exec/run/run.h"

namespace torc::exec {

struct Stray {
  std::optional<RunKey> owner;  // nothing: it hides whose it is
  RunKey newest = 0;            // the newest run when it was found: its owner is no newer
};

// By process id. Each is a child of this process, so its number is its own until it is reaped; who
// reaps it, or gives it up, removes it.
class Strays {
 public:
  void add(pid_t pid, const Stray& stray);
  void remove(pid_t pid);

  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] const Stray* find(pid_t pid) const;
  [[nodiscard]] std::vector<pid_t> all() const;
  [[nodiscard]] std::vector<pid_t> of(RunKey key) const;
  [[nodiscard]] bool any_of(RunKey key) const { return counts_.contains(key); }

  // Those that hide whose they are become those of `oldest`, where they can be no other's: it is
  // the oldest run that there is, and they were found before `next`, the oldest but one, began
  // (nullopt: there is none).
  void claim_hidden(RunKey oldest, std::optional<RunKey> next);

 private:
  std::unordered_map<pid_t, Stray> all_;
  std::unordered_map<RunKey, std::size_t> counts_;  // by owner; never 0
};

}  // namespace torc::exec
