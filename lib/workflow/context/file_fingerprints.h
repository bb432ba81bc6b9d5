// How the files of a job look: taken by workers before a job starts and when it ends, and again by
// `torc reinit`, which compares.
#pragma once

#include <string>
#include <vector>

#include "lib/claim/tables/signature.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

// Whether contents are hashed, too.
enum class Sums : std::uint8_t { no, yes };

// A job's thread reads so much at most for the sums of one side of it; files beyond that have none.
inline constexpr std::uint64_t kMostSummed = std::uint64_t{64} << 20U;

// By what a look at a file failed with: nothing has its name. No file can have one that is too
// long, or that leads in a circle of links, however often it is looked at.
[[nodiscard]] bool names_nothing(int os_errno);

// Of each path, relative ones being in `directory`. A file is not there when
// names_nothing() says so, and `directory` is; of one that cannot be looked at (EIO, EACCES,
// EMFILE, a filesystem that is not mounted) nothing is known: an Error. A file that changes while
// it is read has no sum.
[[nodiscard]] Result<std::vector<claim::FileFingerprint>> fingerprints_of(
    const Path& directory, const std::vector<std::string>& paths, Sums sums);

}  // namespace torc::workflow
