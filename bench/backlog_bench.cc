// Whether a claim gets slower the more jobs wait: a batch of 64 with 1,000,000 ready jobs against
// the same with 1,000.
#include <fmt/format.h>

#include "bench/batch_worker.h"
#include "bench/claim_cost.h"

int main(int argc, char** argv) {
  using namespace torc::bench;
  return run_benchmark(argc, argv, [](const Options& options, Table& table) -> torc::Result<void> {
    TORC_ASSIGN(const auto local, LocalWorld::make());
    const std::uint64_t most = most_jobs(options);
    const std::string between =
        fmt::format("{} ready / 1,000", options.quick ? "100,000" : "1,000,000");
    for (const Shape shape : {Shape::sweep, Shape::scattered}) {
      TORC_TRY(compare_claims(
          options, table, local->world(),
          {plan_of(most, shape), plan_of(1000, shape),
           shape == Shape::sweep ? "one sweep" : "single jobs", between, at_most(1.5)}));
    }
    return {};
  });
}
