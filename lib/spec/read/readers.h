// The parts of a workflow, each read from its map. All report what is wrong and give what could be
// read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/reader.h"

namespace torc::spec {

[[nodiscard]] JobEntry read_job(const Session& session, const Node& map);
[[nodiscard]] FileEntry read_file(const Session& session, const Node& map);
[[nodiscard]] ResourceRequirements read_requirements(const Session& session, const Node& map);
[[nodiscard]] SlurmScheduler read_scheduler(const Session& session, const Node& map);
[[nodiscard]] ResourceMonitor read_monitor(const Session& session, const Node& map);
[[nodiscard]] ExecutionConfig read_execution(const Session& session, const Node& map);
[[nodiscard]] Stdio read_stdio(const Session& session, const Node& map);

[[nodiscard]] UserDataEntry read_user_data(const Session& session, const Node& map);
[[nodiscard]] Action read_action(const Session& session, const Node& map);
[[nodiscard]] FailureHandler read_failure_handler(const Session& session, const Node& map);
[[nodiscard]] Budget read_budget(const Session& session, const Node& map);
[[nodiscard]] LeaseConfig read_lease(const Session& session, const Node& map);
[[nodiscard]] std::vector<Limit> read_limits(const Session& session, const Node& map);

// Reports what is no regular expression in the value of `key`.
void check_expressions(const MapReader& reader, std::string_view key);

// Reports `${files.input.NAME}` and the like in a text of which nobody fills them in.
void refuse_references(const Session& session, const Node& node);

[[nodiscard]] Environment read_environment(const Session& session, const Node& map);
// Constants by name; a value may use those above it.
void read_variables(Session& session, const Node& map);
void read_slurm_defaults(const Session& session, const Node& map, Workflow& workflow);
// The JSON text of a map, or a scalar's text that is JSON.
[[nodiscard]] std::string read_metadata(const Session& session, const Node& node);
// Any value as JSON text; a text becomes a JSON string. More than `most` bytes are reported.
[[nodiscard]] std::string read_json_value(const Session& session, std::string_view key,
                                          const Node& node, std::size_t most);

}  // namespace torc::spec
