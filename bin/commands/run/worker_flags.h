// The flags that `torc run` and `torc worker` share.
#pragma once

#include "bin/flags.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {

void add_worker_flags(Command& c, worker::WorkerOptions& o);

}  // namespace torc::cli
