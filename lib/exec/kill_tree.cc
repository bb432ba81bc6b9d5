#include "lib/exec/kill_tree.h"

#include <signal.h>

#include <cstdint>
#include <set>
#include <utility>

#include "lib/exec/procfs.h"

namespace torc::exec {

std::size_t kill_below(pid_t top) {
  std::set<std::pair<pid_t, std::uint64_t>> told;
  for (;;) {
    std::size_t dying = 0;
    bool any_new = false;
    for (const pid_t pid : descendants_of(top)) {
      const auto stat = read_stat(pid);
      // Its parent may be frozen and never take the dead one away.
      if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
      if (::kill(pid, SIGKILL) != 0) continue;
      ++dying;
      any_new = told.emplace(pid, stat->start).second || any_new;
    }
    if (!any_new) return dying;
  }
}

}  // namespace torc::exec
