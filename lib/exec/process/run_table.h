// What a ProcessHost knows of the commands it started and of the processes that left their
// sessions. Values and look-ups; no system calls.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/exec/end/job_groups.h"
#include "lib/exec/machine/io_use.h"
#include "lib/exec/process/process_host.h"

namespace torc::exec {

enum class Phase : std::uint8_t {
  running,      // as it likes
  terminating,  // has the termination signal, and time until its deadline
  killed        // SIGKILL was sent to all that was found; what is found later gets it at once
};

// What is known of the memory that a tree uses.
struct MemoryWatch {
  ByteCount limit;     // 0: none
  ByteCount peak;      // 0: it was not looked at yet
  ByteCount before;    // quick figure of the last look
  ByteCount exact_at;  // the largest quick figure at which the exact one was asked for
  BootTime since{};
  BootTime last{};
  BootTime next{};
};

struct Run {
  pid_t group = 0;  // process id of the leader, and number of its process group and session
  bool leader_gone =
      false;  // reaped; `group` is still no other process's while the group has members
  bool group_gone = false;  // the group has no members: its number may be used again by others
  Phase phase = Phase::running;
  std::optional<Ending>
      cause;  // timed_out, stopped or out_of_memory, when that came before the leader's end
  std::size_t strays = 0;  // adopted processes attributed to it that are not reaped yet
  int status = 0;          // the leader's, from wait4
  WallTime started_at{};
  std::chrono::microseconds cpu_time{};
  ByteCount max_rss;               // of a single process, from wait4
  Activity activity;               // of what was reaped: io as far as it could be read
  IoFile io_file;                  // of the leader, from the first look on
  std::optional<Traffic> io_seen;  // of the whole tree, at the newest look
  MemoryWatch memory;
  std::unique_ptr<JobGroup> limits;         // null: none
  std::chrono::nanoseconds sample_every{};  // 0: never
  BootTime next_sample{};
  int termination_signal = 15;
  std::chrono::nanoseconds lead{};
  std::optional<BootTime> deadline;  // of the phase: its time limit, or the end of its lead
};

using RunKey = std::uint64_t;  // the value of a RunId

class RunTable {
 public:
  Run& add(RunKey key, Run run);
  void remove(RunKey key);
  void set_deadline(RunKey key, std::optional<BootTime> deadline);

  [[nodiscard]] Run* find(RunKey key);
  // The run whose leader has, or had, this process id, which is the number of its session.
  [[nodiscard]] std::optional<RunKey> by_session(pid_t session) const;
  [[nodiscard]] std::optional<BootTime> next_deadline() const;
  // A run whose deadline is not after `now`.
  [[nodiscard]] std::optional<RunKey> due(BootTime now) const;
  // The first run, in the order of their starts.
  [[nodiscard]] std::optional<RunKey> oldest() const;

  [[nodiscard]] std::size_t size() const { return runs_.size(); }
  [[nodiscard]] std::map<RunKey, Run>& all() { return runs_; }
  [[nodiscard]] const std::map<RunKey, Run>& all() const { return runs_; }

 private:
  std::map<RunKey, Run> runs_;
  std::unordered_map<pid_t, RunKey> by_group_;
  std::set<std::pair<BootTime, RunKey>> deadlines_;
};

// An adopted process: a descendant of a command whose parents have ended.
struct Stray {
  std::optional<RunKey> owner;  // nothing: it hides whose it is
  RunKey newest = 0;            // the newest run when it was found: its owner is no newer
};

}  // namespace torc::exec
