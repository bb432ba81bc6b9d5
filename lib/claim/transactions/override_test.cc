#include "lib/claim/transactions/override.h"

#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

class Override : public testing::Test {
 protected:
  explicit Override(std::uint64_t jobs = 10) : wf(plan_of({{jobs, 0}})), worker(wf.join()) {}

  Change set(JobRange jobs, const Setting& setting) {
    ++wf.tx.number;
    auto change = set_jobs(wf.tx, {&jobs, 1}, setting);
    EXPECT_TRUE(change.ok());
    wf.check();
    return change.ok() ? *std::move(change) : Change{};
  }
  static Setting priority(std::int32_t p) {
    Setting s;
    s.priority = p;
    return s;
  }
  static Setting cpus(std::uint32_t n) {
    Setting s;
    s.needs["cpus"] = n;
    return s;
  }
  [[nodiscard]] std::uint64_t entries(Table table) const {
    std::uint64_t n = 0;
    wf.tx.scan_prefix(Key(table), [&](const store::Entry&) { return ++n > 0; });
    return n;
  }

  TestWorkflow wf;
  WorkerEpoch worker;
};

TEST_F(Override, a_job_in_the_middle_of_a_sweep_can_go_first) {
  EXPECT_EQ(set(range(5, 2), priority(9)).total(), 2U);
  EXPECT_EQ(ids(wf.claim(worker, 4)), (std::vector<std::uint64_t>{5, 6, 1, 2}));
}

TEST(Setting, a_number_of_gpus_takes_the_place_of_a_part_or_a_type_and_the_other_way_round) {
  JobClass c;
  c.need.named = {{"gpus/a100", 2000}, {"port", 1000}};
  Setting s;
  s.needs["gpus"] = 3;
  c = s.applied_to(c);
  EXPECT_EQ(c.need.gpus, 3U);
  EXPECT_EQ(c.need.named, (Amounts{{"port", 1000}}));
  Setting part;
  part.named = {{"gpus", 250}};
  c = part.applied_to(c);
  EXPECT_EQ(c.need.gpus, 0U);
  EXPECT_EQ(c.need.named, (Amounts{{"gpus", 250}, {"port", 1000}}));
}

TEST(Setting, an_amount_takes_the_place_of_what_was_asked_of_that_name_and_its_types) {
  JobClass c;
  c.need.gpus = 2;
  c.need.named = {{"fpga/x", 2000}, {"port", 1000}};
  Setting s;
  s.named = {{"fpga", 3000}, {"gpus/t4", 1000}, {"port", 0}};
  c = s.applied_to(c);
  EXPECT_EQ(c.need.gpus, 0U);
  EXPECT_EQ(c.need.named, (Amounts{{"fpga", 3000}, {"gpus/t4", 1000}}));
  Setting gone;
  gone.named = {{"gpus/t4", 0}};
  EXPECT_EQ(gone.applied_to(c).need.named, (Amounts{{"fpga", 3000}}));
  EXPECT_EQ(gone.applied_to(JobClass{}), JobClass{});
}

TEST_F(Override, more_names_than_a_job_can_have_are_refused_and_change_nothing) {
  Setting s;
  for (std::size_t i = 0; i <= kMostNamed; ++i)
    set_amount(s.named, {"n" + std::to_string(i), 1000});
  ++wf.tx.number;
  const JobRange one = range(1, 1);
  const auto before = wf.tx.entries;
  const auto change = set_jobs(wf.tx, {&one, 1}, s);
  ASSERT_FALSE(change.ok());
  EXPECT_NE(change.error().what.find("more than 32 named resources"), std::string::npos);
  EXPECT_EQ(wf.tx.entries, before);
}

TEST_F(Override, what_is_so_already_is_left_alone) {
  EXPECT_EQ(set(range(1, 10), priority(0)).total(), 0U);
  set(range(3, 1), priority(9));
  const Change again = set(range(3, 1), priority(9));
  EXPECT_EQ(again.total(), 0U);
  EXPECT_EQ(again.left[static_cast<std::size_t>(JobState::ready)], 1U);
}

TEST_F(Override, a_job_that_is_as_its_template_again_has_no_record) {
  set(range(3, 4), priority(9));
  EXPECT_EQ(entries(Table::own_rank), 4U);
  set(range(1, 10), priority(0));
  EXPECT_EQ(entries(Table::own_rank), 0U);
  EXPECT_EQ(entries(Table::ready), 1U);
}

TEST_F(Override, equal_needs_share_a_class_and_come_back_to_their_old_one) {
  set(range(1, 2), cpus(4));
  set(range(7, 2), cpus(4));
  EXPECT_EQ(entries(Table::job_class), 2U);
  set(range(1, 2), cpus(1));
  EXPECT_EQ(read_rank(wf.tx, JobId{1})->job_class, 0U);
  EXPECT_EQ(entries(Table::job_class), 2U);
}

TEST_F(Override, a_job_that_needs_more_is_passed_over_by_a_worker_that_has_less) {
  set(range(1, 1), cpus(3));
  EXPECT_EQ(ids(wf.claim(worker, 2)), (std::vector<std::uint64_t>{2, 3}));
  const auto grants = wf.claim(worker, 3);
  EXPECT_EQ(ids(grants), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(read_class(wf.tx, grants.at(0).job_class).need.cpus, 3U);
}

TEST_F(Override, a_running_attempt_keeps_what_it_has_and_the_next_has_the_new) {
  const auto grant = wf.claim(worker, 1).at(0);
  wf.start(worker, grant.token);
  EXPECT_EQ(set(range(1, 1), cpus(2)).total(), 1U);
  EXPECT_EQ(wf.state(1), JobState::running);
  ASSERT_TRUE(wf.finish(worker, grant.token, JobState::ready).ok());
  const auto next = wf.claim(worker, 2).at(0);
  EXPECT_EQ(raw(next.token.job), 1U);
  EXPECT_EQ(read_class(wf.tx, next.job_class).need.cpus, 2U);
}

TEST_F(Override, completed_jobs_are_left_alone) {
  ASSERT_TRUE(wf.finish(worker, wf.claim(worker, 1).at(0).token).ok());
  EXPECT_EQ(set(range(1, 1), cpus(7)).total(), 0U);
  EXPECT_EQ(entries(Table::job_class), 1U);
}

TEST(OverrideOfBlockedJobs, goes_with_them_when_their_barrier_opens) {
  Plan plan = plan_of({{1, 0}, {9, 0}});
  plan.dependencies.push_back({{range(1, 1)}, {range(2, 9)}});
  TestWorkflow wf(plan);
  const WorkerEpoch worker = wf.join();
  const JobRange some = range(4, 2);
  Setting first;
  first.priority = 1;
  ASSERT_TRUE(set_jobs(wf.tx, {&some, 1}, first).ok());
  const JobRange end = range(10, 1);
  ASSERT_TRUE(set_jobs(wf.tx, {&end, 1}, first).ok());
  wf.check();
  ASSERT_TRUE(wf.finish(worker, wf.claim(worker, 1).at(0).token).ok());
  EXPECT_EQ(ids(wf.claim(worker, 9)), (std::vector<std::uint64_t>{4, 5, 10, 2, 3, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace torc::claim
