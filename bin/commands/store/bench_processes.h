// Several processes that commit to one store at once, for `torc bench`.
#pragma once

#include <vector>

#include "bin/app.h"
#include "lib/doctor/bench.h"

namespace torc::cli {

// Forks `roots.size()` processes, each with a copy of the store in its own place of `roots` (the
// same place for all: workers of one node; different ones: as if they were on different nodes),
// and returns what each measured. They begin together at `from`. The calling process has one thread
// and no LMDB environment open.
Result<std::vector<doctor::BenchSamples>> bench_in_processes(
    const App& app, const Path& store, const std::vector<Path>& roots, BootTime from,
    BootTime until, const doctor::Interrupted& interrupted);

}  // namespace torc::cli
