// A job that was recovered with more than any allocation of now has: one that has it is asked for.
#include <gtest/gtest.h>

#include "lib/allocate/pass_fixture.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"

namespace torc::allocate {
namespace {

class RecoveredDemand : public PassTest {
 protected:
  // The worker of the small allocation: as much as it was asked for.
  void fail_for_memory(const std::string& allocation) {
    commit([&](claim::Transaction& tx) -> Result<void> {
      claim::WorkerInfo info;
      info.host = "n1";
      info.cluster = "alpha";
      info.allocation = allocation;
      info.scheduler = "small";
      info.cpus = 4;
      info.memory = mebibytes(1024);
      info.registered_at = clock_.wall_now();
      TORC_ASSIGN(worker_, claim::register_worker(tx, info));
      return {};
    });
    claim::Grant grant;
    commit([&](claim::Transaction& tx) -> Result<void> {
      claim::Exchange ask = says();
      ask.offer = claim::Offer{};
      ask.offer->cpus = ask.offer->total_cpus = 4;
      ask.offer->memory = ask.offer->total_memory = mebibytes(1024);
      ask.offer->max_jobs = 1;
      ask.offer->scheduler = "small";
      TORC_ASSIGN(const claim::Answer answer, claim::exchange(tx, ask));
      grant = answer.grants.at(0);
      return {};
    });
    commit([&](claim::Transaction& tx) -> Result<void> {
      claim::Exchange tell = says();
      claim::Finished end{grant.token, claim::JobState::failed, {}};
      end.outcome.cause = claim::EndCause::out_of_memory;
      tell.finishes = {end};
      return claim::exchange(tx, tell).ok() ? Result<void>() : Error{ErrorKind::io, "no", ""};
    });
  }
  [[nodiscard]] claim::Exchange says() const {
    claim::Exchange exchange;
    exchange.worker = worker_;
    exchange.now = clock_.wall_now();
    return exchange;
  }
  [[nodiscard]] std::uint32_t asked_of(std::uint32_t scheduler) {
    std::uint32_t n = 0;
    for (const auto& [number, allocation] : ledger()) n += allocation.scheduler == scheduler;
    return n;
  }

  claim::WorkerEpoch worker_{};
};

TEST_F(RecoveredDemand, is_for_an_allocation_with_more_where_the_job_fits_none_of_now) {
  make(
      "on_failure: recover\n"
      "slurm_schedulers:\n"
      "  - {name: small, nodes: 1, walltime: \"01:00:00\", mem: 1G, extra: --cpus-per-task=4,"
      " allocate: {max: 4}}\n"
      "  - {name: big, nodes: 1, walltime: \"01:00:00\", mem: 8G, extra: --cpus-per-task=4,"
      " allocate: {max: 4}}\n"
      "jobs: [{name: a, command: x, memory: 1g, runtime: PT30M}]\n");
  (void)pass();
  ASSERT_EQ(asked_of(1), 1U);
  ASSERT_EQ(asked_of(2), 0U);
  const auto job = launcher_.queue.at(0);
  launcher_.queue.at(0).stage = slurm::Stage::runs;
  EXPECT_EQ(bind(job.intent, job.id), claim::Admission::yes);
  fail_for_memory(job.id);
  clock_.advance(kPassInterval);
  (void)pass();
  EXPECT_EQ(asked_of(2), 1U) << "1.5 GiB fit into no allocation of the small one";
}

}  // namespace
}  // namespace torc::allocate
