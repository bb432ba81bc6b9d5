#include "lib/workflow/change/whole_workflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::workflow {
namespace {

// By their names; what happened to one stays with it.
Result<void> compare_schedulers(const claim::Reader& reader, const claim::Plan& plan,
                                Difference& found) {
  TORC_ASSIGN(const std::vector<claim::Scheduler> all, claim::read_schedulers(reader));
  // One that the file has no more stays: allocations may be of it.
  for (const claim::Scheduler& now : plan.schedulers) {
    const auto before = std::ranges::find(all, now.name, &claim::Scheduler::name);
    const bool is_new = before == all.end();
    if (!is_new && claim::taken_over(*before, now) == *before) continue;
    note_setting(
        found, fmt::format("slurm_schedulers '{}'", now.name),
        is_new ? "is new" : "its next allocations are asked for by what the file says now");
    found.schedulers.push_back(now);
  }
  return {};
}

}  // namespace

void note_setting(Difference& found, std::string name, std::string what) {
  Edit edit;
  edit.kind = Edit::Kind::settings;
  edit.entry = std::move(name);
  edit.what = std::move(what);
  found.edits.push_back(std::move(edit));
}

Result<void> compare_whole(const claim::Reader& reader, const claim::Plan& plan,
                           Difference& found) {
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  TORC_ASSIGN(const WorkflowSettings before, decode_workflow_settings(workflow.settings));
  TORC_ASSIGN(WorkflowSettings now, decode_workflow_settings(plan.settings));
  found.env = now.run.env;
  if (workflow.name != plan.name) {
    return invalid(fmt::format("the store holds the workflow '{}', and the file is of '{}'",
                               printable(workflow.name), printable(plan.name)),
                   "name the store of this file, or make one with `torc init`");
  }
  const std::map<std::string, std::string> was(before.run.env.begin(), before.run.env.end());
  const std::map<std::string, std::string> is(now.run.env.begin(), now.run.env.end());
  if (was != is) {
    found.has_other_environment = true;
    note_setting(found, "env", "the environment of all jobs changed");
  }
  now.directory = before.directory;
  now.sums = before.sums;
  // Not as the store has them: an older version wrote less.
  if (encode(now) != encode(before)) {
    found.settings = encode(now);
    if (!found.has_other_environment && before.run.env == now.run.env)
      note_setting(found, "execution_config", "settings of all jobs, or the name of the workflow");
  }
  if (workflow.max_failures != plan.max_failures) {
    found.max_failures = plan.max_failures;
    note_setting(found, "max_failures",
                 fmt::format("{} was {}", plan.max_failures, workflow.max_failures));
  }
  const auto expense = claim::read_expense(reader);
  if ((expense ? expense->most : claim::Usage{}) != plan.budget) {
    found.budget = plan.budget;
    note_setting(found, "budget", "is another one");
  }
  const auto value = reader.get(claim::Key(claim::Table::workflow));
  const auto record = value ? claim::decode_workflow(*value) : std::nullopt;
  if (record && record->sort != plan.sort) {
    found.sort = plan.sort;
    note_setting(found, "jobs_sort_method", "is another one");
  }
  const bool decides = (claim::State(reader).tally().rules & claim::rule::kPendingFailed) != 0;
  if (decides != plan.pending_failed) {
    found.pending_failed = plan.pending_failed;
    note_setting(found, "use_pending_failed",
                 plan.pending_failed ? "is set" : "is not set any more");
  }
  return compare_schedulers(reader, plan, found);
}

}  // namespace torc::workflow
