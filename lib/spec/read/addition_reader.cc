
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/spec/language/language.h"
#include "lib/spec/read/parameter_reader.h"
#include "lib/spec/read/reader.h"
#include "lib/spec/read/readers.h"
#include "lib/spec/sweep/definitions.h"
#include "lib/spec/sweep/existing_workflow.h"

namespace torc::spec {
namespace {

// Those of the workflow beside the addition's own. `check` looks at one of its own and the one of
// the workflow that has the same name.
template <class T, class Check>
void join(std::vector<T>& own, std::vector<T> known, const Check& check) {
  const std::size_t count = own.size();
  for (T& there : known) {
    bool again = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (own[i].name != there.name) continue;
      again = true;
      check(own[i], there);
    }
    if (!again) own.push_back(std::move(there));
  }
}

// Jobs of an entry that has a limit in the workflow count for that one.
void take_limits(const Session& session, ExistingWorkflow& existing, Workflow& w) {
  w.max_parallel = existing.max_parallel();
  for (Limit limit : existing.named_limits()) {
    limit.is_there = true;
    w.limits.push_back(std::move(limit));
  }
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
    const bool again = std::ranges::find(w.limits, job.name, &Limit::name) != w.limits.end();
    if (!again) w.limits.push_back({job.name, *most, job.place, false});
  }
}

}  // namespace

Workflow read_addition(Session& session, const Node& root, ExistingWorkflow& existing) {
  for (auto& [name, text] : known_variables(existing)) session.variables.emplace(name, text);
  read_variables_first(session, root);
  const MapReader reader(session, root, Where::addition);
  read_shared_parameters(session, reader);
  // They may be lists of any length: read only when somebody takes one.
  if (session.source.text().find("use_parameters") != std::string_view::npos) {
    join(session.parameters, known_parameters(existing),
         [](const Parameter&, const Parameter&) {});  // an addition's own win
  }
  Workflow w;
  w.name = existing.settings().name;
  if (const Node* node = reader.find("name"); node != nullptr && session.text(*node) != w.name) {
    session.error(*node,
                  fmt::format("this is added to the workflow {}, which has another name",
                              torc::quoted(w.name)),
                  "name that one, or leave the name out");
  }
  w.execution = existing.settings().execution;
  w.learn_runtimes = existing.settings().learn_runtimes;
  w.allow_missing_outputs = existing.settings().allow_missing_outputs;
  w.recoveries = existing.settings().recoveries;
  w.resource_requirements = read_all<ResourceRequirements>(reader, "resource_requirements",
                                                           Where::resources, read_requirements);
  join(w.resource_requirements, known_resources(existing),
       [&](const ResourceRequirements& here, const ResourceRequirements& there) {
         if (here.same_needs(there)) return;
         session.report.error(
             here.place,
             fmt::format(
                 "the resource requirements {} are in the workflow already: there {}, here {}",
                 torc::quoted(here.name), show_needs(there), show_needs(here)),
             "give them another name");
       });
  w.slurm_schedulers = known_schedulers(existing);
  w.failure_handlers = read_all<FailureHandler>(reader, "failure_handlers", Where::failure_handler,
                                                read_failure_handler);
  join(w.failure_handlers, known_failure_handlers(existing),
       [&](const FailureHandler& here, const FailureHandler& there) {
         if (same_rules(here, there)) return;
         session.report.error(
             here.place,
             fmt::format("the failure handler {} is in the workflow already with other rules",
                         torc::quoted(here.name)),
             "give it another name");
       });
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
