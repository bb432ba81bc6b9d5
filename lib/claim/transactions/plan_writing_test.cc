#include "lib/claim/transactions/plan_writing.h"

#include <gtest/gtest.h>

#include "lib/claim/testing/test_allocations.h"
#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

void expect_refused(const Plan& plan, const std::string& part) {
  store::MemoryState tx;
  const auto written = write_plan(tx, plan);
  ASSERT_FALSE(written.ok()) << "accepted; expected: " << part;
  EXPECT_EQ(written.error().kind, ErrorKind::invalid);
  EXPECT_NE(written.error().what.find(part), std::string::npos) << written.error().what;
  EXPECT_TRUE(tx.entries.empty());
}

TEST(Plan, gaps_and_unknown_classes_are_refused) {
  Plan plan = plan_of({{2, 0}, {2, 0}});
  plan.templates[1].first = JobId{4};
  expect_refused(plan, "begins at job 4 where 3 follows");
  plan = plan_of({{2, 0}});
  plan.templates[0].job_class = 1;
  expect_refused(plan, "names class 1 of 1");
  expect_refused(plan_of({{0, 0}}), "has no jobs");
}

TEST(Plan, dependencies_on_jobs_that_do_not_exist_are_refused) {
  for (const JobRange& bad :
       {range(0, 1), range(2, 2), range(1, 0), range(3, 1), range(1, UINT64_MAX)}) {
    Plan plan = plan_of({{2, 0}});
    plan.dependencies.push_back({{bad}, {range(2, 1)}});
    expect_refused(plan, "a dependency names jobs");
  }
}

TEST(Plan, a_job_in_two_dependency_sets_is_refused) {
  Plan plan = plan_of({{9, 0}});
  plan.dependencies.push_back({{range(1, 1)}, {range(5, 3)}});
  plan.dependencies.push_back({{range(2, 1)}, {range(7, 1)}});
  expect_refused(plan, "job 7 is named twice");
}

TEST(Plan, a_range_twice_upstream_of_one_set_is_refused_but_of_two_it_is_not) {
  Plan plan = plan_of({{9, 0}});
  plan.dependencies.push_back({{range(1, 3), range(2, 1)}, {range(5, 1)}});
  expect_refused(plan, "job 2 is named twice");
  plan = plan_of({{9, 0}});
  plan.dependencies.push_back({{range(1, 3)}, {range(5, 1)}});
  plan.dependencies.push_back({{range(2, 1)}, {range(6, 1)}});
  TestWorkflow sound(plan);
}

TEST(Plan, a_set_that_waits_for_nothing_holds_nobody_back) {
  Plan plan = plan_of({{3, 0}});
  plan.dependencies.push_back({{}, {range(2, 1)}});
  plan.dependencies.push_back({{range(1, 1)}, {}});
  TestWorkflow wf(plan);
  EXPECT_EQ(wf.state(2), JobState::ready);
}

TEST(Plan, alike_jobs_of_many_entries_share_one_span_and_one_queue_entry) {
  std::vector<std::pair<std::uint64_t, std::int32_t>> entries(1000, {1, 0});
  store::MemoryState tx;
  ASSERT_TRUE(write_plan(tx, plan_of(entries)).ok());
  std::uint64_t ready = 0;
  tx.scan_prefix("R", [&](const store::Entry&) { return ++ready > 0; });
  EXPECT_EQ(ready, 1U);
}

TEST(Plan, what_was_planned_is_read_back) {
  Plan plan = plan_of({{3, 7}, {1, -2}, {1, 0}});
  plan.name = "wf";
  plan.settings = std::string("\0binary", 7);
  plan.classes[0].need = {2, 1, 3, mebibytes(9), std::chrono::seconds(60)};
  plan.classes[0].scheduler = "s";
  plan.classes[0].labels = "l";
  plan.templates[1].name_hash = plan.templates[2].name_hash = 77;
  TestWorkflow wf(plan);
  EXPECT_EQ(read_workflow(wf.tx)->name, "wf");
  EXPECT_EQ(read_workflow(wf.tx)->settings, plan.settings);
  EXPECT_EQ(read_workflow(wf.tx)->jobs, 5U);
  EXPECT_EQ(read_class(wf.tx, 0), plan.classes[0]);
  const auto t = read_template(wf.tx, JobId{3});
  ASSERT_TRUE(t);
  EXPECT_EQ(t->first, JobId{1});
  EXPECT_EQ(t->count, 3U);
  EXPECT_EQ(t->priority, 7);
  EXPECT_EQ(t->recipe, "recipe of 1");
  EXPECT_EQ(read_template(wf.tx, JobId{4})->priority, -2);
  EXPECT_FALSE(read_template(wf.tx, JobId{6}));
  EXPECT_FALSE(read_template(wf.tx, JobId{0}));
  EXPECT_EQ(*find_by_name_hash(wf.tx, 77), (std::vector{JobId{4}, JobId{5}}));
  EXPECT_TRUE(find_by_name_hash(wf.tx, 78)->empty());
  std::vector<JobId> sweeps;
  EXPECT_TRUE(
      scan_sweeps(wf.tx, [&](const Template& s) { return sweeps.push_back(s.first), true; }).ok());
  EXPECT_EQ(sweeps, std::vector{JobId{1}});
}

TEST(Plan, a_store_without_a_workflow_says_so) {
  store::MemoryState tx;
  EXPECT_EQ(read_workflow(tx).error().kind, ErrorKind::not_found);
}

// What was said and found out since a person looked is not what the file says.
TEST(Terms, of_schedulers_leave_what_has_happened_to_them) {
  Plan plan = plan_of({{1, 0}});
  plan.schedulers = {managed("gone"), managed("one"), managed("told_off")};
  plan.schedulers[1].node.cpus = 0;
  TestWorkflow wf(plan);
  Scheduler found = plan.schedulers[1];
  found.node.cpus = 64;
  found.not_from_here = true;
  wf.tx.put(scheduler_key(2), encode(found));
  ASSERT_TRUE(tell_off(wf.tx, 3).ok());
  Scheduler one = plan.schedulers[1];
  Scheduler told_off = plan.schedulers[2];
  one.nodes = told_off.nodes = 9;
  WorkflowTerms terms;
  terms.schedulers = {told_off, managed("new"), one};
  ++wf.tx.number;
  ASSERT_TRUE(replace_terms(wf.tx, terms).ok());
  wf.check();
  const auto all = read_schedulers(wf.tx);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 4U);
  EXPECT_EQ((*all)[0], plan.schedulers[0]);
  found.nodes = 9;
  EXPECT_EQ((*all)[1], found);
  EXPECT_EQ((*all)[2].nodes, 9U);
  EXPECT_FALSE((*all)[2].is_managed) << "a person stopped it";
  EXPECT_EQ((*all)[3], managed("new"));
  ASSERT_TRUE(manage(wf.tx, 3, true).ok());
  terms.schedulers = {managed("told_off")};
  ASSERT_TRUE(replace_terms(wf.tx, terms).ok());
  EXPECT_TRUE((*read_schedulers(wf.tx))[2].is_managed);
}

TEST(Plan, of_more_jobs_than_a_workflow_can_have_is_not_written) {
  store::MemoryState tx;
  const auto written = write_plan(tx, plan_of({{kMaxJobs, 0}, {1, 0}}));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::invalid);
  EXPECT_TRUE(write_plan(tx, plan_of({{kMaxJobs, 0}})).ok());
}

}  // namespace
}  // namespace torc::claim
