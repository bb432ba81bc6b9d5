// Ends process trees from outside, without the help of the process at their top: for watchdogs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace torc::exec {

// SIGKILL to every process below `top`, not to `top` itself, again and again until no new one is
// found. Processes that have left their sessions are found too, as long as `top` or a process
// below it is a child subreaper. Gives the number of those that were told to die and have not yet
// (they may be waiting for a disk). Those that this process may not kill (of another user) are left
// alone and not counted.
std::size_t kill_below(pid_t top);

// SIGKILL to every process of this user whose environment, as it was executed with, has all these
// variables ("NAME=value"), but this one; new ones are looked for until there are none, and their
// ends are waited for, at most a second. Gives the number of those that are left. For what a worker
// left behind that was killed together with its watchdog. Does nothing where this process has them
// all itself.
std::size_t kill_marked(const std::vector<std::string>& marks);

}  // namespace torc::exec
