// The parts of a workflow, each read from its map. All report what is wrong and give what could be
// read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/spec/reader.h"
#include "lib/spec/workflow.h"

namespace torc::spec {

[[nodiscard]] JobEntry read_job(const Session& session, const Node& map);
[[nodiscard]] FileEntry read_file(const Session& session, const Node& map);
[[nodiscard]] ResourceRequirements read_resources(const Session& session, const Node& map);
[[nodiscard]] SlurmScheduler read_scheduler(const Session& session, const Node& map);
[[nodiscard]] ExecutionConfig read_execution(const Session& session, const Node& map);
[[nodiscard]] Stdio read_stdio(const Session& session, const Node& map);

[[nodiscard]] Environment read_environment(const Session& session, const Node& map);
// Constants by name; a value may use those above it.
void read_variables(Session& session, const Node& map);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> read_slurm_defaults(
    const Session& session, const Node& map);
// The JSON text of a map, or a scalar's text that is JSON.
[[nodiscard]] std::string read_metadata(const Session& session, const Node& node);

}  // namespace torc::spec
