// What the host needs to read of /proc about processes. A process that has gone reads as nothing;
// so does one that could not be looked at. Who must know which of the two asks for a Family, or for
// the presence of a process (machine.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/file/descriptor.h"

namespace torc::exec {

struct ProcessStat {
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  bool has_executed = true;  // a program, since it was made
  std::uint64_t threads = 0;
  std::uint64_t start = 0;               // clock ticks since boot; with the pid, an identity
  std::chrono::microseconds cpu_time{};  // its own, and of the children that it waited for
};
// Whole, or not at all.
[[nodiscard]] std::optional<ProcessStat> read_stat(pid_t pid, const std::string& proc = "/proc");
// Nothing of it runs any more. A first thread that has ended is a zombie while others go on.
[[nodiscard]] bool has_ended(const ProcessStat& stat);

// The same of what can be read at any time. /proc/PID/stat cannot: it waits for an execution under
// way, and that for a filesystem, when a descriptor that it closes is of one that does not answer.
// So who must not wait for a process reads this of it.
struct ProcessStatus {
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;  // 0: this kernel does not say
  std::uint64_t threads = 0;
};
[[nodiscard]] std::optional<ProcessStatus> read_status(pid_t pid);
[[nodiscard]] bool has_ended(const ProcessStatus& status);

// The whole of a file of /proc or /sys, where sizes are not known in advance; nullopt when it
// cannot be read to its end.
[[nodiscard]] std::optional<std::string> read_small_file(const std::string& path);

// What stands on the line of `text` that begins with `name` ("VmRSS:", "oom_kill "), behind that
// and blanks; empty: there is no such line.
[[nodiscard]] std::string_view line_value(std::string_view text, std::string_view name);
// The number with which that begins.
[[nodiscard]] std::optional<std::uint64_t> line_number(std::string_view text, std::string_view name,
                                                       int base = 10);
// "0-3,8", "/a/b": the parts of a list; an empty last one is none.
[[nodiscard]] std::vector<std::string> split(std::string_view list, char separator);

// All decimal numbers that are names in a directory: processes of /proc, threads of /proc/PID/task.
// nullopt when it cannot be listed to its end.
[[nodiscard]] std::optional<std::vector<pid_t>> numbers_in(const std::string& directory);

// The environment that the process was executed with, each variable ended by a zero byte; nullopt
// when it may not or cannot be read. In the middle of an execution the kernel shows none: then it
// is waited for, 50 ms at most; one that does not come is none that was read.
[[nodiscard]] std::optional<std::string> environment_of(pid_t pid,
                                                        const std::string& proc = "/proc");
// A variable of it.
[[nodiscard]] std::optional<std::string> environment_value(pid_t pid, std::string_view name);

// No process has this number now.
[[nodiscard]] bool is_free(pid_t number);

// Processes by descent. `complete`: there were no others. Else something could not be looked at,
// and there may be.
struct Family {
  std::vector<pid_t> pids;
  bool complete = true;
};
// Children of the threads of a process, now; by scanning /proc where the kernel has no `children`
// files.
[[nodiscard]] Family children_of(pid_t pid);
// The same, with their children, and so on. Each after its parent.
[[nodiscard]] Family descendants_of(pid_t pid);

// The children of one thread of this process, kept open because it is read after every end of a
// command.
class ChildrenFile {
 public:
  explicit ChildrenFile(pid_t tid);

  [[nodiscard]] bool there() const { return static_cast<bool>(file_); }
  // Complete: a child leaves this list only when this process reaps it.
  [[nodiscard]] std::vector<pid_t> read() const;
  // There is surely none. Any thread.
  [[nodiscard]] bool is_empty() const;

 private:
  Descriptor file_;
};

}  // namespace torc::exec
