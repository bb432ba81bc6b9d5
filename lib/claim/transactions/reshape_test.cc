#include "lib/claim/transactions/reshape.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/claim/queries/queries.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/override.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

Result<Template> some_of(const Template& of, std::uint64_t from, std::uint64_t count) {
  Template part = of;
  part.first = JobId{raw(of.first) + from};
  part.count = count;
  part.recipe = of.recipe + " from " + std::to_string(from);
  return part;
}

// 1 to 4 a sweep, 5 waits for it, 6 for 5.
class ReshapeTest : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{4, 0}, {1, 0}, {1, 0}});
    plan.dependencies.push_back({{range(1, 4)}, {range(5, 1)}});
    plan.dependencies.push_back({{range(5, 1)}, {range(6, 1)}});
    return plan;
  }
  // Nothing but what is changed by the test.
  static Reshape nothing() {
    Reshape what;
    what.plan.classes = {JobClass{}};
    return what;
  }
  Template entry(std::uint64_t first, std::uint64_t count) {
    Template t;
    t.first = JobId{first};
    t.count = count;
    t.recipe = "new";
    return t;
  }
  Reshaped apply(const Reshape& what) {
    ++wf.tx.number;
    Origin origin;
    origin.at = kNoon;
    const auto done = reshape(wf.tx, what, some_of, origin);
    EXPECT_TRUE(done.ok()) << done.error().text();
    wf.check();
    return done ? *done : Reshaped{};
  }
  void run_ready(std::uint64_t jobs = 9) {
    for (const Grant& g : wf.claim(worker, jobs)) EXPECT_TRUE(wf.finish(worker, g.token).ok());
  }
  void out_and_in(const std::vector<JobRange>& jobs) {
    Reshape what = nothing();
    what.removed = jobs;
    (void)apply(what);
    for (const JobRange& r : jobs) EXPECT_TRUE(is_removed(wf.tx, r.first));
    what = nothing();
    what.returned = jobs;
    (void)apply(what);
  }
  std::vector<JobState> states() {
    std::vector<JobState> out;
    for (std::uint64_t id = 1; id <= 6; ++id) out.push_back(wf.state(id));
    return out;
  }

  static constexpr auto R = JobState::ready;
  static constexpr auto B = JobState::blocked;
  static constexpr auto C = JobState::completed;

  TestWorkflow wf{plan()};
  WorkerEpoch worker = wf.join();
};

TEST_F(ReshapeTest, nothing_changes_nothing) {
  const auto before = wf.tx.entries;
  (void)apply(nothing());
  EXPECT_EQ(wf.tx.entries, before);
}

TEST_F(ReshapeTest, a_part_of_an_entry_becomes_one_of_its_own) {
  Reshape what = nothing();
  Template t = entry(2, 2);
  t.priority = 5;
  what.entries = {t};
  (void)apply(what);
  EXPECT_EQ(read_template(wf.tx, JobId{1})->count, 1U);
  EXPECT_EQ(read_template(wf.tx, JobId{3})->recipe, "new");
  EXPECT_EQ(read_template(wf.tx, JobId{4})->recipe, "recipe of 1 from 1 from 2");
  EXPECT_EQ(ids(wf.claim(worker, 9)), (std::vector<std::uint64_t>{2, 3, 1, 4}));
}

TEST_F(ReshapeTest, parts_become_one_entry_again) {
  Reshape what = nothing();
  what.entries = {entry(2, 2)};
  (void)apply(what);
  what.entries = {entry(1, 4)};
  (void)apply(what);
  EXPECT_EQ(read_template(wf.tx, JobId{4})->first, JobId{1});
  EXPECT_EQ(read_template(wf.tx, JobId{4})->count, 4U);
}

TEST_F(ReshapeTest, another_class_is_that_of_all_that_wait) {
  ASSERT_TRUE(set_jobs(wf.tx, std::vector{range(2, 1)},
                       [] {
                         Setting setting;
                         setting.priority = 9;
                         return setting;
                       }())
                  .ok());
  Reshape what = nothing();
  what.plan.classes[0].need.cpus = 3;
  what.entries = {entry(1, 4)};
  (void)apply(what);
  EXPECT_EQ(states(), (std::vector{R, R, R, R, B, B}));
  const auto grants = wf.claim(worker, 7);
  EXPECT_EQ(ids(grants), (std::vector<std::uint64_t>{1, 2})) << "three CPUs each, and no priority";
}

