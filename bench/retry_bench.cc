// What it costs to let the 10,000 failed jobs of a sweep of 1,000,000 run again, scattered through
// it. Compared with the same command when nothing has failed.
#include <fmt/format.h>

#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/measure.h"

namespace torc::bench {
namespace {

constexpr std::uint64_t kEvery = 100;

class Failures {
 public:
  Failures(const Options& options, std::uint64_t jobs)
      : directory_(options.scratch), jobs_(jobs), failed_(jobs / kEvery) {}

  // Runs all of the sweep; every hundredth job fails.
  Result<void> make() {
    TORC_ASSIGN(local_, LocalWorld::make());
    TORC_ASSIGN(store_, store::Store::create(
                            local_->world(), directory_ / "jobs.torc", store::Engine::journal,
                            store::Tuning{}, [&](store::Transaction& tx) {
                              return claim::write_plan(tx, plan_of(jobs_, Shape::sweep));
                            }));
    TORC_ASSIGN(BatchWorker worker, BatchWorker::join(*store_));
    worker_ = worker;
    constexpr std::uint64_t kBatch = 10'000;
    TORC_TRY(worker_->turn(kBatch));
    for (std::uint64_t done = kBatch; done < jobs_; done += kBatch) {
      TORC_TRY(worker_->fail(kEvery, kBatch));
    }
    return worker_->fail(kEvery, 0);
  }

  // Those that were retried fail again, which is not measured.
  Round retry() {
    return [this]() -> Result<Seconds> {
      TORC_ASSIGN(const ProcessCost cost, run());
      TORC_TRY(worker_->turn(failed_));
      TORC_TRY(worker_->fail(1, 0));
      return cost.wall;
    };
  }
  Round nothing() {
    return [this]() -> Result<Seconds> {
      TORC_ASSIGN(const ProcessCost cost,
                  run_process({TORC_PROGRAM, "release", "jobs.torc", "--all"}, directory_));
      return cost.wall;
    };
  }

 private:
  Result<ProcessCost> run() {
    return run_process({TORC_PROGRAM, "retry", "jobs.torc", "--failed"}, directory_);
  }

  Path directory_;
  std::uint64_t jobs_;
  std::uint64_t failed_;
  std::unique_ptr<LocalWorld> local_;
  std::unique_ptr<store::Store> store_;
  std::optional<BatchWorker> worker_;
};

Result<void> measure(const Options& options, Table& table) {
  const std::uint64_t jobs = options.quick ? 100'000 : 1'000'000;
  Failures failures(options, jobs);
  TORC_TRY(failures.make());
  TORC_ASSIGN(const Comparison c,
              compare(options.quick ? 2 : 7, failures.retry(), failures.nothing()));
  table.add(
      {fmt::format("torc retry --failed, {} of {} jobs / nothing to change", jobs / kEvery, jobs),
       show(c.measured), show(c.baseline), c.ratio, Floor{Floor::Kind::at_most, 0.3, "<= 0.3 s"},
       c.measured.count()});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
