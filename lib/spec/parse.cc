#include "lib/spec/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "lib/spec/check.h"
#include "lib/spec/idle_keys.h"
#include "lib/spec/living.h"
#include "lib/spec/load.h"
#include "lib/spec/parameter_reader.h"
#include "lib/spec/placeholder.h"
#include "lib/spec/quantity.h"
#include "lib/spec/reader.h"
#include "lib/spec/readers.h"
#include "lib/spec/utf8.h"
#include "lib/spec/yaml_tree.h"

namespace torc::spec {
namespace {

// A nameless entry stands for what could not be read: whoever looks for a name knows that it may
// have been there.
template <class T>
T unreadable() {
  T entry;
  if constexpr (requires { entry.sound; }) entry.sound = false;
  return entry;
}

template <class T, class Read>
std::vector<T> read_all(const MapReader& reader, std::string_view key, Where where, Read read_one) {
  std::vector<T> all;
  const Node* list = reader.find(key);
  if (list == nullptr) {
    if (reader.rejected(key)) all.push_back(unreadable<T>());
    return all;
  }
  const std::vector<const Node*> maps = maps_in(reader.session(), *list, where);
  all.reserve(maps.size());
  for (const Node* map : maps) all.push_back(read_one(reader.session(), *map));
  if (maps.size() < list->items.size()) all.push_back(unreadable<T>());
  return all;
}

JobsSortMethod sort_method(std::string_view text) {
  if (text == "gpus_runtime_memory") return JobsSortMethod::gpus_runtime_memory;
  if (text == "gpus_memory_runtime") return JobsSortMethod::gpus_memory_runtime;
  return JobsSortMethod::none;
}

// The name becomes that of the store's directory.
void check_workflow_name(const MapReader& reader) {
  constexpr std::size_t kLongest = 200;  // a file name has 255 bytes; the store's ending needs some
  const Node* node = reader.find("name");
  if (node == nullptr) return;
  const std::string name = reader.session().text(*node);
  if (name.find('/') != std::string::npos || name.starts_with('.') || name.starts_with('-')) {
    reader.session().error(*node, fmt::format("the workflow cannot be called {}", quoted(name)),
                           "the store is named after it: no '/', and no '.' or '-' at the start");
  } else if (name.size() > kLongest) {
    reader.session().error(*node,
                           fmt::format("the workflow's name has more than {} bytes", kLongest),
                           "shorten it; 'description' may be long");
  }
}

// Variables and shared parameters stand first, wherever the file has them: everything else may use
// them.
const Node* value_of(const Node& map, std::string_view key, NodeKind kind) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const bool is_it = map.items[i]->kind == NodeKind::scalar && map.items[i]->text == key;
    if (is_it && map.items[i + 1]->kind == kind) return map.items[i + 1];
  }
  return nullptr;
}

// Jobs would never start there.
void check_expiration_buffer(const Session& session, const Node& node, const Workflow& w) {
  for (const SlurmScheduler& s : w.slurm_schedulers) {
    const auto limit = parse_walltime(s.walltime);
    if (s.walltime.empty() || !limit.ok() || !limit->has_value() || **limit > w.expiration_buffer)
      continue;
    session.error(node,
                  fmt::format("the whole walltime of scheduler {}, {}, would be kept free",
                              quoted(s.name), to_text(**limit)),
                  "make it smaller, or the walltime longer");
  }
}