TEST_F(ReshapeTest, who_waits_for_nothing_any_more_is_ready) {
  Reshape what = nothing();
  what.unbound = {range(5, 1)};
  (void)apply(what);
  EXPECT_EQ(states(), (std::vector{R, R, R, R, R, B}));
  EXPECT_FALSE(wf.tx.get(Key(Table::barrier, 1))) << "nobody waits behind it";
  run_ready();
  EXPECT_EQ(states(), (std::vector{C, C, C, C, C, R}));
}

TEST_F(ReshapeTest, what_completed_and_waits_for_a_new_job_runs_again_after_it) {
  for (int stage = 0; stage < 3; ++stage) run_ready();
  Reshape what = nothing();
  what.plan.templates = {entry(7, 1)};
  what.plan.dependencies = {{{range(1, 4), range(7, 1)}, {range(5, 1)}}};
  const Reshaped done = apply(what);
  EXPECT_EQ(done.added.count, 1U);
  EXPECT_EQ(done.again.changed[static_cast<std::size_t>(C)], 2U);
  EXPECT_EQ(states(), (std::vector{C, C, C, C, B, B}));
  EXPECT_EQ(wf.state(7), R);
  for (int stage = 0; stage < 3; ++stage) run_ready();
  EXPECT_TRUE(read_workflow(wf.tx)->all_completed());
}

TEST_F(ReshapeTest, a_job_at_work_keeps_its_entry_and_what_it_waits_for) {
  run_ready();
  const auto grants = wf.claim(worker, 1);
  ASSERT_EQ(ids(grants), std::vector<std::uint64_t>{5});
  Reshape what = nothing();
  what.plan.templates = {entry(7, 1)};
  what.plan.dependencies = {{{range(7, 1)}, {range(5, 1)}}};
  what.entries = {entry(5, 1)};
  const Reshaped done = apply(what);
  ASSERT_EQ(done.kept.size(), 1U);
  EXPECT_EQ(done.kept[0].first, JobId{5});
  EXPECT_EQ(read_template(wf.tx, JobId{5})->recipe, "recipe of 5");
  EXPECT_TRUE(wf.finish(worker, grants[0].token).ok());
  EXPECT_EQ(wf.state(6), R);
}

// It would have run by what it was.
TEST_F(ReshapeTest, a_job_at_work_that_runs_again_does_so_by_what_is_said_now) {
  run_ready();
  const auto grants = wf.claim(worker, 1);
  ASSERT_EQ(ids(grants), std::vector<std::uint64_t>{5});
  Reshape what = nothing();
  what.plan.classes[0].need.cpus = 2;
  what.entries = {entry(1, 1), entry(5, 1)};
  what.stale = {range(1, 1)};
  const Reshaped done = apply(what);
  EXPECT_TRUE(done.kept.empty());
  EXPECT_EQ(done.again.ending, 1U);
  EXPECT_EQ(read_template(wf.tx, JobId{5})->recipe, "new");
  EXPECT_TRUE(wf.finish(worker, grants[0].token, JobState::failed).ok());
  EXPECT_EQ(states(), (std::vector{R, C, C, C, B, B}));
}

TEST_F(ReshapeTest, what_is_removed_does_not_run_and_comes_back) {
  Reshape what = nothing();
  what.removed = {range(3, 2)};
  what.plan.dependencies = {{{range(1, 2)}, {range(5, 1)}}};
  (void)apply(what);
  EXPECT_TRUE(is_removed(wf.job(3)));
  EXPECT_TRUE(is_removed(wf.tx, JobId{4}));
  for (int stage = 0; stage < 3; ++stage) run_ready();
  EXPECT_TRUE(read_workflow(wf.tx)->all_completed());
  const std::vector<JobRange> all = {range(1, 6)};
  ASSERT_TRUE(retry_jobs(wf.tx, all).ok());
  ASSERT_TRUE(reset_jobs(wf.tx, all, Force::no, kNoon).ok());
  wf.check();
  EXPECT_TRUE(is_removed(wf.job(3))) << "nobody but the file brings it back";
  what = nothing();
  what.returned = {range(3, 2)};
  what.plan.dependencies = {{{range(1, 4)}, {range(5, 1)}}};
  (void)apply(what);
  EXPECT_EQ(states(), (std::vector{R, R, R, R, B, B}));
}

