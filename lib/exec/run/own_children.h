// The children of this process, as the kernel lists them: leaders of commands, what it adopted, and
// those that are no host's. Internal to lib/exec: include process_host.h.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <unordered_set>
#include <vector>

#include "lib/exec/machine/procfs.h"
#include "lib/exec/run/strays.h"

namespace torc::exec {

// Whether this child has ended and is not reaped.
[[nodiscard]] bool is_dead_child(pid_t pid);

// All calls from the thread that made it, whose children are looked at, and, where another one is
// the main thread, what the kernel gave that: orphans. Children of other threads are left to those.
class OwnChildren {
 public:
  OwnChildren();
  // Begins: those that are there now were not made by a host.
  void open();

  [[nodiscard]] pid_t process() const { return process_; }
  // The kernel lists them. Else all() searches /proc, and has those of other threads, too.
  [[nodiscard]] bool are_listed() const { return !files_.empty(); }
  // The threads to which orphans come, or which make children: the main one first.
  [[nodiscard]] std::vector<pid_t> threads() const;
  // Now. Complete where they are listed.
  [[nodiscard]] std::vector<pid_t> all() const;

  // One that has ended, and stays to be reaped; 0: none has. Where they are not listed, of those of
  // the main thread only `adopted` ones are looked at.
  [[nodiscard]] pid_t dead_one(const Strays& adopted) const;

  struct Reaped {
    int status = 0;  // as wait4 has it; of an end that nobody can tell of, SIGKILL: no success
    struct rusage usage {};
  };
  // Of one that has ended. Its number may be another's from then on.
  Reaped reap(pid_t pid);

  // Children that are nobody's concern until they are reaped: from before open(), and given up.
  [[nodiscard]] bool is_left_alone(pid_t pid) const { return left_alone_.contains(pid); }
  void leave_alone(pid_t pid) { left_alone_.insert(pid); }

 private:
  pid_t process_;
  pid_t thread_;
  std::vector<std::unique_ptr<ChildrenFile>> files_;  // of threads(); empty: this kernel has none
  std::unordered_set<pid_t> left_alone_;
};

}  // namespace torc::exec
