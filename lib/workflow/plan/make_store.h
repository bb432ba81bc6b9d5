// From a good spec to a store on disk: shared by `torc init` and `torc run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/store/disk/disk.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/batch_scripts.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

enum class Existing : unsigned char { refuse, move_aside };

// What a store may be besides.
struct StoreWishes {
  std::optional<std::uint32_t> group = {};             // number of one whose members share it
  Sums sums = Sums::no;                                // for its workers, see file_fingerprints.h
  std::optional<std::chrono::seconds> retention = {};  // as `init --retention` tells it
  std::string script_template = {};  // of the batch scripts, as render_scripts() takes it
  Path workdir = {};                 // where its jobs run; empty: where torc was called
};

struct MadeStore {
  std::unique_ptr<store::Disk> disk;  // of `store`, when that is shared with a group
  std::unique_ptr<store::Store> store;
  BatchScripts scripts;  // in the store; their files are absolute paths
  Path moved;            // where an older store went; empty: there was none
};

Result<store::Engine> parse_engine(const std::string& text);

// Precondition: loaded.expansion. Nothing is left behind on failure. With a group the store is open
// to its members and closed to others.
Result<MadeStore> make_store(const Context& context, const LoadedSpec& loaded,
                             const Path& directory, store::Engine engine, Existing existing,
                             const StoreWishes& wishes = {});

// How a store is opened by who works on it for long.
[[nodiscard]] store::Tuning worker_tuning();

}  // namespace torc::workflow