TEST_F(ReshapeTest, what_completed_and_is_removed_stays_until_what_it_was_made_of_runs_again) {
  for (int stage = 0; stage < 2; ++stage) run_ready();
  Reshape what = nothing();
  what.removed = {range(5, 2)};
  (void)apply(what);
  EXPECT_EQ(wf.state(5), C);
  EXPECT_TRUE(is_removed(wf.job(6)));
  what = nothing();
  what.stale = {range(1, 1)};
  (void)apply(what);
  EXPECT_TRUE(is_removed(wf.job(5))) << "its result counts no more";
  run_ready();
  EXPECT_TRUE(read_workflow(wf.tx)->all_completed());
}

TEST_F(ReshapeTest, a_job_at_work_is_ended_when_it_is_removed) {
  const auto grants = wf.claim(worker, 1);
  Reshape what = nothing();
  what.removed = {range(1, 1)};
  const Reshaped done = apply(what);
  EXPECT_EQ(done.removed.ending, 1U);
  EXPECT_TRUE(wf.finish(worker, grants[0].token).ok());
  EXPECT_TRUE(is_removed(wf.job(1)));
  EXPECT_EQ(wf.job(1).revoked, Revoked::no);
}

TEST_F(ReshapeTest, a_limit_is_what_the_file_says_but_where_a_person_has_said_more) {
  Reshape what = nothing();
  what.plan.limits = {Limit{"licence", 2, LimitKind::named}};
  what.plan.classes[0].limits = {{1, 1}};
  what.entries = {entry(1, 4)};
  (void)apply(what);
  EXPECT_EQ(wf.claim(worker, 9).size(), 2U);
  what.entries.clear();
  what.plan.limits[0].most = 3;
  (void)apply(what);
  EXPECT_EQ(wf.claim(worker, 9).size(), 1U);
}

// It is ended, but its worker has not said so: what it takes is that of its new class.
TEST_F(ReshapeTest, a_limit_that_begins_counts_what_is_being_ended) {
  const auto grants = wf.claim(worker, 2);
  const std::vector<JobRange> first = {range(1, 1)};
  ++wf.tx.number;
  ASSERT_TRUE(cancel_jobs(wf.tx, first, kNoon).ok());
  Reshape what = nothing();
  what.plan.limits = {Limit{"licence", 2, LimitKind::named}};
  what.plan.classes[0].limits = {{1, 1}};
  what.entries = {entry(1, 4)};
  what.stale = {range(2, 1)};
  (void)apply(what);
  EXPECT_TRUE(wf.claim(worker, 9).empty()) << "two of two are taken";
  for (const Grant& g : grants) EXPECT_TRUE(wf.finish(worker, g.token, JobState::failed).ok());
  EXPECT_EQ(wf.claim(worker, 9).size(), 2U);
  what = nothing();
  what.entries = {entry(1, 4)};
  (void)apply(what);
}

// What had tried before, and waits for another one now.
TEST_F(ReshapeTest, what_has_tried_and_gets_a_closed_barrier_begins_anew) {
  for (const bool held : {false, true}) {
    wf = TestWorkflow(plan());
    worker = wf.join();
    const auto grants = wf.claim(worker, 1);
    ASSERT_TRUE(wf.finish(worker, grants[0].token, JobState::ready).ok());
    if (held) {
      ++wf.tx.number;
      ASSERT_TRUE(hold_jobs(wf.tx, std::vector{range(1, 1)}).ok());
    }
    Reshape what = nothing();
    what.plan.templates = {entry(7, 1)};
    what.plan.dependencies = {{{range(7, 1)}, {range(1, 1)}}};
    (void)apply(what);
    EXPECT_EQ(wf.state(1), held ? JobState::held : B);
    EXPECT_EQ(wf.job(1).forgiven, wf.job(1).attempt);
  }
}

