// Ends or stops process trees from outside, without the help of the process at their top: for
// watchdogs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace torc::exec {

// What is left, as far as it was seen. `none` is only said when everything was looked at that could
// have been one; `hidden` when that holds of all that /proc shows, and it shows not all (hidepid):
// looking again tells no more.
enum class Leftovers : std::uint8_t { none, some, unknown, hidden };

// SIGKILL to every process below `top`, not to `top` itself, again and again until no new one is
// found. Processes that have left their sessions are found too, as long as `top` or a process
// below it is a child subreaper. `some`: they were told to die and have not yet (they may be
// waiting for a disk). Those that this process may not kill (of another user) are left alone and
// not counted. `unknown`: not all of /proc could be looked at, and what was seen has died.
Leftovers kill_below(pid_t top);

// SIGKILL to every process whose environment, as it was executed with, has all these variables
// ("NAME=value"), whoever started it, and to what such a process has started, whatever that did to
// its environment, as long as its parent is there; new ones are looked for until there are none,
// and their ends are waited for, at most a second. For what a worker of this user left behind that
// was killed together with its watchdog, and for what launchers started on this node for a job of
// several. What is older than that is none of it.
//
// `unknown` where one may have been missed: the processes cannot be listed, or there is one that
// may have come from there, and names another allocation (below) or is of this user with an
// environment that cannot be read (a set-user-ID program, one that is not dumpable). It has not
// where it, or one above it, is a child of a process that is older than the worker and was not
// above it: only who was can have adopted what it left. Those of other users are not counted.
// `hidden`: those of other users are, and of this one's those that are not dumpable. `some` also
// when this process has all the variables itself: then nothing is killed.
struct Origin {
  std::uint64_t start = 0;           // of the process that has gone, see ProcessIdentity
  std::vector<std::uint64_t> above;  // ancestors_of() it; empty: not known
  // Of Slurm, of which it was a part ("1234", "1234_7"). What names another one was submitted by a
  // job, whose variables it inherits, or is below a salloc of one: it is left alone, and may be a
  // leftover. Empty: none, or not known.
  std::string allocation = {};
};
Leftovers kill_tagged(const std::vector<std::string>& tags, const Origin& origin,
                      const std::string& proc = "/proc");

// Who was told to stop.
enum class Told : std::uint8_t {
  all,
  // But one that `top` is just starting (launch.h), which has not asked the kernel yet to end it
  // with its parent: were it stopped now and all others killed, it would be stopped for ever. It is
  // a matter of milliseconds.
  but_one_that_starts,
  // But what could not be looked at, perhaps never: somebody may have stopped it before, and then
  // it is not to go on with the others.
  but_what_was_not_seen
};

// Processes that were stopped from outside and are to go on later.
class StoppedProcesses {
 public:
  // SIGSTOP to every process below `top`, as kill_below() finds them. Those that had been stopped
  // before, by whomever, are left as they are. May be repeated, to find new ones.
  [[nodiscard]] Told stop_below(pid_t top);
  // SIGCONT to all that were told to stop; a process before the one that started it, so that nobody
  // sees its children stopped.
  void go_on();
  // They are ended by somebody.
  void forget();
  // SIGKILL to those that are still stopped and children of `parent`, this process, which has not
  // reaped them: so the numbers are theirs. One that is just being started is among them, of which
  // nobody else knows and for which its starter waits.
  void end_children_of(pid_t parent) const;
  [[nodiscard]] bool empty() const { return order_.empty(); }

 private:
  std::vector<pid_t> order_;
  std::set<pid_t> told_;
};

}  // namespace torc::exec
