#include "tests/torture/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace torc::torture {
namespace {

// Most jobs end at once, some run long enough to be met by several faults.
int random_duration(std::mt19937_64& random) {
  const int kind = between(random, 0, 99);
  if (kind < 50) return 0;
  if (kind < 90) return between(random, 0, 5'000);
  if (kind < 99) return between(random, 5'000, 30'000);
  return between(random, 30'000, 60'000);
}

// Jobs that nobody needs.
std::vector<std::size_t> some_leaves(const Plan& plan, std::size_t count, std::mt19937_64& random) {
  std::vector<bool> needed(plan.size(), false);
  for (const PlannedJob& job : plan) {
    for (const std::size_t need : job.needs) needed[need] = true;
  }
  std::vector<std::size_t> leaves;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!needed[i]) leaves.push_back(i);
  }
  std::shuffle(leaves.begin(), leaves.end(), random);
  leaves.resize(std::min(count, leaves.size()));
  return leaves;
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

std::string_view to_string(Deadly whom) {
  switch (whom) {
    case Deadly::no:
      return "";
    case Deadly::self:
      return "self";
    case Deadly::group:
      return "group";
    case Deadly::worker:
      return "worker";
  }
  return "";
}

void make_deadly(Plan& plan, std::size_t count, std::mt19937_64& random) {
  const std::vector<std::size_t> chosen = some_leaves(plan, count, random);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    plan[chosen[i]].deadly = i == 0 ? Deadly::worker : i % 2 == 1 ? Deadly::self : Deadly::group;
  }
}

void make_long(Plan& plan, std::size_t count, std::mt19937_64& random) {
  constexpr int lease = std::chrono::microseconds(kLease).count();
  for (const std::size_t i : some_leaves(plan, count, random))
    plan[i].microseconds = between(random, lease, 2 * lease);
}

std::string spec_of(const Plan& plan, const Path& job_program, const Path& record,
                    const std::string& clock) {
  std::string text = "name: wf\nexecution_config: {stdio: {mode: none}}\njobs:\n";
  for (const PlannedJob& job : plan) {
    text += fmt::format("  - name: {}\n    command: {} {}/{} {} {}\n", job.name,
                        job_program.string(), record.string(), job.name, job.microseconds,
                        job.deadly == Deadly::no ? clock : to_string(job.deadly));
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
