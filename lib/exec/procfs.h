// What the host needs to read of /proc about processes. A process that has gone reads as nothing.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torc::exec {

struct ProcessStat {
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t start = 0;               // clock ticks since boot; with the pid, an identity
  std::chrono::microseconds cpu_time{};  // its own, and of the children that it waited for
};
[[nodiscard]] std::optional<ProcessStat> read_stat(pid_t pid);

// The whole of a file of /proc or /sys, where sizes are not known in advance; nullopt when it
// cannot be read.
[[nodiscard]] std::optional<std::string> read_small_file(const std::string& path);

// All decimal numbers that are names in a directory: processes of /proc, threads of /proc/PID/task.
[[nodiscard]] std::vector<pid_t> numbers_in(const std::string& directory);

// The environment that the process was executed with, each variable ended by a zero byte; nullopt
// when it may not be read. In the middle of an execution the kernel shows none: then it is waited
// for, 50 ms at most.
[[nodiscard]] std::optional<std::string> environment_of(pid_t pid);
// A variable of it.
[[nodiscard]] std::optional<std::string> environment_value(pid_t pid, std::string_view name);

// Children of the threads of a process, now; by scanning /proc where the kernel has no `children`
// files.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);
// The same, with their children, and so on. Each after its parent.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t pid);

// The children of one thread of this process, kept open because it is read after every end of a
// command.
class ChildrenFile {
 public:
  explicit ChildrenFile(pid_t tid);
  ~ChildrenFile();
  ChildrenFile(const ChildrenFile&) = delete;
  ChildrenFile& operator=(const ChildrenFile&) = delete;

  [[nodiscard]] bool there() const { return fd_ >= 0; }
  // Complete: a child leaves this list only when this process reaps it.
  [[nodiscard]] std::vector<pid_t> read() const;

 private:
  int fd_;
};

}  // namespace torc::exec
