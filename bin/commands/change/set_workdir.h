// torc set --workdir: where the jobs of a store run from now on.
#pragma once

#include <string>

#include "bin/commands/change/change_jobs.h"

namespace torc::cli {

Result<Exit> set_workdir(const App& app, const ChangeOptions& options, const std::string& given);

}  // namespace torc::cli
