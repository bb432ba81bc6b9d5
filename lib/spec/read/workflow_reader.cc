
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/spec/language/language.h"
#include "lib/spec/read/parameter_reader.h"
#include "lib/spec/read/reader.h"
#include "lib/spec/read/readers.h"

namespace torc::spec {
namespace {

// The name becomes that of the store's directory.
void check_workflow_name(const MapReader& reader) {
  constexpr std::size_t kLongest = 200;  // a file name has 255 bytes; the store's ending needs some
  const Node* node = reader.find("name");
  if (node == nullptr) return;
  const std::string name = reader.session().text(*node);
  if (name.find('/') != std::string::npos || name.starts_with('.') || name.starts_with('-')) {
    reader.session().error(*node,
                           fmt::format("the workflow cannot be named {}", torc::quoted(name)),
                           "the store is named after it: no '/', and no '.' or '-' at the start");
  } else if (name.size() > kLongest) {
    reader.session().error(*node,
                           fmt::format("the workflow's name has more than {} bytes", kLongest),
                           "shorten it; 'description' may be long");
  }
}

// Jobs would never start there.
void check_expiration_buffer(const Session& session, const Node& node, const Workflow& w) {
  for (const SlurmScheduler& s : w.slurm_schedulers) {
    const auto limit = parse_walltime(s.walltime);
    if (s.walltime.empty() || !limit.ok() || !limit->has_value() || **limit > w.expiration_buffer)
      continue;
    session.error(node,
                  fmt::format("the whole walltime of scheduler {}, {}, would be kept free",
                              torc::quoted(s.name), show_exactly(**limit)),
                  "make it smaller, or the walltime longer");
  }
}

const Node* value_of(const Node& map, std::string_view key, NodeKind kind) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const bool is_it = map.items[i]->kind == NodeKind::scalar && map.items[i]->text == key;
    if (is_it && map.items[i + 1]->kind == kind) return map.items[i + 1];
  }
  return nullptr;
}

}  // namespace

void read_variables_first(Session& session, const Node& root) {
  if (const Node* map = value_of(root, "variables", NodeKind::map)) read_variables(session, *map);
}

namespace {

void check_recoveries(const Session& session, const MapReader& reader, const Workflow& w) {
  const Node* node = reader.find("max_recoveries");
  if (node == nullptr || w.recoveries > 0 || reader.rejected("on_failure")) return;
  session.warn(*node, "'max_recoveries' changes nothing: nothing is recovered without a person",
               "write 'on_failure: recover' beside it, or remove it");
}

}  // namespace

Workflow read_workflow(Session& session, const Node& root) {
  read_variables_first(session, root);
  const MapReader reader(session, root, Where::workflow);
  read_shared_parameters(session, reader);
  check_workflow_name(reader);
  Workflow w;
  w.name = reader.text("name");
  if (const Node* node = reader.find("metadata")) check_metadata(session, *node);
  if (const Node* node = reader.find("env")) w.env = read_environment(session, *node);
  w.resource_requirements = read_all<ResourceRequirements>(reader, "resource_requirements",
                                                           Where::resources, read_requirements);
  if (const Node* node = reader.find("launcher")) {
    w.launcher = reader.text("launcher") == "slurm" ? "" : reader.text("launcher");
    w.launcher_place = session.place(*node);
  }
  w.slurm_schedulers =
      read_all<SlurmScheduler>(reader, "slurm_schedulers", Where::scheduler, read_scheduler);
  if (const Node* node = reader.find("slurm_defaults")) read_slurm_defaults(session, *node, w);
  if (const Node* node = reader.find("execution_config"))
    w.execution = read_execution(session, *node);
  w.sort = reader.choice<SortMethod>("jobs_sort_method");
  w.files = read_all<FileEntry>(reader, "files", Where::file, read_file);
  w.user_data = read_all<UserDataEntry>(reader, "user_data", Where::user_data, read_user_data);
  w.datasets = read_all<Dataset>(reader, "datasets", Where::dataset, read_dataset);
  w.failure_handlers = read_all<FailureHandler>(reader, "failure_handlers", Where::failure_handler,
                                                read_failure_handler);
  w.actions = read_all<Action>(reader, "actions", Where::action, read_action);
  if (const Node* node = reader.find("budget")) w.budget = read_budget(session, *node);
  if (const Node* node = reader.find("lease")) w.lease = read_lease(session, *node);
  if (const Node* node = reader.find("limits")) w.limits = read_limits(session, *node);
  w.max_parallel = reader.positive("max_parallel");
  w.learn_runtimes = reader.boolean("learn_runtimes", false);
  w.allow_missing_outputs = reader.boolean("allow_missing_outputs", false);
  w.max_failures = reader.positive("max_failures");
  if (const Node* node = reader.find("dynamic_jobs"))
    w.max_iterations = MapReader(session, *node, Where::dynamic_jobs).positive("max_iterations");
  w.wait_for_new_jobs = reader.seconds("compute_node_wait_for_new_jobs_seconds", {});
  w.workers_stay = reader.boolean("compute_node_ignore_workflow_completion", false);
  if (reader.choice<OnFailure>("on_failure") == OnFailure::recover)
    w.recoveries = reader.positive("max_recoveries").value_or(kMaxRecoveries);
  check_recoveries(session, reader, w);
  w.use_pending_failed = reader.boolean("use_pending_failed", false);
  if (reader.has("rerun_triggers")) {
    w.rerun_triggers = {};
    for (const std::string& trigger : reader.words("rerun_triggers"))
      w.rerun_triggers.add(
          static_cast<RerunTrigger>(reader.position_of("rerun_triggers", trigger)));
  }
  if (const Node* node = reader.find("compute_node_expiration_buffer_seconds")) {
    w.expiration_buffer = reader.seconds("compute_node_expiration_buffer_seconds", {});
    check_expiration_buffer(session, *node, w);
  }
  if (const Node* node = reader.find("resource_monitor")) w.monitor = read_monitor(session, *node);
  w.jobs = read_all<JobEntry>(reader, "jobs", Where::job, read_job);
  if (const Node* jobs = reader.find("jobs"); jobs != nullptr && jobs->items.empty()) {
    session.error(*jobs, "'jobs' is empty", "write at least one job");
  }
  if (const Node* node = reader.find("execution_config")) override_stdio(session, *node, w.jobs);
  check_launcher_keys(session, w);
  check_references(session, w);
  // What is wrong comes first: a handler that seems idle may be the one that was misspelled.
  if (!session.report.has_error()) warn_of_idle_keys(session, w);
  w.variables.assign(session.variables.begin(), session.variables.end());
  w.shared_parameters = std::move(session.parameters);
  return w;
}

}  // namespace torc::spec
