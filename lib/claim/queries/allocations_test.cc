#include "lib/claim/queries/allocations.h"

#include <map>

#include "lib/claim/queries/learned_times.h"
#include "lib/claim/testing/test_allocations.h"
#include "lib/claim/testing/test_gangs.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/set_limit.h"

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

class WorkLeftOf : public WithAllocations {
 protected:
  // Templates of such counts, each of a class of its own: its jobs need 1, 2, … CPUs.
  static Plan in_classes(std::vector<std::uint64_t> counts) {
    std::vector<std::pair<std::uint64_t, std::int32_t>> jobs;
    for (const std::uint64_t count : counts) jobs.emplace_back(count, 0);
    Plan plan = plan_of(jobs);
    plan.classes.clear();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      JobClass c;
      c.need.cpus = static_cast<std::uint32_t>(i + 1);
      plan.classes.push_back(c);
      plan.templates[i].job_class = static_cast<std::uint32_t>(i);
    }
    return plan;
  }
  WorkLeft of(std::uint32_t number) const {
    const auto work = read_work(wf->tx);
    EXPECT_TRUE(work.ok());
    EXPECT_TRUE(work->is_whole);
    for (const WorkLeft& one : work->work)
      if (one.job_class.need.cpus == number) return one;
    return {};
  }
  void expect(std::uint32_t number, std::uint64_t ready, std::uint64_t held, std::uint64_t soon,
              std::uint64_t later) const {
    const WorkLeft work = of(number);
    EXPECT_EQ(work.ready, ready);
    EXPECT_EQ(work.held, held);
    EXPECT_EQ(work.soon, soon);
    EXPECT_EQ(work.later, later);
  }
  void finish_some(std::uint64_t jobs, JobState state = JobState::completed) {
    for (const Grant& g : wf->claim(w(), jobs)) ASSERT_TRUE(wf->finish(w(), g.token, state).ok());
  }
  WorkerEpoch w() {
    if (raw(worker_) == 0) worker_ = wf->join();
    return worker_;
  }

 private:
  WorkerEpoch worker_{};
};

TEST_F(WorkLeftOf, a_sweep_is_ready_then_held_then_done) {
  make(in_classes({5}));
  expect(1, 5, 0, 0, 0);
  const auto grants = wf->claim(w(), 2);
  expect(1, 3, 2, 0, 0);
  wf->start(w(), grants[0].token);
  expect(1, 3, 2, 0, 0);
  ASSERT_TRUE(wf->finish(w(), grants[0].token).ok());
  expect(1, 3, 1, 0, 0);
}

TEST_F(WorkLeftOf, what_is_done_is_of_no_class) {
  make(in_classes({1}));
  finish_some(1);
  EXPECT_TRUE(read_work(wf->tx)->work.empty());
}

TEST_F(WorkLeftOf, a_chain_is_soon_in_its_next_link_alone) {
  Plan plan = in_classes({50, 1, 1, 1});
  plan.dependencies.push_back({{range(1, 50)}, {range(51, 1)}});
  plan.dependencies.push_back({{range(51, 1)}, {range(52, 1)}});
  plan.dependencies.push_back({{range(52, 1)}, {range(53, 1)}});
  make(plan);
  expect(1, 50, 0, 0, 0);
  expect(2, 0, 0, 1, 0);
  expect(3, 0, 0, 0, 1);
  expect(4, 0, 0, 0, 1);
  finish_some(50);
  expect(2, 1, 0, 0, 0);
  expect(3, 0, 0, 1, 0);
  (void)wf->claim(w(), 4);
  expect(2, 0, 1, 0, 0);
  expect(3, 0, 0, 1, 0);
}

TEST_F(WorkLeftOf, what_waits_on_any_condition_is_seen) {
  Plan plan = in_classes({2, 3, 4});
  DependencySet any;
  any.conditional = {{range(1, 2), Condition::afterany}};
  any.members = {range(3, 3)};
  plan.dependencies.push_back(any);
  DependencySet ok;
  ok.conditional = {{range(3, 3), Condition::afterany}};
  ok.members = {range(6, 4)};
  plan.dependencies.push_back(ok);
  make(plan);
  expect(2, 0, 0, 3, 0);
  expect(3, 0, 0, 0, 4);
}

TEST_F(WorkLeftOf, what_can_not_start_any_more_is_none) {
  Plan plan = in_classes({1, 3});
  DependencySet only_if_it_fails;
  only_if_it_fails.conditional = {{range(1, 1), Condition::afternotok}};
  only_if_it_fails.members = {range(2, 3)};
  plan.dependencies.push_back(only_if_it_fails);
  make(plan);
  expect(2, 0, 0, 3, 0);
  finish_some(1);
  EXPECT_EQ(of(2).all(), 0U);
}

TEST_F(WorkLeftOf, what_waits_for_a_person_is_none_nor_is_what_waits_for_that) {
  Plan plan = in_classes({2, 3, 4, 1});
  plan.dependencies.push_back({{range(1, 2)}, {range(3, 3)}});
  plan.dependencies.push_back({{range(3, 3)}, {range(6, 4)}});
  DependencySet any;
  any.conditional = {{range(1, 2), Condition::afterany}};
  any.members = {range(10, 1)};
  plan.dependencies.push_back(any);
  make(plan);
  expect(2, 0, 0, 3, 0);
  expect(3, 0, 0, 0, 4);
  finish_some(1, JobState::failed);
  EXPECT_EQ(of(2).all(), 0U);
  EXPECT_EQ(of(3).all(), 0U);
  expect(4, 0, 0, 1, 0);
}

