// How a new workflow comes into the store, and what a new version of its file changes there.
#pragma once

#include <string_view>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Writes the whole initial state: templates, classes, dependency sets, ready queues, counters. Jobs
// have no record of their own until something happens to them.
Result<void> write_plan(Transaction& tx, const Plan& plan);
// Gives a template another recipe. Its jobs, their names and what they wait for must stay the same.
// Error invalid: there is no such template.
Result<void> replace_recipe(Transaction& tx, JobId first, std::string_view recipe);

}  // namespace torc::claim
