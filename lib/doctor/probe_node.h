// What a store needs of the node itself: a place for the node's copy, and limits.
#pragma once

#include <vector>

#include "lib/doctor/probe.h"

namespace torc::doctor {

// Tries each root as engine `journal` would, up to the first that works: makes a copy of an empty
// store there and removes it again.
[[nodiscard]] std::vector<ReplicaPlace> probe_replica_places(const store::World& world);

// Limits of this process and of this user's inotify. `proc_sys`: /proc/sys.
[[nodiscard]] std::vector<Limit> read_limits(const Path& proc_sys);

}  // namespace torc::doctor
