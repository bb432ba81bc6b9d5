// The real world for a store of a benchmark, with replicas (engine journal) where `torc` would have
// them.
#pragma once

#include <memory>

#include "bench/measure.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"

namespace torc::bench {

class LocalWorld {
 public:
  static Result<std::unique_ptr<LocalWorld>> make();
  [[nodiscard]] const store::World& world() const { return world_; }

 private:
  explicit LocalWorld(ScratchDirectory replicas);
  ScratchDirectory replicas_;  // in memory, as in /dev/shm; deleted at the end
  store::PosixDisk disk_;
  SystemClock clock_;
  SystemEntropy entropy_;
  store::World world_;
};

}  // namespace torc::bench
