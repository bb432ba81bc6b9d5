// A workflow and its parts, each read from its map. All report what is wrong and give what could be
// read.
#pragma once

#include <string>
#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/reader.h"

namespace torc::spec {

class ExistingWorkflow;

[[nodiscard]] JobEntry read_job(const Session& session, const Node& map);
[[nodiscard]] FileEntry read_file(const Session& session, const Node& map);
// What a set of resource requirements, or a job itself, says that it needs.
[[nodiscard]] SaidNeeds read_needs(const MapReader& reader);
// Of either, too.
[[nodiscard]] std::vector<SaidAlternative> read_alternatives(const MapReader& reader);
[[nodiscard]] ResourceRequirements read_requirements(const Session& session, const Node& map);
[[nodiscard]] SlurmScheduler read_scheduler(const Session& session, const Node& map);
[[nodiscard]] ResourceMonitor read_monitor(const Session& session, const Node& map);
[[nodiscard]] ExecutionConfig read_execution(const Session& session, const Node& map);
[[nodiscard]] Stdio read_stdio(const Session& session, const Node& map);
// job_stdio_overrides of an execution_config: into the entries that it names and that have none of
// their own.
void override_stdio(const Session& session, const Node& execution, std::vector<JobEntry>& jobs);

[[nodiscard]] Dataset read_dataset(const Session& session, const Node& map);
[[nodiscard]] UserDataEntry read_user_data(const Session& session, const Node& map);
[[nodiscard]] Action read_action(const Session& session, const Node& map);
[[nodiscard]] FailureHandler read_failure_handler(const Session& session, const Node& map);
[[nodiscard]] Budget read_budget(const Session& session, const Node& map);
[[nodiscard]] LeaseConfig read_lease(const Session& session, const Node& map);
[[nodiscard]] std::vector<Limit> read_limits(const Session& session, const Node& map);
// Of a job.
[[nodiscard]] std::vector<LimitUse> read_limit_uses(const MapReader& reader);
// Limits that nobody can use, jobs that ask for more than there is, or for what is none.
void check_limits(const Session& session, const Workflow& workflow);
// Times of one set of requirements that contradict each other.
void check_times(const Session& session, const Workflow& workflow);

// A locality that changes nothing or cannot be kept, and names of resources that look like slips.
void check_needs(const Session& session, const Workflow& workflow);

// Reports what is no regular expression in the value of `key`.
void check_expressions(const MapReader& reader, std::string_view key);

// Reports `${files.input.NAME}` and the like in a text of which nobody fills them in.
void refuse_references(const Session& session, const Node& node);

[[nodiscard]] Environment read_environment(const Session& session, const Node& map);
// Constants by name; a value may use those above it.
void read_variables(Session& session, const Node& map);
void read_slurm_defaults(const Session& session, const Node& map, Workflow& workflow);
// Reports what is no JSON: a text that is none, or more than a MiB.
void check_metadata(const Session& session, const Node& node);
// Any value as JSON text; a text becomes a JSON string. More than `most` bytes are reported.
[[nodiscard]] std::string read_json_value(const Session& session, std::string_view key,
                                          const Node& node, std::size_t most);

// Reads the variables of `root` before anything else of it, wherever the file has them: everything
// else may use them.
void read_variables_first(Session& session, const Node& root);

// A whole workflow. Precondition of both: `root` is a map.
[[nodiscard]] Workflow read_workflow(Session& session, const Node& root);
// An addition to a workflow in a store; what it may use of the workflow stands beside its own.
[[nodiscard]] Workflow read_addition(Session& session, const Node& root,
                                     ExistingWorkflow& existing);

// What no single map shows: unknown names of resource requirements, schedulers, failure handlers
// and entries; each name defined once; jobs that do not fit into the scheduler that they are bound
// to; labels that look like slips; launchers within launchers.
void check_references(const Session& session, const Workflow& workflow);

// What one batch system has and another one has not, by the workflow's launcher.
void check_launcher_keys(const Session& session, const Workflow& workflow);
// Warns of keys that are accepted and change nothing where they stand: rules that no end of a job
// reaches, multipliers of nothing, handlers that no job has. Where a name differs between the jobs
// of an entry nothing is said of it.
void warn_of_idle_keys(const Session& session, const Workflow& workflow);

}  // namespace torc::spec
