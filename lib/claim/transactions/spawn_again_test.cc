#include "lib/claim/transactions/spawn_again.h"

#include <gtest/gtest.h>

#include "lib/claim/audit/verify.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

// Job 1 spawns.
class SpawnAgain : public ::testing::Test {
 protected:
  ClaimToken claim_next() {
    const auto grants = wf.claim(worker, 1);
    EXPECT_EQ(grants.size(), 1U);
    return grants.empty() ? ClaimToken{} : grants[0].token;
  }
  void complete(const ClaimToken& token) { EXPECT_TRUE(wf.finish(worker, token).ok()); }
  std::vector<std::uint64_t> run_all() {
    std::vector<std::uint64_t> ran;
    for (;;) {
      const auto grants = wf.claim(worker, 1);
      if (grants.empty()) return ran;
      ran.push_back(raw(grants[0].token.job));
      complete(grants[0].token);
    }
  }
  // A template of jobs from `first` on, which wait for `upstream`.
  static Plan says(std::uint64_t first, std::uint64_t count, const std::string& recipe,
                   std::vector<JobRange> upstream) {
    Plan plan = plan_of({{count, 0}});
    plan.templates[0].first = JobId{first};
    plan.templates[0].recipe = recipe;
    if (!upstream.empty())
      plan.dependencies.push_back({std::move(upstream), {range(first, count)}});
    return plan;
  }
  static Origin by(const ClaimToken& token) {
    Origin origin;
    origin.parent = token.job;
    origin.attempt = token.attempt;
    origin.depth = 1;
    origin.root = token.job;
    return origin;
  }
  void spawn(const Plan& plan, const ClaimToken& token) {
    ++wf.tx.number;
    EXPECT_TRUE(add_jobs(wf.tx, plan, by(token)).ok());
    wf.check();
  }
  Result<JobRange> again(Plan plan, const ClaimToken& token) {
    ++wf.tx.number;
    auto before = wf.tx.entries;
    auto done = spawn_again(
        wf.tx, std::move(plan),
        [](const Template& of, std::uint64_t from, std::uint64_t count) -> Result<Template> {
          Template part = of;
          part.first = JobId{raw(of.first) + from};
          part.count = count;
          return part;
        },
        by(token));
    if (!done) wf.tx.entries = std::move(before);
    wf.check();
    return done;
  }
  Result<Change> reset(std::uint64_t id, Force force = Force::no) {
    ++wf.tx.number;
    auto before = wf.tx.entries;
    const std::vector<JobRange> jobs{range(id, 1)};
    auto done = reset_jobs(wf.tx, jobs, force, kNoon);
    if (!done) wf.tx.entries = std::move(before);
    wf.check();
    return done;
  }
  std::string recipe(std::uint64_t id) const { return read_template(wf.tx, JobId{id})->recipe; }
  std::uint32_t attempt_of(std::uint64_t id) const {
    return (*read_origin(wf.tx, JobId{id}))->attempt;
  }
  bool can(std::uint64_t id, const ClaimToken& token) const {
    return *can_be_spawned_again(wf.tx, JobId{id}, by(token));
  }

  TestWorkflow wf{plan_of({{1, 0}})};
  WorkerEpoch worker = wf.join();
};

using Ids = std::vector<std::uint64_t>;

TEST_F(SpawnAgain, what_a_job_spawned_is_withdrawn_when_it_goes_back_to_the_start) {
  const auto first = claim_next();
  spawn(says(2, 3, "old", {range(1, 1)}), first);
  complete(first);
  EXPECT_EQ(run_all(), (Ids{2, 3, 4}));
  const auto done = reset(1);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->total(), 1U);
  EXPECT_EQ(done->withdrawn[static_cast<std::size_t>(JobState::completed)], 3U);
  EXPECT_EQ(done->lost_results(), 4U);
  for (std::uint64_t id = 2; id <= 4; ++id) EXPECT_TRUE(is_withdrawn(wf.job(id))) << id;
  EXPECT_EQ(run_all(), Ids{1});
  auto workflow = *read_workflow(wf.tx);
  ASSERT_TRUE(leave_out_removed(wf.tx, workflow).ok());
  EXPECT_TRUE(workflow.all_completed());
}

