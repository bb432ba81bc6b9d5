#include "bench/local_world.h"

#include <unistd.h>

#include "lib/exec/machine/machine.h"

namespace torc::bench {

Result<std::unique_ptr<LocalWorld>> LocalWorld::make() {
  const Path memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  TORC_ASSIGN(ScratchDirectory replicas, ScratchDirectory::make(memory));
  return std::unique_ptr<LocalWorld>(new LocalWorld(std::move(replicas)));
}

LocalWorld::LocalWorld(ScratchDirectory replicas)
    : replicas_(std::move(replicas)), world_{disk_,           clock_,
                                             entropy_,        "bench",
                                             exec::boot_id(), exec::pid_namespace(),
                                             geteuid(),       {replicas_.path()}} {}

}  // namespace torc::bench
