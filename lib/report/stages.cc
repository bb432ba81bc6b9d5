#include "lib/report/stages.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {
namespace {

using claim::JobRange;
using claim::JobState;

// The jobs of a template that are among these.
std::vector<JobRange> among(const std::vector<JobRange>& of, const claim::Template& t) {
  std::vector<JobRange> some;
  const std::uint64_t end = raw(t.first) + t.count;
  auto at = std::upper_bound(
      of.begin(), of.end(), raw(t.first),
      [](std::uint64_t id, const JobRange& r) { return id < raw(r.first) + r.count; });
  for (; at != of.end() && raw(at->first) < end; ++at) {
    const std::uint64_t first = std::max(raw(at->first), raw(t.first));
    some.push_back({JobId{first}, std::min(end, raw(at->first) + at->count) - first});
  }
  return some;
}

}  // namespace

std::uint64_t StageCounts::jobs() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t StageCounts::to_run() const {
  return of(JobState::ready) + of(JobState::delayed) + of(JobState::blocked);
}

Result<std::vector<StageCounts>> read_stages(const claim::Reader& reader,
                                             const std::vector<JobRange>* of) {
  TORC_ASSIGN(const std::uint64_t jobs, claim::count_jobs(reader));
  const std::vector<JobRange> all = of != nullptr ? *of : std::vector<JobRange>{{JobId{1}, jobs}};
  TORC_ASSIGN(const auto removed, claim::removed_jobs(reader, all));
  const std::vector<JobRange> left = claim::without(all, removed);
  std::vector<StageCounts> stages;
  std::unordered_map<std::string, std::size_t> known;  // by name: an entry that grew has several
  Result<void> readable;
  TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
    const std::vector<JobRange> some = among(left, t);
    if (some.empty()) return true;
    const auto recipe = workflow::recipe_of(t);
    const auto counts = claim::count_jobs(reader, some);
    if (!recipe || !counts) {
      readable = recipe ? counts.error() : recipe.error();
      return false;
    }
    const auto [at, is_new] = known.emplace(recipe->entry_name(), stages.size());
    if (is_new) stages.push_back({at->first, {}});
    claim::Counts& sum = stages[at->second].counts;
    for (std::size_t s = 0; s < sum.size(); ++s) sum[s] += (*counts)[s];
    return true;
  }));
  TORC_TRY(readable);
  return stages;
}

}  // namespace torc::report
