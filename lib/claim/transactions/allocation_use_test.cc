// What the jobs of an allocation used of it, as the ledger counts it.
#include <gtest/gtest.h>

#include <vector>

#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_allocations.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

class AllocationUse : public WithAllocations {
 protected:
  AllocationUse() {
    Plan plan = plan_of({{9, 0}});
    plan.classes.at(0).need.cpus = 3;
    make(plan);
    (void)want_some(2);
  }
  WorkerEpoch join(std::uint32_t entry) {
    WorkerInfo info;
    info.host = "node1";
    info.cpus = 64;
    info.registered_at = kNoon;
    info.ledger_entry = entry;
    return *commit([&](auto& tx) { return register_worker(tx, info); });
  }
  // An attempt that ended as this after so long, of the worker's jobs.
  void end_job(WorkerEpoch worker, const ClaimToken& token, std::chrono::seconds time,
               JobState state = JobState::completed) {
    Exchange words;
    words.worker = worker;
    words.now = kNoon + time;
    Finished f;
    f.token = token;
    f.state = state;
    f.outcome.cause = EndCause::exited;
    f.outcome.exit_code = state == JobState::completed ? 0 : 1;
    f.outcome.started_at = kNoon;
    f.outcome.ended_at = kNoon + time;
    words.finishes.push_back(f);
    (void)*commit([&](auto& tx) { return exchange(tx, words); });
  }
  // So many jobs, of three CPUs each.
  std::vector<Grant> claim(WorkerEpoch worker, std::uint64_t jobs) {
    return wf->claim(worker, 3 * jobs);
  }
  std::uint64_t used_by(WorkerEpoch worker) { return (*find_worker(wf->tx, worker))->used_core_ms; }
};

TEST_F(AllocationUse, is_counted_by_its_workers_and_noted_when_they_leave_or_die) {
  const WorkerEpoch one = join(1);
  const WorkerEpoch other = join(1);
  const auto grants = claim(one, 2);
  const auto of_other = claim(other, 1);
  end_job(one, grants.at(0).token, 10s);
  end_job(one, grants.at(1).token, 5s, JobState::failed);
  end_job(other, of_other.at(0).token, 1s);
  EXPECT_EQ(used_by(one), 45'000U);
  EXPECT_EQ(used_by(other), 3'000U);
  EXPECT_EQ(allocation(1).used_core_ms, 0U);
  ASSERT_TRUE(commit([&](auto& tx) { return release_worker(tx, one, kNoon); }).ok());
  EXPECT_EQ(allocation(1).used_core_ms, 45'000U);
  const auto renewals = (*find_worker(wf->tx, other))->renewals;
  ASSERT_TRUE(*commit([&](auto& tx) {
    return expire_worker(tx, other, renewals, kNoon + 1h, 3, EndCause::worker_lost, {},
                         Charge::yes);
  }));
  EXPECT_EQ(allocation(1).used_core_ms, 48'000U);
  EXPECT_EQ(allocation(2).used_core_ms, 0U);
}

TEST_F(AllocationUse, counts_each_attempt_once_and_only_what_the_worker_had) {
  const WorkerEpoch one = join(2);
  const auto grants = claim(one, 1);
  end_job(one, grants.at(0).token, 10s);
  end_job(one, grants.at(0).token, 10s);  // the answer was lost, and it says so again
  EXPECT_EQ(used_by(one), 30'000U);
  const WorkerEpoch other = wf->join();
  const auto of_other = claim(other, 1);
  end_job(one, of_other.at(0).token, 10s);
  EXPECT_EQ(used_by(one), 30'000U);
}

TEST_F(AllocationUse, is_not_counted_where_nobody_asks_and_keeps_nobody_from_leaving) {
  const WorkerEpoch by_hand = wf->join();
  end_job(by_hand, claim(by_hand, 1).at(0).token, 10s);
  EXPECT_EQ(used_by(by_hand), 0U);
  // Of an entry that the ledger does not have.
  const WorkerEpoch odd = join(77);
  end_job(odd, claim(odd, 1).at(0).token, 10s);
  EXPECT_TRUE(commit([&](auto& tx) { return release_worker(tx, odd, kNoon); }).ok());
  // Nothing is lost, and nothing written, by one that had no job.
  const WorkerEpoch idle = join(1);
  const Allocation before = allocation(1);
  EXPECT_TRUE(commit([&](auto& tx) { return release_worker(tx, idle, kNoon); }).ok());
  EXPECT_EQ(allocation(1), before);
}

}  // namespace
}  // namespace torc::claim
