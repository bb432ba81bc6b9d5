// Whether a claim gets slower the more classes of jobs are ready: a batch of 64 of 1,000,000 ready
// jobs of 2,000 classes against the same of 10.
#include <fmt/format.h>

#include "bench/claim_cost.h"

namespace torc::bench {
namespace {

enum class Priorities : std::uint8_t { equal, mixed };
enum class Queues : std::uint8_t {
  sweeps,  // a class is one sweep: a claim takes from the first of them
  woven    // neighbours are of different classes, no two of one share a range: from many at once
};

// One CPU each, and as much memory as a worker for 64 has of each.
claim::Plan plan_of(std::uint64_t jobs, std::uint64_t classes, Priorities priorities,
                    Queues queues) {
  claim::Plan plan;
  plan.name = "classes";
  for (std::uint64_t c = 0; c < classes; ++c) {
    claim::JobClass& one = plan.classes.emplace_back();
    one.need.memory = mebibytes(8 + c % 40);
    one.need.runtime = std::chrono::seconds(60 + c);
  }
  const std::uint64_t templates = queues == Queues::sweeps ? classes : jobs / 4;
  for (std::uint64_t i = 0; i < templates; ++i) {
    claim::Template& t = plan.templates.emplace_back();
    t.count = jobs / templates;
    t.first = JobId{1 + i * t.count};
    t.job_class = static_cast<std::uint32_t>(i % classes);
    if (priorities == Priorities::mixed) t.priority = static_cast<std::int32_t>(i * 7919 % 101);
    t.recipe = "simulate --seed {i} --out out_{i}.txt";
  }
  return plan;
}

Result<void> measure(const Options& options, Table& table, const store::World& world,
                     Priorities priorities, Queues queues) {
  const std::uint64_t jobs = most_jobs(options);
  return compare_claims(
      options, table, world,
      {plan_of(jobs, 2000, priorities, queues), plan_of(jobs, 10, priorities, queues),
       fmt::format("{}, {} priorities", queues == Queues::sweeps ? "sweeps" : "woven",
                   priorities == Priorities::equal ? "equal" : "mixed"),
       fmt::format("2,000 classes / 10, {} ready", options.quick ? "100,000" : "1,000,000"),
       at_most(3)});
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  using namespace torc::bench;
  return run_benchmark(argc, argv, [](const Options& options, Table& table) -> torc::Result<void> {
    TORC_ASSIGN(const auto local, LocalWorld::make());
    for (const Queues queues : {Queues::sweeps, Queues::woven}) {
      for (const Priorities priorities : {Priorities::equal, Priorities::mixed})
        TORC_TRY(measure(options, table, local->world(), priorities, queues));
    }
    return {};
  });
}
