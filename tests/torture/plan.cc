#include "tests/torture/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace torc::torture {
namespace {

// Most jobs end at once, some run long enough to be met by several blows.
int random_duration(std::mt19937_64& random) {
  const int kind = between(random, 0, 99);
  if (kind < 50) return 0;
  if (kind < 90) return between(random, 0, 5'000);
  if (kind < 99) return between(random, 5'000, 30'000);
  return between(random, 30'000, 60'000);
}

}  // namespace

Plan random_plan(std::size_t jobs, std::mt19937_64& random) {
  Plan plan;
  const std::size_t stages = between<std::size_t>(random, 3, 8);
  const std::size_t gathering = between<std::size_t>(random, 1, stages - 1);  // waits for all
  std::size_t before = 0;  // first job of the stage before
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::size_t first = plan.size();
    const std::size_t end = std::max(first + 1, jobs * (stage + 1) / stages);
    for (std::size_t i = first; i < end; ++i) {
      PlannedJob job{fmt::format("s{}_{}", stage, i), {}, random_duration(random)};
      if (stage == gathering) {
        job.needs.resize(first - before);
        std::iota(job.needs.begin(), job.needs.end(), before);
      } else if (stage > 0) {
        for (int n = between(random, 1, 3); n > 0; --n) {
          job.needs.push_back(between(random, before, first - 1));
        }
        std::sort(job.needs.begin(), job.needs.end());
        job.needs.erase(std::unique(job.needs.begin(), job.needs.end()), job.needs.end());
      }
      plan.push_back(std::move(job));
    }
    before = first;
  }
  return plan;
}

std::string spec_of(const Plan& plan, const Path& job_program, const Path& record,
                    const std::string& clock) {
  std::string text = "name: wf\nexecution_config: {stdio: {mode: none}}\njobs:\n";
  for (const PlannedJob& job : plan) {
    text += fmt::format("  - name: {}\n    command: {} {}/{} {} {}\n", job.name,
                        job_program.string(), record.string(), job.name, job.microseconds, clock);
    if (job.needs.empty()) continue;
    std::string names;
    for (const std::size_t need : job.needs) {
      names += (names.empty() ? "" : ", ") + plan[need].name;
    }
    text += fmt::format("    depends_on: [{}]\n", names);
  }
  return text;
}

}  // namespace torc::torture
