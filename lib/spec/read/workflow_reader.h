// A whole workflow, read from the map that its file is.
#pragma once

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/session.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Reports what is wrong and gives what could be read. Precondition: `root` is a map.
[[nodiscard]] Workflow read_workflow(Session& session, const Node& root);

// Reads the variables of `root` before anything else of it, wherever the file has them: everything
// else may use them.
void read_variables_first(Session& session, const Node& root);

}  // namespace torc::spec
