// What a claim costs in one store against what it costs in another.
#pragma once

#include <cstdint>
#include <string>

#include "bench/local_world.h"
#include "bench/measure.h"
#include "lib/claim/rules/plan.h"

namespace torc::bench {

struct ClaimCost {
  claim::Plan measured;
  claim::Plan baseline;
  std::string what;     // of both: "one sweep"; names the stores too
  std::string between;  // "2,000 classes / 10"
  Floor floor;
};

// Adds two rows: a claim of 64 ready jobs inside the transaction, and the whole commit with
// everything but the wait for the disk. The jobs are given back after each claim, untimed, so that
// every round finds the same state.
Result<void> compare_claims(const Options& options, Table& table, const store::World& world,
                            const ClaimCost& cost);

// That wait in the larger store of such a comparison; fewer with --quick.
[[nodiscard]] std::uint64_t most_jobs(const Options& options);

}  // namespace torc::bench
