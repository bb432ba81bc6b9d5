// How many files a run has made: what filesystems have quotas of, beside bytes.
#pragma once

#include <cstdint>

#include "lib/base/path.h"

namespace torc::report {

struct FileCount {
  std::uint64_t files = 0;
  bool is_all = true;  // false: there are more
};

// Files below a directory, at most `most` of them. Links are not followed; what cannot be listed
// counts nothing.
[[nodiscard]] FileCount count_files(const Path& directory, std::uint64_t most);

}  // namespace torc::report
