// What no single map shows: references between the parts of a workflow, and what can never run.
#pragma once

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/session.h"

namespace torc::spec {

// Unknown names of resource requirements, schedulers, failure handlers and entries; each name
// defined once; jobs that do not fit into the scheduler that they are bound to; labels that look
// like slips; launchers within launchers.
void check_references(const Session& session, const Workflow& workflow);

}  // namespace torc::spec
