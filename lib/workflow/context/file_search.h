// Files by the pattern of their paths.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/store/disk/disk.h"

namespace torc::workflow {

// Those below `directory` (absolute) whose paths match: `*` and `?` stand for signs of one name,
// and not for a point at its beginning, `[a-z]` for one of them. Paths are as the pattern is,
// relative or absolute, in no order; directories are not among them. What cannot be read counts as
// empty. Error (invalid): more than a million names were looked at.
[[nodiscard]] Result<std::vector<std::string>> find_files(store::Disk& disk, const Path& directory,
                                                          const std::string& pattern);

}  // namespace torc::workflow
