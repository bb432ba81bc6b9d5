// Runs commands and tells how each one ended, to the last grandchild. One thread, one epoll set, no polling:
// it sleeps until a child ends, a registered descriptor is readable or a deadline passes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/units.h"

namespace torc::exec {

using Path = std::filesystem::path;

// How a command is to be run. Paths absolute.
struct Command {
  std::string line;                  // as the user wrote it; see argv_of() for when a shell is used
  std::vector<std::string> env;      // complete environment, "NAME=value"
  Path directory;                    // working directory
  Path stdout_path;                  // empty: /dev/null
  Path stderr_path;                  // empty: /dev/null; equal to stdout_path: both to one file
  std::chrono::nanoseconds time_limit{0};                         // 0: none
  int termination_signal = 15;
  std::chrono::nanoseconds termination_lead = std::chrono::seconds(30);  // signal -> SIGKILL
};

// The words of a command that needs no shell, or {"/bin/sh", "-c", line}. No shell is needed when the line has
// no character with a meaning to it beyond blanks and simple quotes, and its first word is no builtin or keyword.
[[nodiscard]] std::vector<std::string> argv_of(const std::string& line);

// Identifies one started command within its host; never reused.
enum class RunId : std::uint64_t {};

enum class Ending : std::uint8_t { exited, signaled, timed_out, stopped, not_started };

struct Ended {
  RunId id{};
  Ending how = Ending::exited;
  int exit_code = -1;   // when exited; also kept when timed_out or stopped ended by an exit
  int signal = 0;       // when ended by one
  int os_errno = 0;     // when not_started
  WallTime started_at{};
  WallTime ended_at{};
  ByteCount max_rss;                   // largest single process of the tree (wait4)
  std::chrono::microseconds cpu_time{};  // user + system of the waited-for tree
};

class ProcessHost {
 public:
  // Makes the calling process a child subreaper and takes over SIGCHLD. At most one host a process; the calling
  // thread is the only one that may start children.
  static Result<std::unique_ptr<ProcessHost>> create(Clock& clock);
  virtual ~ProcessHost() = default;

  // Starts a command in a session and process group of its own. A command that cannot be executed is reported
  // by wait() as Ended::not_started, not as an error; an Error means that this host cannot start anything now
  // (out of processes, memory or descriptors): try again later.
  virtual Result<RunId> start(const Command& command) = 0;

  // `fd` wakes wait() when it is readable. The caller empties it. `unwatch` before closing.
  virtual Result<void> watch(int fd) = 0;
  virtual void unwatch(int fd) = 0;

  struct Wakeup {
    std::vector<Ended> ended;    // their whole process trees are gone
    std::vector<int> readable;   // registered descriptors
  };
  // Sleeps until something happens or `deadline` (boot time; nullopt: no limit) passes.
  virtual Result<Wakeup> wait(std::optional<BootTime> deadline) = 0;

  // Sends the termination signal to the tree and SIGKILL after the lead; the end is reported by wait() as
  // `stopped`. Unknown or ended ids are ignored. kill() skips the signal.
  virtual void stop(RunId id, std::chrono::nanoseconds lead) = 0;
  virtual void kill(RunId id) = 0;
  // SIGKILL to every process of every tree, at once: for self-fencing.
  virtual void kill_all() = 0;

  [[nodiscard]] virtual std::size_t running() const = 0;
  // The process that leads the command's session; 0 after its end.
  [[nodiscard]] virtual pid_t leader(RunId id) const = 0;
};

}  // namespace torc::exec
