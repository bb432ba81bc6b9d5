// What a worker does, as lines for a person.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "lib/claim/rules/offer.h"
#include "lib/claim/tables/transaction.h"
#include "lib/worker/machine/state.h"

namespace torc::worker {

// `confirmed`: from when on the lease that was asked for counts. `leader`: the process of a
// command. Long lists are cut: this is for a log.
[[nodiscard]] std::vector<std::string> show_state(const State& state, BootTime now,
                                                  BootTime confirmed,
                                                  const std::function<pid_t(Run)>& leader);

// Of the first ready jobs, why a worker that offers this cannot take them.
[[nodiscard]] std::vector<std::string> explain_mismatches(const claim::Offer& whole,
                                                          const claim::Reader& reader);

}  // namespace torc::worker
