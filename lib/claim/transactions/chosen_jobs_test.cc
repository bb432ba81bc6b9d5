// Workers that take some jobs alone, and what these need.
#include "lib/claim/queries/chosen_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

using Ids = std::vector<std::uint64_t>;
using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Ranges plain(const std::vector<JobRange>& ranges) {
  Ranges all;
  for (const JobRange& r : ranges) all.emplace_back(raw(r.first), r.count);
  return all;
}

Offer offer_for(std::vector<JobRange> jobs, std::uint64_t most, std::uint64_t prefetch = 0) {
  Offer offer = TestWorkflow::offer(most);
  offer.prefetch = prefetch;
  offer.only = std::make_shared<const std::vector<JobRange>>(std::move(jobs));
  return offer;
}

Exchange asking(WorkerEpoch worker, Offer offer) {
  Exchange request;
  request.worker = worker;
  request.now = kNoon;
  request.offer = std::move(offer);
  return request;
}

// 1..10 make what 11..20 need one by one; 21 needs all of those, 22 runs where 21 fails; 23..30 are
// for themselves.
Plan plan_of_stages() {
  Plan plan = plan_of({{10, 0}, {10, 0}, {1, 0}, {1, 0}, {8, 5}});
  for (std::uint64_t i = 1; i <= 10; ++i)
    plan.dependencies.push_back({{range(i, 1)}, {range(10 + i, 1)}});
  plan.dependencies.push_back({{range(11, 10)}, {range(21, 1)}});
  DependencySet handler{{}, {range(22, 1)}};
  handler.conditional.push_back({range(21, 1), Condition::afternotok});
  plan.dependencies.push_back(handler);
  return plan;
}

TEST(ChosenJobs, come_with_all_that_they_wait_for) {
  const TestWorkflow wf{plan_of_stages()};
  const auto closure = [&](const std::vector<JobRange>& jobs) {
    const auto all = with_upstreams(wf.tx, jobs);
    EXPECT_TRUE(all.ok()) << all.error().text();
    return all ? plain(*all) : Ranges{};
  };
  EXPECT_EQ(closure({range(23, 2)}), (Ranges{{23, 2}}));
  EXPECT_EQ(closure({range(13, 1)}), (Ranges{{3, 1}, {13, 1}}));
  EXPECT_EQ(closure({range(19, 2), range(12, 1), range(12, 2)}),
            (Ranges{{2, 2}, {9, 2}, {12, 2}, {19, 2}}));
  EXPECT_EQ(closure({range(21, 1)}), (Ranges{{1, 21}}));
  EXPECT_EQ(closure({range(22, 1), range(30, 1)}), (Ranges{{1, 22}, {30, 1}}));
  EXPECT_EQ(closure({}), Ranges{});
}

TEST(ChosenJobs, alone_are_granted_also_from_the_middle_of_a_queue_and_by_priority) {
  TestWorkflow wf{plan_of({{100, 0}, {100, 3}})};
  const WorkerEpoch w = wf.join();
  const std::vector<JobRange> some{range(50, 2), range(90, 20), range(150, 1)};
  EXPECT_EQ(ids(wf.claim(w, offer_for(some, 4))), (Ids{101, 102, 103, 104}));
  EXPECT_EQ(ids(wf.claim(w, offer_for(some, 8))), (Ids{105, 106, 107, 108, 109, 150, 50, 51}));
  // What it may hold for later are such jobs, too.
  EXPECT_EQ(ids(wf.claim(w, offer_for(some, 2, 4))), (Ids{90, 91, 92, 93, 94, 95}));
  EXPECT_EQ(ids(wf.claim(w, offer_for(some, 64))), (Ids{96, 97, 98, 99, 100}));
  EXPECT_TRUE(wf.claim(w, offer_for(some, 64)).empty());
  // The others are all there for a worker that takes everything.
  Ids rest = ids(wf.claim(wf.join(1024), 1000));
  std::sort(rest.begin(), rest.end());
  EXPECT_EQ(rest.size(), 200U - 23U);
  EXPECT_EQ(rest.front(), 1U);
  EXPECT_FALSE(std::binary_search(rest.begin(), rest.end(), 50));
}

