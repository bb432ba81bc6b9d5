#include "lib/workflow/plan/plan_dependencies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace torc::workflow {
namespace {

constexpr std::size_t kConditions = 4;
using spec::Range;

std::vector<claim::JobRange> to_claim(const std::vector<Range>& ranges) {
  std::vector<claim::JobRange> out;
  out.reserve(ranges.size());
  for (const Range& r : ranges) out.push_back({JobId{r.first}, r.count});
  return out;
}

// All that one job waits for: its set of each condition, and whether failures cancel it.
struct Bundle {
  std::array<const spec::DependencySet*, kConditions> sets{};
  bool cancels = false;
  [[nodiscard]] bool is_empty() const {
    return std::ranges::all_of(sets, [](const auto* s) { return s == nullptr; });
  }
  auto operator<=>(const Bundle&) const = default;
};

claim::DependencySet to_claim(const Bundle& bundle) {
  claim::DependencySet set;
  for (std::size_t c = 0; c < kConditions; ++c) {
    const spec::DependencySet* part = bundle.sets[c];
    if (part == nullptr) continue;
    if (c == 0) {
      set.upstream = to_claim(part->upstream);
      set.cancels = bundle.cancels;
      continue;
    }
    for (const claim::JobRange& r : to_claim(part->upstream))
      set.conditional.push_back({r, static_cast<Condition>(c)});
  }
  return set;
}

// Where the jobs begin or cease to be members of a set, or to be canceled by failures.
struct Cut {
  std::uint64_t at;
  std::size_t condition;
  const spec::DependencySet* set;  // null: it is about cancels
  bool begins;
};

std::vector<Cut> cuts_of(const spec::Workflow& workflow, const spec::Expansion& expansion) {
  std::vector<Cut> cuts;
  const auto add = [&](Range r, std::size_t condition, const spec::DependencySet* set) {
    cuts.push_back({r.first, condition, set, true});
    cuts.push_back({r.end(), condition, set, false});
  };
  for (const spec::DependencySet& set : expansion.dependencies) {
    for (const Range& r : set.members) add(r, 0, &set);
  }
  for (const spec::ConditionalSet& one : expansion.conditional) {
    for (const Range& r : one.set.members)
      add(r, static_cast<std::size_t>(one.condition), &one.set);
  }
  for (const spec::ExpandedEntry& entry : expansion.entries) {
    if (workflow.jobs[entry.source].cancel_on_blocking_job_failure)
      add({entry.first, entry.count}, 0, nullptr);
  }
  // What ends somewhere ends before another begins there.
  std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) {
    return a.at != b.at ? a.at < b.at : a.begins < b.begins;
  });
  return cuts;
}

std::vector<claim::DependencySet> bundled(const std::vector<Cut>& cuts) {
  std::vector<claim::DependencySet> out;
  std::map<Bundle, std::size_t> known;
  Bundle now;
  for (std::size_t i = 0; i < cuts.size();) {
    const std::uint64_t at = cuts[i].at;
    for (; i < cuts.size() && cuts[i].at == at; ++i) {
      if (cuts[i].set == nullptr)
        now.cancels = cuts[i].begins;
      else
        now.sets[cuts[i].condition] = cuts[i].begins ? cuts[i].set : nullptr;
    }
    if (now.is_empty()) continue;
    const auto [it, added] = known.try_emplace(now, out.size());
    if (added) out.push_back(to_claim(now));
    auto& members = out[it->second].members;
    const claim::JobRange piece{JobId{at}, cuts[i].at - at};
    if (!members.empty() && raw(members.back().first) + members.back().count == at)
      members.back().count += piece.count;
    else
      members.push_back(piece);
  }
  return out;
}

bool is_plain(const spec::Workflow& workflow, const spec::Expansion& expansion) {
  return expansion.conditional.empty() &&
         std::ranges::none_of(workflow.jobs, [](const spec::JobEntry& job) {
           return job.cancel_on_blocking_job_failure;
         });
}

}  // namespace

std::vector<claim::DependencySet> plan_dependencies(const spec::Workflow& workflow,
                                                    const spec::Expansion& expansion) {
  if (!is_plain(workflow, expansion)) return bundled(cuts_of(workflow, expansion));
  std::vector<claim::DependencySet> out;
  out.reserve(expansion.dependencies.size());
  for (const spec::DependencySet& set : expansion.dependencies) {
    auto& made = out.emplace_back();
    made.upstream = to_claim(set.upstream);
    made.members = to_claim(set.members);
  }
  return out;
}

PlannedLimits plan_limits(const spec::Workflow& workflow, const spec::Expansion& expansion) {
  PlannedLimits planned;
  std::set<std::string_view> entries;
  for (const spec::JobEntry& job : workflow.jobs) entries.insert(job.name);
  std::map<std::string_view, std::uint32_t> of_entries;
  std::map<std::string_view, std::uint32_t> named;
  for (const spec::Limit& limit : workflow.limits) {
    const bool is_entry = !limit.is_there && entries.contains(limit.name);
    (is_entry ? of_entries : named).emplace(limit.name, limit.most);
  }
  const auto number_of = [&](const claim::Limit& limit) {
    const auto at = std::ranges::find_if(
        planned.limits, [&](const claim::Limit& one) { return claim::is_same_limit(one, limit); });
    const auto number = static_cast<std::uint32_t>(at - planned.limits.begin() + 1);
    if (at == planned.limits.end()) planned.limits.push_back(limit);
    return number;
  };
  // Also those that no job has yet: jobs that are added later may.
  for (const auto& [name, most] : named)
    (void)number_of({std::string(name), most, claim::LimitKind::named});
  using Shares = std::vector<claim::LimitShare>;
  std::map<std::size_t, Shares> known;  // of entries of the spec
  for (const spec::ExpandedEntry& entry : expansion.entries) {
    const auto [at, is_new] = known.try_emplace(entry.source);
    Shares& shares = at->second;
    if (is_new) {
      const spec::JobEntry& job = workflow.jobs[entry.source];
      std::optional<std::uint32_t> most = job.max_parallel;
      if (const auto found = of_entries.find(job.name); found != of_entries.end())
        most = std::min(most.value_or(found->second), found->second);
      if (most) shares.push_back({number_of({job.name, *most, claim::LimitKind::entry}), 1});
      for (const spec::LimitUse& use : job.limits) {
        const auto found = named.find(use.name);
        if (found == named.end()) continue;  // check_limits() has refused it
        shares.push_back(
            {number_of({use.name, found->second, claim::LimitKind::named}), use.amount});
      }
      if (workflow.max_parallel)
        shares.push_back({number_of({"", *workflow.max_parallel, claim::LimitKind::workflow}), 1});
      std::ranges::sort(shares);
    }
    planned.of_entry.push_back(shares);
  }
  return planned;
}

claim::Usage plan_budget(const spec::Budget& budget) {
  constexpr double kMillisecondsAnHour = 3.6e6;
  constexpr double kMost = 4e18;
  const auto time = [&](const std::optional<double>& hours) {
    if (!hours) return std::chrono::milliseconds(0);
    const double exact = std::clamp(*hours * kMillisecondsAnHour, 1.0, kMost);
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::llround(exact)));
  };
  return {time(budget.core_hours), time(budget.node_hours)};
}

}  // namespace torc::workflow
