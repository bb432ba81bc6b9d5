// The process that starts the workers of an allocation, as other commands use it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bin/app.h"

namespace torc::cli {

// Runs `argv` (srun … torc worker …), again when it or its step was killed, until it ends for good.
Result<Exit> supervise(const App& app, std::vector<std::string> argv);

// The srun that starts `worker` (the words of a `torc worker`) on each node of this allocation, as
// the batch script does. nullopt: this process is a task of such a step already, or in no
// allocation, or in one of a single node, on that node.
[[nodiscard]] std::optional<std::vector<std::string>> srun_of_workers(
    const App& app, const std::vector<std::string>& worker);

}  // namespace torc::cli
