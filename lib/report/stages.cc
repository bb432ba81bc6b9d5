#include "lib/report/stages.h"

#include <algorithm>
#include <numeric>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {
namespace {

using claim::JobRange;
using claim::JobState;

// The jobs of a template that are among these.
std::vector<JobRange> among(const std::vector<JobRange>* of, const claim::Template& t) {
  if (of == nullptr) return {{t.first, t.count}};
  std::vector<JobRange> some;
  const std::uint64_t end = raw(t.first) + t.count;
  auto at = std::upper_bound(
      of->begin(), of->end(), raw(t.first),
      [](std::uint64_t id, const JobRange& r) { return id < raw(r.first) + r.count; });
  for (; at != of->end() && raw(at->first) < end; ++at) {
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
  std::vector<StageCounts> stages;
  Result<void> readable;
  TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
    const std::vector<JobRange> some = among(of, t);
    if (some.empty()) return true;
    const auto recipe = workflow::recipe_of(t);
    const auto counts = claim::count_jobs(reader, some);
    if (!recipe)
      readable = recipe.error();
    else if (!counts)
      readable = counts.error();
    else
      stages.push_back({recipe->entry_name(), *counts});
    return readable.ok();
  }));
  TORC_TRY(readable);
  return stages;
}

}  // namespace torc::report
