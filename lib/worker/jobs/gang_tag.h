// By what all that runs for a gang is known on each of its nodes, whoever started it there:
// mpirun's daemon, srun, a member.
#pragma once

#include <string>
#include <vector>

#include "lib/claim/rules/job.h"

namespace torc::worker {

inline constexpr const char* kGangVariable = "TORC_GANG";

// "7.2.1034": job, attempt, claim.
[[nodiscard]] std::string gang_tag(const claim::ClaimToken& token);
// The variables that exec::kill_tagged() looks for, "NAME=value".
[[nodiscard]] std::vector<std::string> gang_tags(const std::string& workflow_id,
                                                 const claim::ClaimToken& token);

}  // namespace torc::worker
