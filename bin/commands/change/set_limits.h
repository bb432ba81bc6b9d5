// torc set --limit: how much there is of the workflow's limits.
#pragma once

#include <string>
#include <vector>

#include "bin/commands/change/change_jobs.h"

namespace torc::cli {

// `words`: NAME=NUMBER each. All of them are set in one transaction, or none.
Result<Exit> set_limits(const App& app, const ChangeOptions& options,
                        const std::vector<std::string>& words);

}  // namespace torc::cli
