// Workers that are registered as alive, for commands that must not work under them, and what is
// known of their processes.
#pragma once

#include <string>
#include <vector>

#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/exec/machine/machine.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

// Whether process numbers that `info` registered mean something to who has `host` and `space`.
[[nodiscard]] bool is_here(const claim::WorkerInfo& info, const std::string& host,
                           const exec::ProcessSpace& space);
// Of a worker that is not here it is unknown.
[[nodiscard]] exec::Presence presence_of(const Context& context, const claim::WorkerInfo& info);
// All but those that are known to be gone.
[[nodiscard]] bool may_live(const Context& context, const claim::WorkerInfo& info);
// Those of `reader` that may live.
Result<std::vector<claim::Worker>> live_workers(const Context& context,
                                                const claim::Reader& reader);
// "3 workers are registered (12 on node5, 14 on node6, …)".
[[nodiscard]] std::string show_workers(const std::vector<claim::Worker>& workers);

}  // namespace torc::workflow
