// Actions of the spec on their way into the store and back: what sets them off, and their commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/spec/expand/expand.h"
#include "lib/spec/language/workflow.h"

namespace torc::workflow {

// To a plan that has its jobs and their dependencies. Jobs are ready when what they wait for is as
// it has to be, so on_jobs_ready waits for the same; on_jobs_complete waits for the jobs' ends.
void add_actions(claim::Plan& plan, const spec::Workflow& workflow,
                 const spec::Expansion& expansion);

[[nodiscard]] std::string encode_commands(const std::vector<std::string>& commands);
[[nodiscard]] std::optional<std::vector<std::string>> decode_commands(std::string_view recipe);

}  // namespace torc::workflow
