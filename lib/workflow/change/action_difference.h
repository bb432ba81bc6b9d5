// The actions of a workflow file against those of its store.
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/change/new_dependencies.h"

namespace torc::workflow {

// The first thing in which they differ, what they run or what sets them off, as a sentence without
// its full stop; nullopt: none. Error corrupt: records that cannot be read.
Result<std::optional<std::string>> other_actions(const claim::Reader& reader,
                                                 const claim::Plan& plan,
                                                 const JobNumberMap& numbers);

}  // namespace torc::workflow
