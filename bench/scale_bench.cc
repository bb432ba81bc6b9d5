// What a node pays for having been away: catching up with 10,000 commits of a busy worker.
#include <fmt/format.h>

#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/measure.h"
#include "lib/claim/transactions/plan_writing.h"

namespace torc::bench {
namespace {

constexpr std::uint64_t kBatch = 64;

Result<void> measure(const Options& options, Table& table) {
  const int commits = options.quick ? 1000 : 10'000;
  const std::uint64_t jobs = static_cast<std::uint64_t>(commits + 2) * kBatch;
  TORC_ASSIGN(const auto busy, LocalWorld::make());
  store::Tuning tuning;
  tuning.sync = false;                      // the disk's part is not what is measured
  tuning.checkpoint_commits = 100'000'000;  // so that all of it comes from commits
  tuning.checkpoint_bytes = mebibytes(100'000);
  const Path directory = options.scratch / "away.torc";
  TORC_ASSIGN(const auto store,
              store::Store::create(busy->world(), directory, store::Engine::journal, tuning,
                                   [&](store::Transaction& tx) {
                                     return claim::write_plan(tx, plan_of(jobs, Shape::sweep));
                                   }));
  TORC_ASSIGN(const auto away, LocalWorld::make());
  TORC_ASSIGN(const auto late, store::Store::open(away->world(), directory, tuning));
  TORC_ASSIGN(BatchWorker worker, BatchWorker::join(*store));
  for (int i = 0; i < commits; ++i) {
    TORC_TRY(worker.turn(kBatch));
    TORC_TRY(store->maintain());
  }
  TORC_ASSIGN(const Seconds took, timed([&] {
                return late->view(store::Freshness::latest,
                                  [](const store::Reader&) { return Result<void>(); });
              }));
  const double rate = 2.0 * static_cast<double>(kBatch) * commits / took.count();
  table.add({fmt::format("catching up with {} commits of {} jobs: transitions", commits, kBatch),
             show_rate(rate),
             {},
             {},
             Floor{Floor::Kind::at_least, 50'000, ">= 50,000/s"},
             rate});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