TEST_F(SpawnAgain, a_later_attempt_says_what_they_are) {
  const auto first = claim_next();
  spawn(says(2, 3, "old", {range(1, 1)}), first);
  complete(first);
  (void)run_all();
  ASSERT_TRUE(reset(1).ok());
  const auto second = claim_next();
  EXPECT_TRUE(can(3, second));
  Plan plan = says(3, 1, "new", {range(1, 1)});
  Plan more = says(5, 1, "more", {range(1, 1)});
  plan.templates.push_back(more.templates[0]);
  plan.dependencies[0].members.push_back(range(5, 1));
  const auto done = again(std::move(plan), second);
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(raw(done->first), 5U);
  EXPECT_EQ(wf.state(3), JobState::blocked);
  EXPECT_EQ(recipe(2), "old");
  EXPECT_EQ(recipe(3), "new");
  EXPECT_EQ((Ids{attempt_of(2), attempt_of(3), attempt_of(4), attempt_of(5)}), (Ids{1, 2, 1, 2}));
  EXPECT_FALSE(can(3, second)) << "it was spawned by this attempt";
  EXPECT_TRUE(can(2, second));
  complete(second);
  EXPECT_EQ(run_all(), (Ids{3, 5}));
}

TEST_F(SpawnAgain, who_spawned_others_takes_them_along) {
  const auto first = claim_next();
  spawn(says(2, 1, "two", {range(1, 1)}), first);
  complete(first);
  const auto second = claim_next();
  spawn(says(3, 1, "three", {}), second);
  complete(second);
  (void)run_all();
  ASSERT_TRUE(reset(1).ok());
  EXPECT_EQ(wf.job(3).outcome.because, JobId{2});
  EXPECT_EQ(run_all(), Ids{1});
}

TEST_F(SpawnAgain, what_runs_beside_its_spawner_is_ended_only_by_force) {
  const auto first = claim_next();
  spawn(says(2, 1, "beside", {}), first);
  const auto beside = claim_next();
  wf.start(worker, beside);
  complete(first);
  ASSERT_FALSE(reset(1).ok());
  EXPECT_EQ(wf.state(2), JobState::running);
  const auto done = reset(1, Force::yes);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->ending, 1U);
  (void)wf.finish(worker, beside);
  EXPECT_TRUE(is_withdrawn(wf.job(2)));
  EXPECT_EQ(wf.job(2).revoked, Revoked::no);
  const auto again_1 = claim_next();
  ASSERT_TRUE(again(says(2, 1, "beside", {}), again_1).ok());
  complete(again_1);
  EXPECT_EQ(run_all(), Ids{2});
}

TEST_F(SpawnAgain, what_still_runs_is_ended_before_it_runs_anew) {
  const auto first = claim_next();
  spawn(says(2, 1, "beside", {}), first);
  const auto beside = claim_next();
  wf.start(worker, beside);
  complete(first);
  ASSERT_TRUE(reset(1, Force::yes).ok());
  const auto second = claim_next();
  ASSERT_TRUE(again(says(2, 1, "beside", {}), second).ok());
  complete(second);
  EXPECT_EQ(run_all(), Ids{}) << "its worker has not ended it";
  (void)wf.finish(worker, beside);
  EXPECT_EQ(run_all(), Ids{2});
}

TEST_F(SpawnAgain, nobody_starts_since_what_it_waits_for_was_withdrawn) {
  const auto first = claim_next();
  spawn(says(2, 1, "beside", {}), first);
  complete(first);
  (void)run_all();
  Plan plan = says(3, 1, "after", {});
  plan.dependencies.push_back({{}, {range(3, 1)}, {{range(2, 1), Condition::afterany}}});
  ++wf.tx.number;
  ASSERT_TRUE(add_jobs(wf.tx, plan, {}).ok());
  EXPECT_EQ(run_all(), Ids{3});
  ASSERT_TRUE(reset(1).ok());
  EXPECT_EQ(wf.state(3), JobState::blocked);
  const auto second = claim_next();
  ASSERT_TRUE(again(says(2, 1, "beside", {}), second).ok());
  complete(second);
  EXPECT_EQ(run_all(), (Ids{2, 3}));
}