// 2 waits for 1 to fail, which it did not; 3 is new and waits for 2, which gets a further
// condition.
TEST_F(ReshapeTest, nobody_is_passed_over_for_what_waits_again) {
  Plan plan = plan_of({{1, 0}, {1, 0}});
  plan.dependencies.push_back({{}, {range(2, 1)}, {{range(1, 1), Condition::afternotok}}});
  wf = TestWorkflow(plan);
  worker = wf.join();
  run_ready();
  ASSERT_TRUE(is_passed_over(wf.job(2)));
  Reshape what = nothing();
  what.plan.templates = {entry(3, 1), entry(4, 1)};
  what.plan.dependencies = {{{range(2, 1)}, {range(3, 1)}},
                            {{range(4, 1)}, {range(2, 1)}, {{range(1, 1), Condition::afternotok}}}};
  (void)apply(what);
  EXPECT_TRUE(is_passed_over(wf.job(2))) << "one of its conditions cannot come true";
  EXPECT_TRUE(is_passed_over(wf.job(3)));
  EXPECT_NE(raw(wf.job(3).outcome.because), 0U);
}

TEST_F(ReshapeTest, what_was_held_or_canceled_comes_back_so) {
  ++wf.tx.number;
  ASSERT_TRUE(hold_jobs(wf.tx, std::vector{range(1, 1)}).ok());
  ++wf.tx.number;
  ASSERT_TRUE(cancel_jobs(wf.tx, std::vector{range(2, 1)}, kNoon).ok());
  Reshape what = nothing();
  what.removed = {range(1, 3)};
  (void)apply(what);
  what = nothing();
  what.returned = {range(1, 3)};
  (void)apply(what);
  EXPECT_EQ(wf.state(1), JobState::held);
  EXPECT_EQ(wf.state(2), JobState::canceled);
  EXPECT_FALSE(is_removed(wf.job(2)));
  EXPECT_EQ(wf.state(3), R);
}

// One that has lost its worker, and was not forgiven that.
TEST_F(ReshapeTest, what_was_held_after_an_attempt_comes_back_held) {
  const auto grants = wf.claim(worker, 1);
  ASSERT_TRUE(wf.finish(worker, grants[0].token, JobState::ready).ok());
  ++wf.tx.number;
  ASSERT_TRUE(hold_jobs(wf.tx, std::vector{range(1, 1)}).ok());
  ASSERT_NE(wf.job(1).attempt, wf.job(1).forgiven);
  out_and_in({range(1, 1)});
  EXPECT_EQ(wf.state(1), JobState::held);
  EXPECT_EQ(wf.job(1).forgiven, wf.job(1).attempt) << "what it has tried is forgotten";
}

TEST_F(ReshapeTest, a_canceled_job_that_is_being_ended_comes_back_canceled) {
  const auto grants = wf.claim(worker, 1);
  ++wf.tx.number;
  ASSERT_TRUE(cancel_jobs(wf.tx, std::vector{range(1, 1)}, kNoon).ok());
  const Job before = wf.job(1);
  out_and_in({range(1, 1)});
  EXPECT_EQ(wf.job(1), before);
  EXPECT_TRUE(wf.finish(worker, grants[0].token, JobState::failed).ok());
  EXPECT_EQ(wf.job(1).outcome.cause, EndCause::canceled);
}

TEST_F(ReshapeTest, what_failed_comes_back_so) {
  const auto grants = wf.claim(worker, 2);
  ASSERT_TRUE(wf.finish(worker, grants[0].token, JobState::failed).ok());
  ASSERT_TRUE(wf.finish(worker, grants[1].token, JobState::terminated).ok());
  const Job failed = wf.job(1);
  const Job terminated = wf.job(2);
  out_and_in({range(1, 2)});
  EXPECT_EQ(wf.job(1), failed);
  EXPECT_EQ(wf.job(2), terminated);
}

