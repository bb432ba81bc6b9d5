// The workers of a round as processes: starting them, finding the processes that each consists of,
// killing, stopping and continuing these, and remembering what was done to whom and when.
//
// A worker is one process, or two: the one that was started, and a child of it that does the work.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/harness.h"
#include "tests/torture/options.h"

namespace torc::torture {

[[nodiscard]] std::int64_t wall_now();  // ns since 1970, as files' times count them
[[nodiscard]] std::int64_t boot_now();  // ns since boot

// What became of each process of a worker. Times are wall_now().
class Ledger {
 public:
  struct Fate {
    std::int64_t died_at = 0;  // 0: not that anybody knows
    bool was_killed = false;   // at that time; else it was only noticed then
    std::vector<std::pair<std::int64_t, std::int64_t>> stops;  // end 0: still stopped
  };
  void lives(pid_t pid) { fates_[pid]; }
  void killed(pid_t pid);
  void ended(pid_t pid);
  void stopped(pid_t pid);
  void continued(pid_t pid);
  // The gap of the main loop between two looks: in it nothing can be said of anybody.
  void stalled(std::int64_t from, std::int64_t to) { stalls_.emplace_back(from, to); }

  [[nodiscard]] const Fate* find(pid_t pid) const;
  // Some worker, or this program itself, stood still between these times.
  [[nodiscard]] bool anybody_stood_still(std::int64_t from, std::int64_t to) const;

 private:
  std::map<pid_t, Fate> fates_;
  std::vector<std::pair<std::int64_t, std::int64_t>> stalls_;
};

enum class Target : std::uint8_t { child, parent, both };

class Member {
 public:
  explicit Member(itest::Launch launch, Ledger& ledger);

  void start();
  // SIGKILL, SIGSTOP or SIGCONT for a part of it; a part that there is not: for the whole.
  void strike(Target target, int signal);
  // As Ctrl-Z does: SIGTSTP to the process group of what was started, as its shell knows it.
  void suspend();
  [[nodiscard]] itest::Process& process() { return *process_; }
  [[nodiscard]] const itest::Launch& launch() const { return launch_; }
  [[nodiscard]] bool is_stopped() const { return suspended_ || !stopped_.empty(); }
  // One of its threads is in a system call by which a commit reaches the disk.
  [[nodiscard]] bool is_committing() const;
  // Waits, busily, until it is; false when that has not come within so many ns.
  [[nodiscard]] bool wait_for_commit(std::int64_t limit) const;
  void resume();  // continues all of it that was stopped
  // Its processes as they are now, and what it has printed: for the account of a violation.
  [[nodiscard]] std::string evidence() const;
  // After its end: `process()` has ended.
  void buried();

 private:
  [[nodiscard]] pid_t find_child() const;
  void note(pid_t pid, int signal);

  itest::Launch launch_;
  Ledger& ledger_;
  std::unique_ptr<itest::Process> process_;
  std::vector<pid_t> seen_;     // all processes of it
  std::vector<pid_t> stopped_;  // of these
  bool suspended_ = false;      // all of it, by a person
};

// Reaps orphans of killed workers that this process, as their subreaper, was given. `own` are the
// processes that others wait for.
void reap_orphans(const std::vector<pid_t>& own);
// Waits until no child is left; what those are and do that are still there after `limit`, and are
// killed then.
[[nodiscard]] std::vector<std::string> survivors(std::chrono::seconds limit);

}  // namespace torc::torture
