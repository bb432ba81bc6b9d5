// The jobs of an addition whose names the workflow has already: left alone when nothing about them
// differs.
#pragma once

#include "lib/spec/expand/existing_names.h"
#include "lib/spec/expand/expansion.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

// Compares each entry of `expansion` that is there with what the workflow has; the first difference
// of each is reported.
void compare_known(const Workflow& addition, const Expansion& expansion, ExistingJobs& jobs,
                   Report& report);

// Takes them out, and numbers the others as the workflow will.
void leave_known_out(Expansion& expansion, const ExistingJobs& jobs);

}  // namespace torc::spec
