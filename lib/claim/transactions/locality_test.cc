// Jobs that say out of which groups their pieces come.
#include <gtest/gtest.h>

#include <vector>

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/used_resources.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/override.h"

namespace torc::claim {
namespace {

// Two GPUs that have to be near each other.
JobClass strict_pair() {
  JobClass c;
  c.need.gpus = 2;
  c.need.locality = Locality::strict;
  return c;
}

Plan plan_of_jobs(const JobClass& job_class, std::uint64_t jobs) {
  Plan plan = plan_of({{jobs, 0}});
  plan.classes = {job_class};
  return plan;
}

// Of two NUMA nodes with two GPUs each.
Offer offer_of(const std::vector<bool>& free) {
  Offer o = TestWorkflow::offer(100);
  o.total_gpus = static_cast<std::uint32_t>(free.size());
  for (std::uint32_t i = 0; i < free.size(); ++i) {
    o.pieces.push_back({"gpus", free[i] ? std::uint32_t{kWhole} : 0U, i / 2 + 1});
    if (free[i]) ++o.gpus;
  }
  return o;
}

TEST(LocalityOfClaims, a_strict_job_is_claimed_when_its_pieces_lie_as_near_as_they_have_to) {
  TestWorkflow wf(plan_of_jobs(strict_pair(), 3));
  const WorkerEpoch w = wf.join();
  EXPECT_TRUE(wf.claim(w, offer_of({true, false, false, true})).empty());
  EXPECT_EQ(wf.claim(w, offer_of({true, false, true, true})).size(), 1U);
  EXPECT_EQ(wf.claim(w, offer_of({true, true, true, true})).size(), 2U);
}

TEST(LocalityOfClaims, what_one_that_is_preferred_leaves_counts_for_a_strict_one_behind_it) {
  Plan plan = plan_of({{1, 1}, {2, 0}});
  JobClass one;
  one.need.gpus = 1;
  plan.classes = {one, strict_pair()};
  plan.templates[1].job_class = 1;
  TestWorkflow wf(plan);
  EXPECT_EQ(ids(wf.claim(wf.join(), offer_of({true, true, true, true}))),
            (std::vector<std::uint64_t>{1, 2}))
      << "three are free then, two of them of one group";
}

TEST(LocalityOfClaims, where_a_strict_alternative_does_not_fit_the_next_one_is_taken) {
  JobClass c = strict_pair();
  c.others.emplace_back().need.cpus = 3;
  TestWorkflow wf(plan_of_jobs(c, 2));
  const auto grants = wf.claim(wf.join(), offer_of({true, false, true, true}));
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[0].alternative, 0U);
  EXPECT_EQ(grants[1].alternative, 1U);
}

TEST(LocalityOfClaims, no_strict_job_waits_on_a_worker_for_others_to_end) {
  EXPECT_FALSE(may_be_prefetched(strict_pair()));
  JobClass c = strict_pair();
  c.need.locality = Locality::scatter;
  EXPECT_TRUE(may_be_prefetched(c));
  c = strict_pair();
  c.need.gpus = 1;
  EXPECT_TRUE(may_be_prefetched(c)) << "one is near itself";
}

TEST(LocalityOfClaims, every_worker_that_has_as_many_could_run_a_strict_job) {
  WorkerInfo info;
  info.cpus = 1;
  info.memory = mebibytes(1024);
  info.gpus = 2;
  EXPECT_TRUE(could_fit(strict_pair(), whole_offer(info, kNoon)));
  info.gpus = 1;
  EXPECT_EQ(mismatches_of(strict_pair(), whole_offer(info, kNoon)), mismatch::kGpus);
}

TEST(LocalityOfClaims, is_kept_in_the_store_of_each_alternative) {
  JobClass c = strict_pair();
  c.need.named = {{"fpga", 2000}};
  c.others.emplace_back().need.locality = Locality::scatter;
  c.others.emplace_back().need.cpus = 8;
  const TestWorkflow wf(plan_of_jobs(c, 1));
  EXPECT_EQ(read_class(wf.tx, 0), c);
  for (JobClass bare : {strict_pair(), JobClass{}}) {
    bare.others.emplace_back().need.cpus = 8;
    const TestWorkflow other(plan_of_jobs(bare, 1));
    EXPECT_EQ(read_class(other.tx, 0), bare);
  }
}

TEST(LocalityOfClaims, may_be_set_and_taken_back_while_the_job_waits) {
  TestWorkflow wf(plan_of_jobs(strict_pair(), 1));
  const WorkerEpoch w = wf.join();
  const Offer apart = offer_of({true, false, false, true});
  EXPECT_TRUE(wf.claim(w, apart).empty());
  Setting setting;
  setting.needs["locality"] = static_cast<std::uint64_t>(Locality::preferred);
  ++wf.tx.number;
  const std::vector jobs{range(1, 1)};
  ASSERT_TRUE(set_jobs(wf.tx, jobs, setting).ok());
  wf.check();
  EXPECT_EQ(wf.claim(w, apart).size(), 1U);
}

TEST(UsedByJobs, is_the_sum_of_what_the_jobs_that_a_worker_holds_need) {
  Plan plan = plan_of({{2, 1}, {1, 0}, {1, -1}});
  JobClass typed;
  typed.need.named = {{"gpus/a100", 1000}, {"licence", 500}};
  plan.classes = {strict_pair(), typed};
  plan.templates[1].job_class = 1;
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  Offer o = TestWorkflow::offer(3);
  o.gpus = o.total_gpus = 5;
  for (std::uint32_t i = 0; i < 5; ++i) o.pieces.push_back({i == 4 ? "gpus/a100" : "gpus"});
  o.more.named = o.total_more.named = {{"gpus/a100", 1000, true}, {"licence", 1000}};
  ASSERT_EQ(wf.claim(w, o).size(), 3U);
  const auto used = used_by_jobs_of(wf.tx, w);
  ASSERT_TRUE(used.ok());
  EXPECT_EQ(used->cpus, 3U);
  EXPECT_EQ(used->gpus, 4U);
  EXPECT_EQ(used->named, (Amounts{{"gpus", 5000}, {"gpus/a100", 1000}, {"licence", 500}}));
  EXPECT_EQ(used_by_jobs_of(wf.tx, wf.join())->cpus, 0U);
}

}  // namespace
}  // namespace torc::claim