TEST_F(WorkLeftOf, what_was_held_or_canceled_is_none) {
  Plan plan = in_classes({4, 3});
  plan.dependencies.push_back({{range(1, 4)}, {range(5, 3)}});
  make(plan);
  const std::vector<JobRange> some{range(5, 2)};
  ASSERT_TRUE(commit([&](auto& tx) { return hold_jobs(tx, some); }).ok());
  EXPECT_EQ(of(2).all(), 1U);
  const std::vector<JobRange> first{range(1, 1)};
  ASSERT_TRUE(commit([&](auto& tx) { return hold_jobs(tx, first); }).ok());
  expect(1, 3, 0, 0, 0);
  const std::vector<JobRange> other{range(2, 1), range(7, 1)};
  ASSERT_TRUE(commit([&](auto& tx) { return cancel_jobs(tx, other, kNoon); }).ok());
  expect(1, 2, 0, 0, 0);
  EXPECT_EQ(of(2).all(), 0U);
}

TEST_F(WorkLeftOf, what_waits_for_its_next_attempt_is_soon) {
  Plan plan = in_classes({2});
  RetryRule rule;
  rule.all_exit_codes = true;
  rule.max_retries = 2;
  rule.backoff = 1h;
  plan.handlers.push_back({{rule}, mebibytes(6), 100s});
  plan.templates.front().handler = 1;
  make(plan);
  const auto grants = wf->claim(w(), 1);
  ASSERT_TRUE(wf->finish(w(), grants[0].token, JobState::failed).ok());
  ASSERT_EQ(wf->state(raw(grants[0].token.job)), JobState::delayed);
  expect(1, 1, 0, 1, 0);
}

TEST_F(WorkLeftOf, what_a_limit_holds_back_is_later) {
  Plan plan = in_classes({10, 5});
  Limit limit;
  limit.name = "licenses";
  limit.most = 3;
  plan.limits = {limit};
  plan.classes[0].limits = {{1, 2}};
  plan.classes[1].limits = {{1, 1}};
  make(plan);
  expect(1, 1, 0, 0, 9);
  expect(2, 1, 0, 0, 4);
  (void)wf->claim(w(), 1);
  expect(1, 0, 1, 0, 9);
  expect(2, 1, 0, 0, 4);
}

TEST_F(WorkLeftOf, a_workflow_that_has_failed_too_often_is_what_is_held) {
  Plan plan = in_classes({5, 1});
  plan.dependencies.push_back({{range(1, 5)}, {range(6, 1)}});
  plan.max_failures = 1;
  make(plan);
  const auto grants = wf->claim(w(), 2);
  ASSERT_TRUE(wf->finish(w(), grants[0].token, JobState::failed).ok());
  expect(1, 0, 1, 0, 0);
  EXPECT_EQ(of(2).all(), 0U);
}

TEST_F(WorkLeftOf, a_template_that_learns_runs_as_long_as_it_was_measured) {
  Plan plan = in_classes({60});
  plan.classes[0].need.runtime = 1h;
  plan.classes[0].learns_from = 1;
  make(plan);
  EXPECT_EQ(of(1).job_class.need.runtime, 1h);
  LearnedTime time;
  for (int n = 0; n < 30; ++n) time.add(5s);
  wf->tx.put(Key(Table::learned_time, 1), time.encode());
  EXPECT_EQ(of(1).job_class.need.runtime, *learned_time(wf->tx, read_class(wf->tx, 0)));
  EXPECT_LT(of(1).job_class.need.runtime, 1min);
}

TEST(WorkLeftOfGangs, counts_a_job_once_however_many_nodes_it_has) {
  GangWorkflow wf(Jobs{{.nodes = 2, .count = 3}});
  const auto work = read_work(wf.tx);
  ASSERT_EQ(work->work.size(), 1U);
  EXPECT_EQ(work->work[0].ready, 3U);
}

TEST_F(WorkLeftOf, records_that_can_not_be_read_are_damage_and_never_none) {
  Plan plan = in_classes({3, 2});
  plan.dependencies.push_back({{range(1, 3)}, {range(4, 2)}});
  make(plan);
  (void)wf->claim(w(), 1);
  const std::vector<JobRange> some{range(4, 1)};
  ASSERT_TRUE(commit([&](auto& tx) { return hold_jobs(tx, some); }).ok());
  const auto before = wf->tx.entries;
  for (const char table : {'R', 'V', 'S', 'C'}) {
    for (const auto& [key, value] : before) {
      if (key[0] != table) continue;
      if (table == 'R' || table == 'S') {
        wf->tx.entries.erase(key);
        wf->tx.put(key.substr(0, key.size() - 1), value);
        EXPECT_FALSE(read_work(wf->tx).ok()) << table;
        wf->tx.entries = before;
      }
      wf->tx.put(key, std::string(3, '\xff'));
      EXPECT_FALSE(read_work(wf->tx).ok()) << table;
      wf->tx.entries = before;
    }
  }
}

TEST_F(WorkLeftOf, an_allocation_of_a_scheduler_that_is_none_is_damage) {
  make(in_classes({1}));
  (void)want_some(1, 2);
  EXPECT_TRUE(read_live_allocations(wf->tx).ok());
  wf->tx.entries.erase(std::string(std::string_view(scheduler_key(2))));
  EXPECT_FALSE(read_live_allocations(wf->tx).ok());
  EXPECT_FALSE(read_allocations(wf->tx).ok());
}

}  // namespace
}  // namespace torc::claim
