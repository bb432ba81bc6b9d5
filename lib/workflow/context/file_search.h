// Files by the pattern of their paths.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/store/disk/disk.h"

namespace torc::workflow {

// What the patterns of one file may look at, all together.
struct SearchRoom {
  std::size_t names = 1'000'000;
  std::size_t path_bytes = 256U << 20U;  // of what was found, and on the way to it
};

// Those below `directory` (absolute) whose paths match: `*` and `?` stand for signs of one name,
// and not for a point at its beginning, `[a-z]` for one of them. Paths are as the pattern is,
// relative or absolute, in no order; directories are not among them. Errors: what
// cannot be looked at, for other reasons than that it is not there, or since a filesystem is not
// mounted. What is looked at is taken off `room`; Error (invalid): there is not so much of it.
[[nodiscard]] Result<std::vector<std::string>> find_files(store::Disk& disk, const Path& directory,
                                                          const std::string& pattern,
                                                          SearchRoom& room);

}  // namespace torc::workflow