Workflow read_workflow(Session& session, const Node& root) {
  if (const Node* map = value_of(root, "variables", NodeKind::map)) read_variables(session, *map);
  const MapReader reader(session, root, Where::workflow);
  if (const Node* node = reader.find("parameters"))
    session.parameters = read_parameters(session, *node);
  check_workflow_name(reader);
  Workflow w;
  w.name = reader.text("name");
  w.user = reader.text("user");
  w.description = reader.text("description");
  w.project = reader.text("project");
  if (const Node* node = reader.find("metadata")) w.metadata = read_metadata(session, *node);
  if (const Node* node = reader.find("env")) w.env = read_environment(session, *node);
  w.resource_requirements = read_all<ResourceRequirements>(reader, "resource_requirements",
                                                           Where::resources, read_resources);
  w.slurm_schedulers =
      read_all<SlurmScheduler>(reader, "slurm_schedulers", Where::scheduler, read_scheduler);
  if (const Node* node = reader.find("slurm_defaults")) read_slurm_defaults(session, *node, w);
  if (const Node* node = reader.find("execution_config"))
    w.execution_config = read_execution(session, *node);
  w.sort = sort_method(reader.text("jobs_sort_method"));
  w.files = read_all<FileEntry>(reader, "files", Where::file, read_file);
  w.user_data = read_all<UserDataEntry>(reader, "user_data", Where::user_data, read_user_data);
  w.failure_handlers = read_all<FailureHandler>(reader, "failure_handlers", Where::failure_handler,
                                                read_failure_handler);
  w.actions = read_all<Action>(reader, "actions", Where::action, read_action);
  if (const Node* node = reader.find("budget")) w.budget = read_budget(session, *node);
  if (const Node* node = reader.find("lease")) w.lease = read_lease(session, *node);
  if (const Node* node = reader.find("limits")) w.limits = read_limits(session, *node);
  w.max_failures = reader.positive("max_failures");
  if (const Node* node = reader.find("dynamic_jobs"))
    w.max_iterations = MapReader(session, *node, Where::dynamic_jobs).positive("max_iterations");
  w.wait_for_new_jobs =
      std::chrono::seconds(reader.integer("compute_node_wait_for_new_jobs_seconds", 0));
  w.workers_stay = reader.boolean("compute_node_ignore_workflow_completion", false);
  w.use_pending_failed = reader.boolean("use_pending_failed", false);
  if (const Node* node = reader.find("compute_node_expiration_buffer_seconds")) {
    w.expiration_buffer =
        std::chrono::seconds(reader.integer("compute_node_expiration_buffer_seconds", 0));
    check_expiration_buffer(session, *node, w);
  }
  if (const Node* node = reader.find("resource_monitor")) w.monitor = read_monitor(session, *node);
  w.jobs = read_all<JobEntry>(reader, "jobs", Where::job, read_job);
  if (const Node* jobs = reader.find("jobs"); jobs != nullptr && jobs->items.empty()) {
    session.error(*jobs, "'jobs' is empty", "write at least one job");
  }
  check_references(session, w);
  // What is wrong comes first: a handler that seems idle may be the one that was misspelled.
  if (!session.report.has_error()) warn_of_idle_keys(session, w);
  w.variables.assign(session.variables.begin(), session.variables.end());
  w.shared_parameters = std::move(session.parameters);
  return w;
}

std::string show(const ResourceRequirements& r) {
  return fmt::format("{} CPUs, {} GPUs, {} nodes, {}, runtime {} s", r.num_cpus, r.num_gpus,
                     r.num_nodes, to_text(r.memory), r.runtime.count());
}

// Those of the workflow beside the addition's own, which must be the same where they have one name.
void join_resources(const Session& session, const Living& living, Workflow& w) {
  const std::size_t own = w.resource_requirements.size();
  for (ResourceRequirements& there : known_resources(living)) {
    bool again = false;
    for (std::size_t i = 0; i < own; ++i) {
      const ResourceRequirements& here = w.resource_requirements[i];
      if (here.name != there.name) continue;
      again = true;
      if (show(here) == show(there)) continue;
      session.report.error(
          here.place,
          fmt::format("the resource requirements {} are in the workflow already: there {}, here {}",
                      quoted(here.name), show(there), show(here)),
          "give them another name");
    }
    if (!again) w.resource_requirements.push_back(std::move(there));
  }
}

// The same of failure handlers.
void join_failure_handlers(const Session& session, const Living& living, Workflow& w) {
  const std::size_t own = w.failure_handlers.size();
  for (FailureHandler& there : known_failure_handlers(living)) {
    bool again = false;
    for (std::size_t i = 0; i < own; ++i) {
      const FailureHandler& here = w.failure_handlers[i];
      if (here.name != there.name) continue;
      again = true;
      if (same_rules(here, there)) continue;
      session.report.error(
          here.place,
          fmt::format("the failure handler {} is in the workflow already with other rules",
                      quoted(here.name)),
          "give it another name");
    }
    if (!again) w.failure_handlers.push_back(std::move(there));
  }
}

// Jobs of an entry that has a limit in the workflow count for that one.
void take_limits(const Session& session, Living& living, Workflow& w) {
  for (const JobEntry& job : w.jobs) {
    const auto most = living.limit_of(job.name);
    if (!most) continue;
    if (job.max_parallel && *job.max_parallel != *most) {
      session.report.error(
          job.places.at("max_parallel"),
          fmt::format("entry {} of the workflow runs at most {} jobs at a time, and here {}",
                      quoted(job.name), *most, *job.max_parallel),
          "give the entry another name, or leave the limit out: it counts for these jobs too");
    }
    const bool again = std::any_of(w.limits.begin(), w.limits.end(),
                                   [&](const Limit& one) { return one.entry == job.name; });
    if (!again) w.limits.push_back({job.name, *most, job.place});
  }
}

