// An addition to a workflow in a store, read from the map that its file is.
#pragma once

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/session.h"
#include "lib/spec/sweep/existing_workflow.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Reports what is wrong and gives what could be read; what the addition may use of the workflow
// stands beside its own. Precondition: `root` is a map.
[[nodiscard]] Workflow read_addition(Session& session, const Node& root,
                                     ExistingWorkflow& existing);

}  // namespace torc::spec
