// Whose a file is that takes the place of another one.
#pragma once

#include "lib/store/disk/disk.h"

namespace torc::store {

// Gives `to`, which this process made, mode and group of `from`, and its owner where this process
// is root: what replaces a file of somebody else, or of a group, stays theirs whatever the umask.
// Both are below `root`, where no link is followed; `to` has one name. Asks the real filesystem.
// Not durable before `to` is synced. Error: the other one's group may not be given away by this
// process.
Result<void> take_over_owner(const Path& root, const Path& from, const Path& to);

}  // namespace torc::store
