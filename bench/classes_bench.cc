// Whether a claim gets slower the more classes of jobs are ready: a batch of 64 of 1,000,000 ready
// jobs of 2,000 classes against the same of 10. The batch is given back after each claim, untimed,
// so that every round finds the same state.
#include <fmt/format.h>

#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/measure.h"
#include "lib/claim/transactions/plan_writing.h"

namespace torc::bench {
namespace {

constexpr std::uint64_t kBatch = 64;
constexpr int kClaimsPerRound = 16;

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

enum class Part : std::uint8_t {
  exchange,  // the claim itself, inside the transaction
  commit     // the whole commit, with everything but the wait for the disk
};

Round claims_of(BatchWorker& worker, Part part) {
  return [&worker, part]() -> Result<Seconds> {
    Seconds sum{};
    for (int i = 0; i < kClaimsPerRound; ++i) {
      TORC_ASSIGN(const Seconds took, timed([&] { return worker.turn(kBatch); }));
      sum += part == Part::commit ? took : worker.exchange_time();
      TORC_TRY(worker.give_back());
    }
    return sum / kClaimsPerRound;
  };
}

Result<void> measure(const Options& options, Table& table, const store::World& world,
                     Priorities priorities, Queues queues) {
  const std::uint64_t jobs = options.quick ? 100'000 : 1'000'000;
  const std::string what =
      fmt::format("{}, {} priorities", queues == Queues::sweeps ? "sweeps" : "woven",
                  priorities == Priorities::equal ? "equal" : "mixed");
  const auto make = [&](std::uint64_t classes) {
    store::Tuning tuning;
    tuning.sync = false;  // the disk's part is the same for both and would hide the difference
    return store::Store::create(world, options.scratch / fmt::format("{} {}.torc", what, classes),
                                store::Engine::lmdb, tuning, [&](store::Transaction& tx) {
                                  return claim::write_plan(
                                      tx, plan_of(jobs, classes, priorities, queues));
                                });
  };
  TORC_ASSIGN(const auto many, make(2000));
  TORC_ASSIGN(const auto few, make(10));
  TORC_ASSIGN(BatchWorker of_many, BatchWorker::join(*many));
  TORC_ASSIGN(BatchWorker of_few, BatchWorker::join(*few));
  for (const Part part : {Part::exchange, Part::commit}) {
    TORC_ASSIGN(const Comparison c,
                compare(options.quick ? 9 : 41, claims_of(of_many, part), claims_of(of_few, part)));
    table.add({fmt::format("{} of {} of {} ready, 2,000 classes / 10 ({})",
                           part == Part::exchange ? "claim" : "claim and unsynced commit", kBatch,
                           options.quick ? "100,000" : "1,000,000", what),
               show(c.measured),
               show(c.baseline),
               c.ratio,
               at_most(3),
               {}});
  }
  return {};
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
