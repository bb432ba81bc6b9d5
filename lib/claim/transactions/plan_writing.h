// How a new workflow comes into the store, and what a new version of its file changes there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Writes the whole initial state: templates, classes, dependency sets, ready queues, counters. Jobs
// have no record of their own until something happens to them.
Result<void> write_plan(Transaction& tx, const Plan& plan);

struct ActionRecipe {
  std::uint32_t number = 0;
  std::string recipe;  // as in Action
};

// What a new version of the file says of the workflow as a whole; nullopt: as before.
struct WorkflowTerms {
  std::optional<std::string> settings;  // as in Plan
  std::optional<std::uint32_t> max_failures;
  std::optional<Usage> budget;  // 0: without bound
  // Those that are new or that it says something else of, as it has them. What has happened to one
  // stays with it, also what has since this was found.
  std::vector<Scheduler> schedulers = {};
  std::optional<SortMethod> sort = {};
  std::optional<bool> pending_failed = {};
  std::vector<ActionRecipe> actions = {};  // that are there, and run something else from now on
};
// Marks the edition in any case: whoever compared the workflow with something before has to do so
// anew. Error busy: there was no budget, and what runs was promised nothing of it; or actions
// change and a worker is registered, which would go on with what they were.
Result<void> replace_terms(Transaction& tx, const WorkflowTerms& terms);

}  // namespace torc::claim
