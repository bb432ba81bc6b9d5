// Where the jobs of a store run. A store that was moved or copied together with its project works
// where it is; its original, if it is still there, stays what it was.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/path.h"
#include "lib/base/result.h"

namespace torc::workflow {

// As it was when the store was made, or when a person named another one.
struct WorkingDirectory {
  Path path;        // absolute
  Path store = {};  // where the store was then; empty: not known, an older version made it
  // The workflow file: from `path`, or, where it does not lie within that, absolute. Empty: none,
  // or an older version made it of one that lies elsewhere.
  std::string file = {};
  std::uint64_t inode = 0;  // of the directory; 0: not known
};

// `store`: its place, which need not exist yet. `file`: where its workflow file would be; absolute.
[[nodiscard]] WorkingDirectory record_directory(const Path& directory, const Path& store,
                                                const Path& file);

// The directory in which jobs of the store at `store` run. Where the store is at the place that was
// recorded, by whatever path it is reached, that is the recorded one. A store that was moved or
// copied has the directory that lies to it as the recorded one lay then, if that is its project's:
// it has the workflow file, or is the very directory. Otherwise a store that lay within its
// directory has none, and one that lay elsewhere the recorded one.
//
// Errors, with what to do: not_found, nothing is there or it is no directory; what else the system
// says of it. Asks filesystems, which may hang.
[[nodiscard]] Result<Path> find_working_directory(const WorkingDirectory& recorded,
                                                  const Path& store);

// Where the workflow file of the store at `store` is, if it still is there: in its working
// directory, or, where it lay elsewhere, as it lies to a store that was moved or copied, else where
// it was. Empty: none was recorded.
[[nodiscard]] Path find_workflow_file(const WorkingDirectory& recorded, const Path& store);

// For who looks at files there that may be gone as well: where there is none, the recorded one.
[[nodiscard]] Path likely_working_directory(const WorkingDirectory& recorded, const Path& store);

// Whether it is there; the same errors. `store`: that they tell of.
[[nodiscard]] Result<void> expect_directory(const Path& directory, const Path& store);

}  // namespace torc::workflow
