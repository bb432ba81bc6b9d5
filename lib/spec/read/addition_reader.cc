#include "lib/spec/read/addition_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/quote.h"
#include "lib/spec/language/language.h"
#include "lib/spec/read/check.h"
#include "lib/spec/read/entry_lists.h"
#include "lib/spec/read/parameter_reader.h"
#include "lib/spec/read/reader.h"
#include "lib/spec/read/readers.h"
#include "lib/spec/read/workflow_reader.h"
#include "lib/spec/sweep/definitions.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

// Those of the workflow beside the addition's own, which must be the same where they have one name.
void join_resources(const Session& session, const ExistingWorkflow& existing, Workflow& w) {
  const std::size_t own = w.resource_requirements.size();
  for (ResourceRequirements& there : known_resources(existing)) {
    bool again = false;
    for (std::size_t i = 0; i < own; ++i) {
      const ResourceRequirements& here = w.resource_requirements[i];
      if (here.name != there.name) continue;
      again = true;
      if (static_cast<const Resources&>(here) == there) continue;
      session.report.error(
          here.place,
          fmt::format("the resource requirements {} are in the workflow already: there {}, here {}",
                      torc::quoted(here.name), show(there), show(here)),
          "give them another name");
    }
    if (!again) w.resource_requirements.push_back(std::move(there));
  }
}

// The same of failure handlers.
void join_failure_handlers(const Session& session, const ExistingWorkflow& existing, Workflow& w) {
  const std::size_t own = w.failure_handlers.size();
  for (FailureHandler& there : known_failure_handlers(existing)) {
    bool again = false;
    for (std::size_t i = 0; i < own; ++i) {
      const FailureHandler& here = w.failure_handlers[i];
      if (here.name != there.name) continue;
      again = true;
      if (same_rules(here, there)) continue;
      session.report.error(
          here.place,
          fmt::format("the failure handler {} is in the workflow already with other rules",
                      torc::quoted(here.name)),
          "give it another name");
    }
    if (!again) w.failure_handlers.push_back(std::move(there));
  }
}

// Jobs of an entry that has a limit in the workflow count for that one.
void take_limits(const Session& session, ExistingWorkflow& existing, Workflow& w) {
  for (const JobEntry& job : w.jobs) {
    const auto most = existing.limit_of(job.name);
    if (!most) continue;
    if (job.max_parallel && *job.max_parallel != *most) {
      session.report.error(
          job.places.at("max_parallel"),
          fmt::format("entry {} of the workflow runs at most {} jobs at a time, and here {}",
                      torc::quoted(job.name), *most, *job.max_parallel),
          "give the entry another name, or leave the limit out: it counts for these jobs too");
    }
    const bool again = std::any_of(w.limits.begin(), w.limits.end(),
                                   [&](const Limit& one) { return one.entry == job.name; });
    if (!again) w.limits.push_back({job.name, *most, job.place});
  }
}

}  // namespace

Workflow read_addition(Session& session, const Node& root, ExistingWorkflow& existing) {
  for (auto& [name, text] : known_variables(existing)) session.variables.emplace(name, text);
  read_variables_first(session, root);
  const MapReader reader(session, root, Where::addition);
  if (const Node* node = reader.find("parameters"))
    session.parameters = read_parameters(session, *node);
  // They may be lists of any length: read only when somebody takes one.
  if (session.source.text().find("use_parameters") != std::string_view::npos) {
    for (Parameter& p : known_parameters(existing)) {
      const bool own = std::any_of(session.parameters.begin(), session.parameters.end(),
                                   [&](const Parameter& q) { return q.name == p.name; });
      if (!own) session.parameters.push_back(std::move(p));
    }
  }
  Workflow w;
  w.name = existing.settings().name;
  if (const Node* node = reader.find("name"); node != nullptr && session.text(*node) != w.name) {
    session.error(*node,
                  fmt::format("this is to be added to the workflow {}", torc::quoted(w.name)),
                  "name that one, or leave the name out");
  }
  w.execution_config = existing.settings().execution;
  w.resource_requirements = read_all<ResourceRequirements>(reader, "resource_requirements",
                                                           Where::resources, read_requirements);
  join_resources(session, existing, w);
  w.slurm_schedulers = known_schedulers(existing);
  w.failure_handlers = read_all<FailureHandler>(reader, "failure_handlers", Where::failure_handler,
                                                read_failure_handler);
  join_failure_handlers(session, existing, w);
  w.files = read_all<FileEntry>(reader, "files", Where::file, read_file);
  w.user_data = read_all<UserDataEntry>(reader, "user_data", Where::user_data, read_user_data);
  w.jobs = read_all<JobEntry>(reader, "jobs", Where::job, read_job);
  if (w.jobs.empty())
    session.error(root, "an addition has no jobs", "add 'jobs: …' with at least one");
  take_limits(session, existing, w);
  check_references(session, w);
  return w;
}

}  // namespace torc::spec
