#include "lib/workflow/change/stored_workflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/definition.h"
#include "lib/claim/transactions/spawn_again.h"

namespace torc::workflow {
namespace {

spec::FailureHandler to_spec(const claim::Handler& handler) {
  spec::FailureHandler out;
  for (const RetryRule& rule : handler.rules) out.rules.push_back({rule, {}});
  return out;
}

}  // namespace

Result<StoredWorkflow> StoredWorkflow::of(const claim::Reader& reader) {
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  TORC_ASSIGN(WorkflowSettings settings, decode_workflow_settings(workflow.settings));
  return StoredWorkflow(reader, std::move(settings), workflow.jobs);
}

std::optional<std::string> StoredWorkflow::definition(std::string_view key) const {
  return claim::read_definition(*reader_, key);
}

void StoredWorkflow::each_definition(
    std::string_view prefix, const std::function<bool(const spec::Definition&)>& visit) const {
  claim::scan_definitions(*reader_, prefix, [&](const claim::Definition& d) {
    return visit({d.key, d.value});
  });
}

std::optional<spec::Definition> StoredWorkflow::definition_up_to(std::string_view prefix,
                                                                 std::string_view key) const {
  auto found = claim::definition_up_to(*reader_, prefix, key);
  if (!found) return {};
  return spec::Definition{std::move(found->key), std::move(found->value)};
}

void StoredWorkflow::note(Result<void> read) {
  if (sound_.ok()) sound_ = std::move(read);
}

void StoredWorkflow::read_sweeps_once() {
  if (sweeps_) return;
  sweeps_.emplace();
  note(claim::scan_sweeps(*reader_, [&](const claim::Template& t) {
    if (auto recipe = recipe_of(t)) sweeps_->push_back({raw(t.first), *std::move(recipe)});
    return true;
  }));
}

std::optional<std::uint64_t> StoredWorkflow::find_job(std::string_view name) {
  const auto named = claim::find_by_name_hash(*reader_, claim::name_hash(name));
  if (!named) note(named.error());
  for (const JobId id : named ? *named : std::vector<JobId>()) {
    if (job_name(book_, *reader_, id) == name) return raw(id);
  }
  read_sweeps_once();
  for (const Entry& sweep : *sweeps_) {
    if (const auto index = sweep.recipe.find(name)) return sweep.first + *index;
  }
  return {};
}

void StoredWorkflow::each_entry(
    Entries which,
    const std::function<bool(std::uint64_t first, const spec::Recipe& recipe)>& visit) {
  if (which == Entries::sweeps) {
    read_sweeps_once();
    for (const Entry& sweep : *sweeps_) {
      if (!visit(sweep.first, sweep.recipe)) return;
    }
    return;
  }
  note(claim::scan_templates(*reader_, [&](const claim::Template& t) {
    const auto recipe = recipe_of(t);
    return !recipe || visit(raw(t.first), *recipe);
  }));
}

spec::ExistingWorkflow::Job StoredWorkflow::job(std::uint64_t number) {
  Job job;
  const auto page = book_.find(*reader_, JobId{number});
  if (!page) return job;
  const claim::Template& t = page->job_template;
  job.texts = page->recipe.render(number - raw(t.first));
  const claim::JobClass c = claim::read_class(*reader_, t.job_class);
  static_cast<Resources&>(job.resources) = c.need;
  if (!c.others.empty()) job.resources.one_of.push_back({c.need, c.weight});
  for (const claim::Alternative& one : c.others)
    job.resources.one_of.push_back({one.need, one.weight});
  job.scheduler = c.scheduler;
  job.labels = c.labels;
  job.priority = t.priority;
  // One without rules only says that the workflow recovers by itself.
  if (page->handler && !page->handler->rules.empty()) job.failure_handler = to_spec(*page->handler);
  job.crash_limit = t.crash_limit;
  for (const claim::LimitShare& share : c.limits) {
    const auto state = claim::read_limit(*reader_, share.number);
    if (!state) continue;
    if (state->limit.kind == claim::LimitKind::entry) job.max_parallel = state->limit.of_file();
    if (state->limit.kind == claim::LimitKind::named) job.limits[state->limit.name] = share.amount;
  }
  const claim::DependencySet set = claim::read_dependencies(*reader_, JobId{number});
  job.cancels = set.cancels;
  for (const claim::JobRange& r : set.upstream) job.upstream.push_back({raw(r.first), r.count});
  spec::normalise(job.upstream);
  for (const claim::Dependency& d : set.conditional) {
    if (job.conditional.empty() || job.conditional.back().first != d.condition)
      job.conditional.push_back({d.condition, {}});
    job.conditional.back().second.push_back({raw(d.jobs.first), d.jobs.count});
  }
  for (auto& [condition, jobs] : job.conditional) spec::normalise(jobs);
  return job;
}

bool StoredWorkflow::is_removed(std::uint64_t number) const {
  return claim::is_removed(*reader_, JobId{number});
}

spec::ExistingWorkflow::Naming StoredWorkflow::naming(std::uint64_t number) {
  const auto can = claim::can_be_spawned_again(*reader_, JobId{number}, spawner_);
  if (!can) note(can.error());
  const bool is_out = claim::is_removed(*reader_, JobId{number});
  if (can && *can) return is_out ? Naming::anew_also : Naming::anew;
  // Left alone as one that is there, it would never run.
  if (can && is_out && raw(spawner_.parent) != 0) {
    note(invalid(fmt::format("the job '{}' is out of the workflow, and was in it from the "
                             "beginning, or the job that spawns it comes from it",
                             printable(job_name(book_, *reader_, JobId{number}))),
                 "give it another name; `torc rm --undo` lets it run as it is"));
  }
  return Naming::same;
}

const std::vector<claim::Limit>& StoredWorkflow::limits() {
  if (!limits_) {
    limits_.emplace();
    note(claim::scan_limits(*reader_, [&](const claim::LimitState& one) {
      limits_->push_back(one.limit);
      return true;
    }));
  }
  return *limits_;
}

std::optional<std::uint32_t> StoredWorkflow::most_of(const claim::Limit& limit) {
  const auto found = std::ranges::find_if(
      limits(), [&](const claim::Limit& one) { return claim::is_same_limit(one, limit); });
  return found == limits_->end() ? std::nullopt : std::optional(found->of_file());
}

std::optional<std::uint32_t> StoredWorkflow::limit_of(std::string_view entry) {
  return most_of({std::string(entry), 0, claim::LimitKind::entry});
}

std::vector<spec::Limit> StoredWorkflow::named_limits() {
  std::vector<spec::Limit> named;
  for (const claim::Limit& one : limits()) {
    if (one.kind == claim::LimitKind::named)
      named.push_back({one.name, std::max(one.most, one.of_file()), {}, true});
  }
  return named;
}

std::optional<std::uint32_t> StoredWorkflow::max_parallel() {
  return most_of({"", 0, claim::LimitKind::workflow});
}

}  // namespace torc::workflow
