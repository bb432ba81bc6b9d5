// The actions of a workflow file against those of its store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/workflow/change/new_dependencies.h"

namespace torc::workflow {

struct ActionDifference {
  // The first thing that a store cannot take over: how many there are, what sets them off, which
  // allocations they ask for. A sentence without its full stop; nullopt: there is none.
  std::optional<std::string> refused;
  struct Other {
    claim::ActionRecipe now;
    std::string what;  // "on_workflow_complete: it ran 'a' and runs 'b'"
  };
  std::vector<Other> others;  // that run other commands
};
// Error corrupt: records that cannot be read.
Result<ActionDifference> compare_actions(const claim::Reader& reader, const claim::Plan& plan,
                                         const JobNumberMap& numbers);

}  // namespace torc::workflow
