// What a person is told of jobs that wait for each other.
#pragma once

#include "lib/spec/expand/expansion.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

// Reports the circles among the dependencies of `expansion`, of which those through the same
// entries are one mistake. `jobs`: the families of workflow.jobs.
void report_cycles(const Workflow& workflow, const Families& jobs, const Expansion& expansion,
                   Report& report);

}  // namespace torc::spec
