// Makes one child process that executes a program: the step of ProcessHost and run_program() below
// which there are only system calls.
//
// The child shares this process's memory until it executes (as with vfork and posix_spawn), so that
// nothing is copied and an error comes back without a pipe. Unlike posix_spawn it also asks the
// kernel to kill it when the thread that started it ends. One thread at a time uses a Launcher.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/result.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/exec/start/command.h"

namespace torc::exec {

// As sched_setattr(2) takes it; the C library has no name for it before 2.41.
struct SchedulingTerms {
  std::uint32_t size = sizeof(SchedulingTerms);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t turn = 0;  // nanoseconds; 0: as long as usual
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

struct LaunchPlan {
  const char* program = nullptr;  // path, with a slash
  // Null-terminated: [0] is "/bin/sh", for programs without "#!"; the program's own words begin at
  // [1].
  char** words = nullptr;
  char** environment = nullptr;     // null-terminated
  const char* directory = nullptr;  // null: the current one
  int stdin_fd = -1;                // these three: -1 for /dev/null; they are 3 or higher
  int stdout_fd = -1;
  int stderr_fd = -1;
  const char* stdout_path = nullptr;  // created or emptied; null: stdout_fd
  const char* stderr_path = nullptr;  // null: stderr_fd
  int stdout_errno = 0;               // that the start fails with, for the first of these
  int stderr_errno = 0;               // and for the second
  bool join_stderr = false;           // stderr is stdout
  int group_fd = -1;                  // of a control group that it is to be in; -1: this process's
  // Mask of CPUs to run on, as sched_setaffinity(2) takes it; null: this process's.
  const void* cpus = nullptr;
  std::size_t cpus_size = 0;
  std::optional<mode_t> umask;  // from the execution on; none: this process's
  // Nothing is executed when these do not permit it. The child asks last of all, since opening its
  // files may have taken any time.
  LeasePage::Terms lease = {};
};

// os_errno of what the lease did not permit; failed_at is `none`.
inline constexpr int kLeaseInDoubt = ECANCELED;

struct Launched {
  pid_t pid = 0;  // 0: not started, and no child is left behind
  int os_errno = 0;
  StartStep failed_at = StartStep::none;  // `none` with an error: no process could be made
};

class Launcher {
 public:
  static Result<std::unique_ptr<Launcher>> create();
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // The child leads a session and a process group of its own; signals are as after boot: default,
  // none blocked. What this process ignores or handles it must do before create(): later changes
  // are not looked for.
  [[nodiscard]] Launched launch(const LaunchPlan& plan);

  // From now on the calling thread, which is to be the only one that uses this and destroys it, and
  // threads that it makes are given a CPU soon when others want it too: of the same share as
  // before, in shorter turns. So is what they start, by whatever Launcher, until it executes its
  // program. Does nothing where the kernel knows no such turns (before Linux 6.12), or whoever
  // started this process has chosen them.
  void take_short_turns();

 private:
  Launcher(void* stack, int null_fd);
  void* stack_;
  int null_fd_;
  std::vector<int> unusual_signals_;  // ignored or handled; a call for each of all 64 costs more
  std::optional<SchedulingTerms> usual_turns_;  // of what is executed; none: as this thread's
  bool took_turns_ = false;
};

}  // namespace torc::exec
