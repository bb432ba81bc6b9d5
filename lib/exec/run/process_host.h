// Runs commands and tells how each one ended, to the last grandchild. One thread, one epoll set, no
// polling: it sleeps until a child ends, a registered descriptor is readable or a deadline passes.
// docs/maintainer/execution.md has the whole story: what a command inherits, how its tree is found
// and ended, and what is not promised.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/activity.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/exec/start/command.h"

namespace torc::exec {

// Identifies one started command within its host; never reused.
enum class RunId : std::uint64_t {};

enum class Ending : std::uint8_t {
  exited,
  signaled,
  timed_out,
  stopped,
  not_started,
  out_of_memory  // beyond its memory_limit; or the kernel killed it for lack of memory
};

struct Ended {
  RunId id{};
  Ending how = Ending::exited;
  int exit_code = -1;  // of the leader, when it exited; also when timed_out or stopped
  int signal = 0;      // that ended the leader, when one did; also when timed_out or stopped
  int os_errno = 0;    // when not_started
  StartStep failed_at = StartStep::none;  // when not_started
  WallTime started_at{};
  WallTime ended_at{};
  // Peak of the tree: the largest of what was seen of the whole tree (from 100 ms on), of its
  // largest single process by then, and of that process in the end (wait4). The kernel counts in
  // the last what the process was before it executed the command, this process's own size; so a
  // last figure that is no larger than that says nothing. 0: not known.
  ByteCount max_rss;
  std::chrono::microseconds cpu_time{};  // user + system of the waited-for tree
  // `io` of commands that were looked at, from 100 ms on; the rest always, of the waited-for tree.
  Activity activity;
};

// A running command as it is at one moment.
struct Sample {
  RunId id{};
  WallTime at{};
  ByteCount memory;                      // of the tree, as memory_use.h counts it
  std::chrono::microseconds cpu_time{};  // since its start, in hundredths of a second
  std::optional<Traffic> io;             // since its start
  std::uint32_t processes = 0;
};

class WatchedLease;  // watched_lease.h

class ProcessHost {
 public:
  // Makes the calling process a child subreaper and takes over SIGCHLD, which it blocks in the
  // calling thread; every other thread must block it already, or be started later (else Error:
  // invalid). At most one host a process. All calls come from the thread that created the host,
  // which must live as long: the kernel kills the leaders of running commands when it ends. It
  // starts children by this host and by run_program() alone; other threads start none but by
  // run_program(). Children from before create() are reaped but not killed.
  //
  // While `lease` (which lives as long; null: none) is paused, all commands are stopped, and what
  // is due because of their time waits. That time does not count, nor does any in which this
  // process did not run though it wanted to (it was stopped, or the machine suspended).
  static Result<std::unique_ptr<ProcessHost>> create(Clock& clock, WatchedLease* lease = nullptr);

  // Kills what still runs and waits for its end, at most 5 s.
  virtual ~ProcessHost() = default;

  // Starts a command in a session and process group of its own. A command that cannot be executed
  // is reported by wait() as Ended::not_started, not as an error; an Error (busy) means that this
  // host cannot start anything now (out of processes, memory or descriptors, or its lease was in
  // doubt at the last moment before the execution): try again later.
  // Missing directories of output files are not made. The command gets the environment as it is,
  // plus TORC_RUN_ID, by which processes that leave its session are known; nothing is inherited but
  // descriptors 0 (/dev/null), 1 and 2.
  virtual Result<RunId> start(const Command& command) = 0;

  // How the command that start() gave last was not started; nullopt: it was. wait() tells of it all
  // the same unless it is forgotten before.
  [[nodiscard]] virtual std::optional<Ended> not_started(RunId id) const = 0;
  virtual void forget(RunId id) = 0;

  // Short commands without a moment between them: queued ones are started in their order, as soon
  // as fewer than let_run() of them run, by threads of the host's own; wait() tells of that later,
  // in batches. A host that cannot do so refuses (unsupported), and start() serves. Until wait()
  // has told that it began, a queued command can be taken back; then its end is told like any
  // other. When one cannot be started, or may not for the lease, nothing more is begun: wait()
  // tells of it in `declined`, and what is queued behind it must be taken back.
  virtual Result<RunId> queue(const Command& command);
  virtual void let_run(std::size_t commands);
  // Those that have not begun, the newest last: they never will.
  virtual std::vector<RunId> take_back();

  // `fd` wakes wait() when it is readable. The caller empties it. `unwatch` before closing.
  virtual Result<void> watch(int fd) = 0;
  virtual void unwatch(int fd) = 0;

  struct Begun {
    RunId id{};
    WallTime at{};
    BootTime since{};
  };
  struct Declined {
    RunId id{};
  };
  struct Wakeup {
    std::vector<Begun> begun;        // of what was queued; before `ended`, where they may be, too
    std::vector<Declined> declined;  // never begun: start() says why
    std::vector<Ended> ended;        // their whole process trees are gone
    std::vector<int> readable;       // registered descriptors
    std::vector<Sample> samples;
    // So long this process did not run, nor did its commands, since the last call, to two seconds
    // (it was stopped, as by `scontrol suspend`, or the machine suspended). None of it counts
    // against a limit. A pause of the lease is none.
    std::chrono::nanoseconds stood_still{};
  };
  // Sleeps until something happens, also to the lease, or `deadline` (boot time; nullopt: no limit)
  // passes.
  virtual Result<Wakeup> wait(std::optional<BootTime> deadline) = 0;

  // Sends the termination signal to the tree and SIGKILL after the lead, which all of the tree has
  // even when its leader ends at once; the end is reported by wait() as `stopped` (timed_out if
  // that came first). A second call can shorten the lead only. Unknown or ended ids are ignored.
  // kill() skips the signal.
  virtual void stop(RunId id, std::chrono::nanoseconds lead) = 0;
  virtual void kill(RunId id) = 0;
  // SIGKILL to every process of every tree, at once: for self-fencing.
  virtual void kill_all() = 0;

  [[nodiscard]] virtual std::size_t running() const = 0;
  // The process that leads the command's session; 0 after its end.
  [[nodiscard]] virtual pid_t leader(RunId id) = 0;
};

}  // namespace torc::exec
