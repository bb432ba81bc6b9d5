// From a good spec to a store on disk: shared by `torc init` and `torc run`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/disk/disk.h"
#include "lib/workflow/context.h"
#include "lib/workflow/workflow_plan.h"

namespace torc::workflow {

enum class Existing : unsigned char { refuse, move_aside };

struct MadeStore {
  std::unique_ptr<store::Disk> disk;  // of `store`, when that is shared with a group
  std::unique_ptr<store::Store> store;
  std::vector<Path> scripts;  // <store>/slurm/*.sbatch
  Path moved;                 // where an older store went; empty: there was none
};

// The directory a spec's store gets when none is named.
[[nodiscard]] Path default_store(const Context& context, const LoadedSpec& loaded);
Result<store::Engine> parse_engine(const std::string& text);

// Precondition: loaded.expansion. Nothing is left behind on failure. With a group (its number) the
// store is open to its members and closed to others. `sums`: for its workers, see file_marks.h.
// `retention`: as `init --retention` tells it.
Result<MadeStore> make_store(const Context& context, const LoadedSpec& loaded,
                             const Path& directory, store::Engine engine, Existing existing,
                             std::optional<std::uint32_t> group = {}, Sums sums = Sums::no,
                             std::optional<std::chrono::seconds> retention = {});

// How a store is opened by who works on it for long.
[[nodiscard]] store::Tuning worker_tuning();

}  // namespace torc::workflow
