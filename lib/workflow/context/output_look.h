// Whether the output files of a job are there when it has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/workflow/context/file_fingerprints.h"

namespace torc::workflow {

struct OutputLook {
  // Nothing: they could not be looked at, so none is known to be missing.
  std::optional<std::vector<claim::FileFingerprint>> seen;
  std::uint32_t missing = 0;  // the first that is not there, from 1; 0: none
  // On a filesystem that may show late what another node has written: it can be there all the same.
  bool may_come = false;
};

// Of each path, relative ones being in `directory`. What is not there is looked for once more after
// its directory was listed: by that a client of a network filesystem asks its server again.
[[nodiscard]] OutputLook look_at_outputs(const Path& directory,
                                         const std::vector<std::string>& paths, Sums sums);

}  // namespace torc::workflow
