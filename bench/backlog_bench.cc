// Whether a claim gets slower the more jobs wait: a batch of 64 with 1,000,000 ready jobs against
// the same with 1,000. The batch is given back after each claim, untimed, so that every round finds
// the same state.
#include <fmt/format.h>

#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/measure.h"
#include "lib/claim/transactions/plan_writing.h"

namespace torc::bench {
namespace {

constexpr std::uint64_t kBatch = 64;
constexpr int kClaimsPerRound = 16;

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

Result<void> measure(const Options& options, Table& table, const store::World& world, Shape shape) {
  const std::uint64_t most = options.quick ? 100'000 : 1'000'000;
  const auto make = [&](std::uint64_t jobs) {
    store::Tuning tuning;
    tuning.sync = false;  // the disk's part is the same for both and would hide the difference
    const Path path = options.scratch /
                      fmt::format("{}-{}.torc", shape == Shape::sweep ? "sweep" : "single", jobs);
    return store::Store::create(
        world, path, store::Engine::lmdb, tuning,
        [&](store::Transaction& tx) { return claim::write_plan(tx, plan_of(jobs, shape)); });
  };
  TORC_ASSIGN(const auto large, make(most));
  TORC_ASSIGN(const auto small, make(1000));
  TORC_ASSIGN(BatchWorker of_many, BatchWorker::join(*large));
  TORC_ASSIGN(BatchWorker of_few, BatchWorker::join(*small));
  for (const Part part : {Part::exchange, Part::commit}) {
    TORC_ASSIGN(const Comparison c,
                compare(options.quick ? 9 : 41, claims_of(of_many, part), claims_of(of_few, part)));
    table.add({fmt::format("{} of {}, {} ready as {} / 1,000",
                           part == Part::exchange ? "claim" : "claim and unsynced commit", kBatch,
                           options.quick ? "100,000" : "1,000,000",
                           shape == Shape::sweep ? "one sweep" : "single jobs"),
               show(c.measured),
               show(c.baseline),
               c.ratio,
               at_most(1.5),
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
    TORC_TRY(measure(options, table, local->world(), Shape::sweep));
    return measure(options, table, local->world(), Shape::scattered);
  });
}
