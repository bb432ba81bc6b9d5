#include "lib/workflow/plan/plan_actions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/codec.h"

namespace torc::workflow {
namespace {

using spec::Range;
using ActionUpstream = std::map<claim::Condition, std::vector<Range>>;

bool overlaps(const std::vector<Range>& ranges, const claim::JobRange& r) {
  const std::uint64_t first = raw(r.first);
  const auto it = std::ranges::upper_bound(ranges, first, {}, &Range::end);
  return it != ranges.end() && it->first < first + r.count;
}

// All that any of the jobs waits for.
ActionUpstream upstream_of(const claim::Plan& plan, const std::vector<Range>& jobs) {
  ActionUpstream all;
  for (const claim::DependencySet& set : plan.dependencies) {
    const auto is_for = [&](const claim::JobRange& r) { return overlaps(jobs, r); };
    if (set.action != 0 || std::ranges::none_of(set.members, is_for)) continue;
    for (const claim::JobRange& r : set.upstream)
      all[claim::Condition::afterok].push_back({raw(r.first), r.count});
    for (const claim::Dependency& d : set.conditional)
      all[d.condition].push_back({raw(d.jobs.first), d.jobs.count});
  }
  return all;
}

std::optional<claim::DependencySet> set_of(ActionUpstream&& upstream, std::uint32_t action) {
  if (upstream.empty()) return std::nullopt;
  claim::DependencySet set;
  set.action = action;
  for (auto& [condition, ranges] : upstream) {
    spec::normalise(ranges);
    for (const Range& r : ranges) {
      const claim::JobRange jobs{JobId{r.first}, r.count};
      if (condition == claim::Condition::afterok) {
        set.upstream.push_back(jobs);
      } else {
        set.conditional.push_back({jobs, condition});
      }
    }
  }
  return set;
}

claim::Action action_of(const spec::Action& from, const spec::Workflow& workflow) {
  claim::Action action{static_cast<claim::Trigger>(from.trigger), from.persistent,
                       encode_commands(from.commands)};
  if (from.kind != spec::Action::Kind::schedule_nodes) return action;
  const auto& all = workflow.slurm_schedulers;
  const auto at = std::ranges::find(all, from.scheduler, &spec::SlurmScheduler::name);
  action.schedule = claim::ScheduleNodes{static_cast<std::uint32_t>(at - all.begin() + 1),
                                         from.num_allocations, from.max_parallel_jobs.value_or(0)};
  return action;
}

}  // namespace

void add_actions(claim::Plan& plan, const spec::Workflow& workflow,
                 const spec::Expansion& expansion) {
  for (const spec::ExpandedAction& one : expansion.actions) {
    const spec::Action& from = workflow.actions[one.source];
    plan.actions.push_back(action_of(from, workflow));
    const auto number = static_cast<std::uint32_t>(plan.actions.size());
    ActionUpstream upstream;
    if (from.trigger == spec::Trigger::on_jobs_ready) upstream = upstream_of(plan, one.jobs);
    if (from.trigger == spec::Trigger::on_jobs_complete)
      upstream[claim::Condition::afterany] = one.jobs;
    if (auto set = set_of(std::move(upstream), number))
      plan.dependencies.push_back(*std::move(set));
  }
}

std::string encode_commands(const std::vector<std::string>& commands) {
  Encoder out;
  out.varint(commands.size());
  for (const std::string& command : commands) out.text(command);
  return std::move(out).bytes();
}

std::optional<std::vector<std::string>> decode_commands(std::string_view recipe) {
  Decoder in(recipe);
  std::vector<std::string> commands;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) commands.emplace_back(in.text());
  if (!in.is_whole()) return std::nullopt;
  return commands;
}

}  // namespace torc::workflow
