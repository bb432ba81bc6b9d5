// How fast jobs can change their state when nothing is run: a worker that completes 64 jobs and
// claims the next 64 in every commit. Compared with bare LMDB commits of one small record, 128
// transitions each: what would be left if the claims cost nothing.
#include <fmt/format.h>

#include "bench/bare_lmdb.h"
#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/measure.h"
#include "lib/claim/transactions/plan_writing.h"

namespace torc::bench {
namespace {

constexpr std::uint64_t kBatch = 64;
constexpr double kTransitions = 2 * kBatch;  // of one commit: as many claims as completions

Result<void> measure(const Options& options, Table& table) {
  const std::uint64_t jobs = options.quick ? 20'000 : 200'000;
  const int rounds = 14;
  const auto commits = static_cast<int>(jobs / kBatch) / (rounds + 1);
  TORC_ASSIGN(const auto local, LocalWorld::make());
  TORC_ASSIGN(
      const auto store,
      store::Store::create(local->world(), options.scratch / "jobs.torc", store::Engine::lmdb,
                           store::Tuning{}, [&](store::Transaction& tx) {
                             return claim::write_plan(tx, plan_of(jobs, Shape::sweep));
                           }));
  TORC_ASSIGN(BatchWorker worker, BatchWorker::join(*store));
  TORC_ASSIGN(const auto bare, BareLmdb::open(options.scratch / "bare"));

  const Round claims = [&]() -> Result<Seconds> {
    TORC_ASSIGN(const Seconds took, timed([&]() -> Result<void> {
                  for (int i = 0; i < commits; ++i) TORC_TRY(worker.turn(kBatch));
                  return {};
                }));
    return took / (commits * kTransitions);
  };
  const Round bare_commits = [&]() -> Result<Seconds> {
    TORC_ASSIGN(const Seconds took, timed([&]() -> Result<void> {
                  for (int i = 0; i < commits; ++i) {
                    TORC_TRY(bare->commit({{"key", std::string(51, 'x')}}));
                  }
                  return {};
                }));
    return took / (commits * kTransitions);
  };
  TORC_ASSIGN(const Comparison c, compare(rounds, claims, bare_commits));
  const double rate = 1 / c.measured.count();
  table.add(
      {fmt::format("claim + complete, batches of {}, lmdb engine, sweep of {} jobs: transitions",
                   kBatch, jobs),
       show_rate(rate), show_rate(1 / c.baseline.count()), 1 / c.ratio,
       Floor{Floor::Kind::at_least, 100'000, ">= 100,000/s"}, rate});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