// What the addition may use of the workflow stands beside its own.
Workflow read_addition(Session& session, const Node& root, Living& living) {
  for (auto& [name, text] : known_variables(living)) session.variables.emplace(name, text);
  if (const Node* map = value_of(root, "variables", NodeKind::map)) read_variables(session, *map);
  const MapReader reader(session, root, Where::addition);
  if (const Node* node = reader.find("parameters"))
    session.parameters = read_parameters(session, *node);
  // They may be lists of any length: read only when somebody takes one.
  if (session.source.text().find("use_parameters") != std::string_view::npos) {
    for (Parameter& p : known_parameters(living)) {
      const bool own = std::any_of(session.parameters.begin(), session.parameters.end(),
                                   [&](const Parameter& q) { return q.name == p.name; });
      if (!own) session.parameters.push_back(std::move(p));
    }
  }
  Workflow w;
  w.name = living.settings().name;
  if (const Node* node = reader.find("name"); node != nullptr && session.text(*node) != w.name) {
    session.error(*node, fmt::format("this is to be added to the workflow {}", quoted(w.name)),
                  "name that one, or leave the name out");
  }
  w.execution_config = living.settings().execution;
  w.resource_requirements = read_all<ResourceRequirements>(reader, "resource_requirements",
                                                           Where::resources, read_resources);
  join_resources(session, living, w);
  w.slurm_schedulers = known_schedulers(living);
  w.failure_handlers = read_all<FailureHandler>(reader, "failure_handlers", Where::failure_handler,
                                                read_failure_handler);
  join_failure_handlers(session, living, w);
  w.files = read_all<FileEntry>(reader, "files", Where::file, read_file);
  w.user_data = read_all<UserDataEntry>(reader, "user_data", Where::user_data, read_user_data);
  w.jobs = read_all<JobEntry>(reader, "jobs", Where::job, read_job);
  if (w.jobs.empty())
    session.error(root, "an addition has no jobs", "add 'jobs: …' with at least one");
  take_limits(session, living, w);
  check_references(session, w);
  return w;
}

// `living`: null, or what the text is to be added to.
std::optional<Workflow> read(const Source& source, Report& report, const ReadFile& read_file_named,
                             Living* living) {
  const Tree tree = read_yaml(source, report);
  if (tree.root == nullptr) {
    if (!report.has_error()) {
      report.error({}, "the file is empty",
                   living == nullptr ? "a workflow needs at least 'name' and 'jobs'"
                                     : "an addition needs at least 'jobs'");
    }
    return {};
  }
  if (tree.root->kind != NodeKind::map) {
    report.error(place_of(source, *tree.root),
                 living == nullptr ? "a workflow is a map, and this is none"
                                   : "an addition is a map, and this is none",
                 living == nullptr ? "write 'name: …' and 'jobs:' at the left margin"
                                   : "write 'jobs:' at the left margin");
    return {};
  }
  Session session{source, report, read_file_named, {}, {}};
  return living == nullptr ? read_workflow(session, *tree.root)
                           : read_addition(session, *tree.root, *living);
}

// Whatever could be read, also when there were errors.
std::optional<Workflow> read_whole(const Source& source, Report& report, const ReadFile& read_named,
                                   Living* living = nullptr) {
  try {
    return read(source, report, read_named, living);
  } catch (const std::exception& e) {  // memory, or a ReadFile that throws
    report.error({}, fmt::format("the spec cannot be read: {}", e.what()), "make it smaller");
    return {};
  }
}

}  // namespace

Parsed parse(std::string_view text, const std::string& file, const ReadFile& read_named) {
  const Source source(without_bom(text), file);
  Report report(source);
  std::optional<Workflow> workflow = read_whole(source, report, read_named);
  Parsed parsed;
  if (!report.has_error()) parsed.workflow = std::move(workflow);
  parsed.diagnostics = std::move(report).sorted();
  return parsed;
}

namespace {

Loaded load(std::string_view text, const std::string& file, const ReadFile& read_named,
            const ExtraCheck& extra, const Surroundings* around) {
  const Source source(without_bom(text), file);
  Report report(source);
  Loaded loaded;
  std::optional<Workflow> workflow =
      read_whole(source, report, read_named, around == nullptr ? nullptr : &around->living);
  if (workflow) {
    // Nothing may be left out unawares.
    const bool sound = std::all_of(workflow->jobs.begin(), workflow->jobs.end(),
                                   [](const JobEntry& job) { return job.sound; });
    if (!sound && !report.has_error())
      report.error({}, "a job cannot be read", "report this: torc should have said which, and why");
    report.end_pass();
    if (extra) extra(*workflow, report);
    report.end_pass();
    try {
      Expansion expansion = around == nullptr ? expand(*workflow, report)
                                              : expand_addition(*workflow, *around, report);
      if (!report.has_error()) loaded.expansion = std::move(expansion);
    } catch (const std::exception& e) {  // memory
      report.error({}, fmt::format("the jobs cannot be worked out: {}", e.what()),
                   "make the workflow smaller");
    }
    if (loaded.expansion) loaded.workflow = std::move(workflow);
  }
  loaded.diagnostics = std::move(report).sorted();
  return loaded;
}

}  // namespace

Loaded load(std::string_view text, const std::string& file, const ReadFile& read_named,
            const ExtraCheck& extra) {
  return load(text, file, read_named, extra, nullptr);
}

Loaded load_addition(std::string_view text, const std::string& file, const ReadFile& read_named,
                     const Surroundings& around) {
  return load(text, file, read_named, {}, &around);
}

}  // namespace torc::spec
