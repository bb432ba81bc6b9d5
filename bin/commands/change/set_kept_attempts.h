// torc set --keep-attempts: how many attempts of each job before its newest are kept.
#pragma once

#include <cstdint>

#include "bin/commands/change/change_jobs.h"

namespace torc::cli {

Result<Exit> set_kept_attempts(const App& app, const ChangeOptions& options,
                               std::uint32_t attempts);

}  // namespace torc::cli
