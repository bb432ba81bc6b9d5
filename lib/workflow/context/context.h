// The world as main built it, as far as libraries need it: nothing below main asks the system for
// time or environment by itself.
#pragma once

#include <filesystem>
#include <string>

#include "lib/base/clock.h"
#include "lib/base/path.h"
#include "lib/exec/machine/machine.h"
#include "lib/store/engine/store.h"

namespace torc::exec {
class WatchedLease;
}

namespace torc::workflow {

struct Context {
  Clock& clock;
  store::World world;   // of the thread that has the store
  store::World world2;  // the same with an entropy of its own, for a thread beside it
  exec::GetEnv env;
  Path directory = {};           // working directory, absolute
  Path program = {};             // absolute path of this program, as other nodes will find it
  char** environment = nullptr;  // environ
  unsigned umask = 022;          // as the user set it: that of jobs, whatever ours becomes
  exec::WatchedLease* watched = nullptr;  // of a worker below its watchdog; see bin/guard.h
};

// A path as one reads it from the working directory: relative where it lies below, as a shell word.
[[nodiscard]] std::string shown_path(const Context& context, const Path& path);

}  // namespace torc::workflow
