#include "bench/claim_cost.h"

#include <fmt/format.h>

#include "bench/batch_worker.h"
#include "lib/claim/transactions/plan_writing.h"

namespace torc::bench {
namespace {

constexpr std::uint64_t kBatch = 64;
constexpr int kClaimsPerRound = 16;

enum class Part : std::uint8_t { exchange, commit };

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

Result<std::unique_ptr<store::Store>> make(const store::World& world, const Path& path,
                                           const claim::Plan& plan) {
  store::Tuning tuning;
  tuning.sync = false;  // the disk's part is the same for both and would hide the difference
  return store::Store::create(world, path, store::Engine::lmdb, tuning,
                              [&](store::Transaction& tx) { return claim::write_plan(tx, plan); });
}

}  // namespace

Result<void> compare_claims(const Options& options, Table& table, const store::World& world,
                            const ClaimCost& cost) {
  TORC_ASSIGN(const auto store,
              make(world, options.scratch / (cost.what + ".torc"), cost.measured));
  TORC_ASSIGN(const auto other,
              make(world, options.scratch / (cost.what + " baseline.torc"), cost.baseline));
  TORC_ASSIGN(BatchWorker worker, BatchWorker::join(*store));
  TORC_ASSIGN(BatchWorker of_other, BatchWorker::join(*other));
  for (const Part part : {Part::exchange, Part::commit}) {
    TORC_ASSIGN(const Comparison c, compare(options.quick ? 9 : 41, claims_of(worker, part),
                                            claims_of(of_other, part)));
    table.add({fmt::format("{} of {}, {} ({})",
                           part == Part::exchange ? "claim" : "claim and unsynced commit", kBatch,
                           cost.between, cost.what),
               show(c.measured),
               show(c.baseline),
               c.ratio,
               cost.floor,
               {}});
  }
  return {};
}

std::uint64_t most_jobs(const Options& options) {
  return options.quick ? 100'000 : 1'000'000;
}

}  // namespace torc::bench
