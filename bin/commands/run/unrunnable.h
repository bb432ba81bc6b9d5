// Jobs that nobody who is there can ever run, told when `torc run` begins.
#pragma once

#include <string>
#include <vector>

#include "bin/app.h"
#include "lib/worker/loop/worker.h"

namespace torc::cli {

// A line for each class of jobs that are not over and that neither a worker of this setup nor one
// that is at work could ever run: which, what they need, what is here, what to do.
Result<std::vector<std::string>> unrunnable_jobs(const App& app, store::Store& store,
                                                 const worker::WorkerSetup& setup);

}  // namespace torc::cli