TEST(ChosenJobs, are_found_in_the_queues_of_many_classes_whose_order_is_kept) {
  Plan plan = plan_of({});
  plan.classes.clear();
  for (std::uint64_t i = 0; i < 40; ++i) {
    plan.classes.emplace_back().need.memory = mebibytes(i + 1);
    Template& t = plan.templates.emplace_back();
    t.first = JobId{10 * i + 1};
    t.count = 10;
    t.job_class = static_cast<std::uint32_t>(i);
    t.recipe = "recipe";
  }
  TestWorkflow wf{plan};
  ASSERT_TRUE(State(wf.tx).tally().ordered);
  const WorkerEpoch w = wf.join();
  const std::vector<JobRange> some{range(1, 1), range(15, 10), range(400, 1)};
  EXPECT_EQ(ids(wf.claim(w, offer_for(some, 5))), (Ids{1, 15, 16, 17, 18}));
  EXPECT_EQ(ids(wf.claim(w, offer_for(some, 64))), (Ids{19, 20, 21, 22, 23, 24, 400}));
  EXPECT_EQ(ids(wf.claim(w, 4)), (Ids{2, 3, 4, 5}));
}

TEST(ChosenJobs, that_do_not_fit_are_passed_over_for_others_of_them) {
  Plan plan = plan_of({{4, 0}, {4, 0}});
  plan.classes.emplace_back().need.cpus = 8;
  plan.templates[0].job_class = 1;
  TestWorkflow wf{plan};
  EXPECT_EQ(ids(wf.claim(wf.join(4), offer_for({range(2, 4)}, 4))), (Ids{5}));
}

TEST(ChosenJobs, are_open_while_one_may_yet_run_without_a_person) {
  TestWorkflow wf{plan_of_stages()};
  const WorkerEpoch w = wf.join();
  const WorkerEpoch other = wf.join();
  const std::vector<JobRange> some{range(3, 1), range(13, 1)};
  const auto open = [&] {
    const auto answer = wf.say(asking(w, offer_for(some, 4)));
    EXPECT_TRUE(answer.ok() && answer->grants.empty() && answer->open);
    return answer && answer->open ? *answer->open : OpenJobs{};
  };
  // The other one has what has the highest priority, and then 1 to 5.
  const auto taken = wf.claim(other, 13);
  ASSERT_EQ(ids(taken).back(), 5U);
  EXPECT_EQ(open().at_work, 1U);
  EXPECT_EQ(open().ready, 0U);
  ASSERT_TRUE(wf.finish(other, taken[10].token, JobState::failed).ok());
  EXPECT_EQ(open().at_work + open().ready + open().delayed, 0U);
  const auto counts = count_jobs(wf.tx, some);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ((*counts)[static_cast<std::size_t>(JobState::failed)], 1U);
  EXPECT_EQ((*counts)[static_cast<std::size_t>(JobState::canceled)] +
                (*counts)[static_cast<std::size_t>(JobState::blocked)],
            1U);
  // What is to run again when its worker has ended it is not over.
  ++wf.tx.number;
  ASSERT_TRUE(reset_jobs(wf.tx, std::vector{range(4, 1)}, Force::yes, kNoon).ok());
  ASSERT_EQ(wf.state(4), JobState::canceled);
  const auto waits = wf.say(asking(w, offer_for({range(4, 1)}, 4)));
  ASSERT_TRUE(waits.ok() && waits->open);
  EXPECT_EQ(waits->open->at_work, 1U);
  // It says nothing of it where it granted something, nor to who takes all.
  const auto granted = wf.say(asking(w, offer_for({range(6, 1)}, 4)));
  ASSERT_TRUE(granted.ok());
  EXPECT_EQ(ids(granted->grants), (Ids{6}));
  EXPECT_FALSE(granted->open.has_value());
}

}  // namespace
}  // namespace torc::claim
