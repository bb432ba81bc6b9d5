#include "lib/store/maintenance/workbench.h"

#include <unistd.h>

#include "lib/store/disk/hash.h"
#include "lib/store/replica/replica.h"

namespace torc::store {

Result<Workbench> Workbench::make(const World& world) {
  Error last{ErrorKind::io, "no directory for temporary data was given", "set TMPDIR"};
  for (const Path& root : world.replica_roots) {
    StoreId nobody{};
    for (std::uint8_t& byte : nobody) byte = static_cast<std::uint8_t>(world.entropy.next());
    Result<Replica> opened = open_replica(world, root, nobody, "none", 0);
    if (opened.ok()) return Workbench(std::move(opened->environment));
    last = std::move(opened).error();
  }
  return last;
}

Workbench::~Workbench() {
  if (!environment_) return;
  const Path directory = environment_->directory();
  environment_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  (void)::rmdir(directory.parent_path().c_str());  // when it was made for this
}

}  // namespace torc::store
