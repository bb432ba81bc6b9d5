// Why a limit keeps a ready job waiting, and who has what it waits for.
#pragma once

#include <string>

#include "lib/claim/queries/why.h"
#include "lib/claim/tables/transaction.h"
#include "lib/report/why.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

// Looks at the jobs that workers hold. `store`: as a shell takes it, for commands.
[[nodiscard]] Reason limit_reason(const claim::Reader& reader, workflow::RecipeBook& book,
                                  const claim::HeldBack& held, const std::string& store);

}  // namespace torc::report
