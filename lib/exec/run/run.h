// What a ProcessHost knows of one command that it started. Values; no system calls. Internal to
// lib/exec: include process_host.h.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "lib/exec/end/job_groups.h"
#include "lib/exec/machine/io_use.h"
#include "lib/exec/run/process_host.h"

namespace torc::exec {

using RunKey = std::uint64_t;  // the value of a RunId

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

// The process that a command began as.
struct Leader {
  RunKey key = 0;
  pid_t pid = 0;
  WallTime at{};
  BootTime since{};
};

struct Run {
  pid_t group = 0;  // process id of the leader, and number of its process group and session
  bool leader_gone =
      false;  // reaped; `group` is still no other process's while the group has members
  bool group_gone = false;  // the group has no members: its number may be used again by others
  Phase phase = Phase::running;
  std::optional<Ending>
      cause;       // timed_out, stopped or out_of_memory, when that came before the leader's end
  int status = 0;  // the leader's, from wait4
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

// Nothing is looked at before it has run for so long.
inline constexpr std::chrono::nanoseconds kFirstLook = std::chrono::milliseconds(100);

// The run of a leader that was started on these terms, known from `now` on. `limits` may be null.
[[nodiscard]] Run run_of(const Leader& leader, const RunTerms& terms,
                         std::unique_ptr<JobGroup> limits, BootTime now);

}  // namespace torc::exec