// The one in front waits for the other to fail.
TEST_F(ReshapeTest, what_failed_behind_a_failure_comes_back_with_it) {
  Plan plan = plan_of({{1, 0}, {1, 0}});
  plan.dependencies.push_back({{}, {range(1, 1)}, {{range(2, 1), Condition::afternotok}}});
  wf = TestWorkflow(plan);
  worker = wf.join();
  for (int stage = 0; stage < 2; ++stage) {
    const auto grants = wf.claim(worker, 1);
    ASSERT_EQ(grants.size(), 1U);
    ASSERT_TRUE(wf.finish(worker, grants[0].token, JobState::failed).ok());
  }
  out_and_in({range(1, 2)});
  EXPECT_EQ(wf.state(1), JobState::failed);
  EXPECT_EQ(wf.state(2), JobState::failed);
}

TEST_F(ReshapeTest, what_failed_runs_again_where_what_it_was_made_of_did_so_meanwhile) {
  run_ready();
  const auto grants = wf.claim(worker, 1);
  ASSERT_EQ(ids(grants), std::vector<std::uint64_t>{5});
  ASSERT_TRUE(wf.finish(worker, grants[0].token, JobState::failed).ok());
  for (const bool has_run : {false, true}) {
    Reshape what = nothing();
    what.removed = {range(5, 2)};
    (void)apply(what);
    ++wf.tx.number;
    ASSERT_TRUE(reset_jobs(wf.tx, std::vector{range(1, 1)}, Force::no, kNoon).ok());
    if (has_run) run_ready();
    what = nothing();
    what.returned = {range(5, 2)};
    (void)apply(what);
    EXPECT_EQ(wf.state(5), has_run ? R : B);
    if (has_run) return;
    run_ready();
    const auto again = wf.claim(worker, 1);
    ASSERT_EQ(ids(again), std::vector<std::uint64_t>{5});
    ASSERT_TRUE(wf.finish(worker, again[0].token, JobState::failed).ok());
  }
}

TEST_F(ReshapeTest, that_jobs_go_and_come_is_a_change_of_the_workflow) {
  const std::uint64_t before = read_edition(wf.tx);
  Reshape what = nothing();
  what.removed = {range(1, 1)};
  (void)apply(what);
  const std::uint64_t out = read_edition(wf.tx);
  EXPECT_NE(out, before);
  what = nothing();
  what.returned = {range(1, 1)};
  (void)apply(what);
  EXPECT_NE(read_edition(wf.tx), out);
}

// A condition that could no longer come true, and can again.
TEST_F(ReshapeTest, what_was_passed_over_waits_for_what_it_waits_for_now) {
  Plan plan = plan_of({{2, 0}, {1, 0}});
  plan.dependencies.push_back({{}, {range(3, 1)}, {{range(1, 1), Condition::afternotok}}});
  wf = TestWorkflow(plan);
  worker = wf.join();
  for (const Grant& g : wf.claim(worker, 1)) EXPECT_TRUE(wf.finish(worker, g.token).ok());
  ASSERT_TRUE(is_passed_over(wf.job(3)));
  Reshape what = nothing();
  what.plan.dependencies = {{{}, {range(3, 1)}, {{range(2, 1), Condition::afternotok}}}};
  (void)apply(what);
  EXPECT_EQ(wf.state(3), B);
  const auto grants = wf.claim(worker, 1);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_TRUE(wf.finish(worker, grants[0].token, JobState::failed).ok());
  EXPECT_EQ(wf.state(3), R);
}

TEST_F(ReshapeTest, a_new_condition_that_cannot_come_true_is_not_waited_for) {
  run_ready();
  Reshape what = nothing();
  what.plan.dependencies = {{{}, {range(5, 1)}, {{range(1, 1), Condition::afternotok}}}};
  (void)apply(what);
  EXPECT_TRUE(is_passed_over(wf.job(5)));
}

TEST_F(ReshapeTest, a_plan_that_is_none_is_refused) {
  Reshape what = nothing();
  what.plan.templates = {entry(9, 1)};
  ++wf.tx.number;
  const auto done = reshape(wf.tx, what, some_of, {});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace torc::claim
