// From a good spec to a store on disk: shared by `torc init` and `torc run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/disk/disk.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

enum class Existing : unsigned char { refuse, move_aside };

// What a store may be besides.
struct StoreWishes {
  std::optional<std::uint32_t> group = {};             // number of one whose members share it
  Sums sums = Sums::no;                                // for its workers, see file_fingerprints.h
  std::optional<std::chrono::seconds> retention = {};  // as `init --retention` tells it
  std::string script_template = {};  // of the batch scripts, as find_template() takes it
};

struct MadeStore {
  std::unique_ptr<store::Disk> disk;  // of `store`, when that is shared with a group
  std::unique_ptr<store::Store> store;
  std::vector<Path> scripts;  // <store>/slurm/*.sbatch
  Path script_template;       // what they are made of; empty: the built-in one, or there are none
  Path moved;                 // where an older store went; empty: there was none
};

// The directory a spec's store gets when none is named.
[[nodiscard]] Path default_store(const Context& context, const LoadedSpec& loaded);
Result<store::Engine> parse_engine(const std::string& text);

// Precondition: loaded.expansion. Nothing is left behind on failure. With a group the store is open
// to its members and closed to others.
Result<MadeStore> make_store(const Context& context, const LoadedSpec& loaded,
                             const Path& directory, store::Engine engine, Existing existing,
                             const StoreWishes& wishes = {});

// How a store is opened by who works on it for long.
[[nodiscard]] store::Tuning worker_tuning();

}  // namespace torc::workflow
