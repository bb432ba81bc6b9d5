// Why a limit keeps a ready job waiting, and who has what it waits for.
#pragma once

#include "lib/claim/queries/why.h"
#include "lib/claim/tables/transaction.h"
#include "lib/report/why.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

// Looks at the jobs that workers hold.
[[nodiscard]] Reason limit_reason(const claim::Reader& reader, workflow::RecipeBook& book,
                                  const claim::HeldBack& held);

}  // namespace torc::report
