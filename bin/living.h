// Workers that are registered as alive, for commands that must not work under them.
#pragma once

#include <vector>

#include "bin/app.h"
#include "lib/claim/claimer.h"

namespace torc::cli {

// Those of `reader` that may live: on this node it is known that a process is gone, of others it is
// not.
[[nodiscard]] std::vector<claim::Worker> living_workers(const App& app,
                                                        const claim::Reader& reader);
[[nodiscard]] bool may_live(const App& app, const claim::WorkerInfo& info);
// "3 workers are registered (12 on node5, 14 on node6, …)".
[[nodiscard]] std::string show_workers(const std::vector<claim::Worker>& workers);

}  // namespace torc::cli