TEST_F(SpawnAgain, what_ended_by_an_earlier_definition_runs_again) {
  const auto first = claim_next();
  spawn(says(2, 2, "old", {}), first);
  complete(claim_next());
  ASSERT_TRUE(wf.finish(worker, first, JobState::failed).ok());
  const std::vector<JobRange> jobs{range(1, 1)};
  ++wf.tx.number;
  ASSERT_TRUE(retry_jobs(wf.tx, jobs).ok());
  EXPECT_EQ(wf.state(2), JobState::completed) << "a retry keeps what was spawned";
  const auto second = claim_next();
  EXPECT_TRUE(can(2, second));
  ASSERT_TRUE(again(says(2, 1, "new", {}), second).ok());
  EXPECT_EQ(wf.state(2), JobState::ready);
  EXPECT_EQ(recipe(3), "old");
}

TEST_F(SpawnAgain, a_job_never_waits_for_itself) {
  const auto first = claim_next();
  spawn(says(2, 1, "spawned", {range(1, 1)}), first);
  complete(first);
  ++wf.tx.number;
  ASSERT_TRUE(add_jobs(wf.tx, says(3, 1, "report", {range(2, 1)}), {}).ok());
  (void)run_all();
  ASSERT_TRUE(reset(1).ok());
  const auto second = claim_next();
  const auto done = again(says(2, 1, "spawned", {range(1, 1), range(3, 1)}), second);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::invalid);
}

TEST_F(SpawnAgain, not_everything_can_be) {
  ++wf.tx.number;
  ASSERT_TRUE(add_jobs(wf.tx, says(2, 1, "added", {}), {}).ok());
  const auto first = claim_next();
  spawn(says(3, 1, "spawned", {}), first);
  EXPECT_FALSE(can(2, first)) << "a person added it";
  EXPECT_FALSE(can(1, first));
  EXPECT_FALSE(can(3, first)) << "this attempt spawned it";
  ClaimToken later = first;
  ++later.attempt;
  EXPECT_TRUE(can(3, later));
  later.job = JobId{2};
  EXPECT_FALSE(can(3, later)) << "another job spawned it";
  wf.tx.put(Key(Table::removed, 3), "");
  EXPECT_TRUE(can(3, later)) << "it is out of the workflow";
  wf.tx.erase(Key(Table::removed, 3));
  (void)wf.claim(worker, 9);
  later = first;
  ++later.attempt;
  EXPECT_FALSE(can(3, later)) << "a worker has it";
}

TEST_F(SpawnAgain, none_from_which_its_spawner_comes) {
  const auto first = claim_next();
  spawn(says(2, 1, "two", {range(1, 1)}), first);
  complete(first);
  const auto second = claim_next();
  spawn(says(3, 1, "three", {range(2, 1)}), second);
  complete(second);
  ClaimToken third;
  third.job = JobId{3};
  third.attempt = 1;
  wf.tx.put(Key(Table::removed, 2), "");
  EXPECT_FALSE(can(2, third)) << "it spawned job 3";
  wf.tx.erase(Key(Table::removed, 2));
  wf.tx.put(Key(Table::removed, 3), "");
  EXPECT_TRUE(can(3, second));
}

// As when a job of another name spawns what one spawned that is there no more.
TEST_F(SpawnAgain, who_spawned_a_job_may_have_come_after_it) {
  const auto first = claim_next();
  spawn(says(2, 1, "two", {}), first);
  spawn(says(3, 1, "later", {}), first);
  complete(first);
  EXPECT_EQ(wf.claim(worker, 2).size(), 2U);
  ClaimToken later;
  later.job = JobId{3};
  later.attempt = 1;
  ASSERT_TRUE(change_origin(wf.tx, range(2, 1), by(later)).ok());
  wf.check();
  // A canceled one does not go back to the start, but it goes with who spawned it.
  ASSERT_TRUE(cancel_jobs(wf.tx, std::vector<JobRange>{range(3, 1)}, kNoon).ok());
  ASSERT_TRUE(reset(1, Force::yes).ok());
  EXPECT_TRUE(is_withdrawn(wf.job(2)));
  EXPECT_TRUE(is_withdrawn(wf.job(3)));

  later.job = JobId{2};
  ASSERT_TRUE(change_origin(wf.tx, range(3, 1), by(later)).ok());
  const auto verified = verify_state(wf.tx);
  ASSERT_FALSE(verified.ok());
  EXPECT_NE(verified.error().what.find("was added by a job that comes from it"), std::string::npos)
      << verified.error().what;
}

}  // namespace
}  // namespace torc::claim
