// What a new version of a workflow file says of the workflow as a whole, against its store.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/change/difference.h"

namespace torc::workflow {

// The environment of all jobs, settings, bounds and schedulers: fills in these of `found`, and a
// line of each that differs. Error invalid: the file is of a workflow of another name.
Result<void> compare_whole(const claim::Reader& reader, const claim::Plan& plan, Difference& found);

// `name`: "max_failures"; `what`: "3 was 2".
void note_setting(Difference& found, std::string name, std::string what);

}  // namespace torc::workflow
