#include "lib/claim/scheduling/firing.h"
#include "lib/claim/queries/queries.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

using What = ActionReport::What;

// Jobs 1-2, and 3 behind them.
Plan plan_with_actions(std::vector<std::pair<Trigger, bool>> actions) {
  Plan plan = plan_of({{2, 0}, {1, 0}});
  plan.dependencies.push_back({{range(1, 2)}, {range(3, 1)}});
  for (const auto& [trigger, persistent] : actions) {
    plan.actions.push_back({trigger, persistent, "commands"});
    const auto number = static_cast<std::uint32_t>(plan.actions.size());
    DependencySet set;
    set.action = number;
    if (trigger == Trigger::jobs_ready) set.upstream = {range(1, 2)};
    if (trigger == Trigger::jobs_complete) set.conditional = {{range(1, 2), Condition::afterany}};
    if (!set.upstream.empty() || !set.conditional.empty()) plan.dependencies.push_back(set);
  }
  return plan;
}

class Firings : public ::testing::Test {
 protected:
  void make(std::vector<std::pair<Trigger, bool>> actions) {
    wf = std::make_unique<TestWorkflow>(plan_with_actions(std::move(actions)));
    w = wf->join();
  }
  Answer say(WorkerEpoch worker, ActionWish wish, std::vector<ActionReport> reports = {},
             std::uint64_t jobs = 0) {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    request.actions = std::move(reports);
    request.wish = wish;
    request.offer = TestWorkflow::offer(jobs);
    auto answer = wf->say(request);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? *answer : Answer{};
  }
  static ActionWish due() {
    ActionWish wish;
    wish.due = true;
    wish.workflow_over = true;
    return wish;
  }
  static ActionReport end_of(const ActionGrant& grant, int exit_code = 0) {
    ActionReport report{grant.action, grant.claim, What::ended, grant.done + 1, {}};
    report.outcome.cause = EndCause::exited;
    report.outcome.exit_code = exit_code;
    return report;
  }
  ActionRun run_of(std::uint32_t number, WorkerEpoch of = {}) {
    ActionRun found;
    const auto scanned = scan_runs(wf->tx, number, [&](WorkerEpoch worker, const ActionRun& run) {
      if (worker == of) found = run;
      return true;
    });
    EXPECT_TRUE(scanned.ok());
    return found;
  }
  void finish_all(WorkerEpoch worker, JobState state = JobState::completed) {
    for (;;) {
      const auto grants = wf->claim(worker, 9);
      if (grants.empty()) return;
      for (const Grant& g : grants) ASSERT_TRUE(wf->finish(worker, g.token, state).ok());
    }
  }

  const std::vector<JobRange> first_two{range(1, 2)};
  const std::vector<JobRange> second{range(2, 1)};
  std::unique_ptr<TestWorkflow> wf;
  WorkerEpoch w{};
};

TEST_F(Firings, jobs_wait_for_what_comes_at_the_start_and_one_worker_has_it) {
  make({{Trigger::workflow_start, false}});
  const WorkerEpoch other = wf->join();
  const Answer first = say(w, due(), {}, 9);
  ASSERT_EQ(first.actions.size(), 1U);
  EXPECT_TRUE(first.grants.empty());
  const Answer its = say(other, due(), {}, 9);
  EXPECT_TRUE(its.actions.empty());
  EXPECT_TRUE(its.grants.empty());
  EXPECT_EQ(its.workflow.actions.gates, 1U);
  const Answer after = say(w, due(), {end_of(first.actions[0])}, 9);
  EXPECT_EQ(after.grants.size(), 2U);
  EXPECT_TRUE(after.actions.empty());
  EXPECT_EQ(run_of(1).state, RunState::ended);
}

TEST_F(Firings, a_second_end_and_one_by_another_worker_do_not_count) {
  make({{Trigger::workflow_start, false}});
  const WorkerEpoch other = wf->join();
  const ActionGrant grant = say(w, due()).actions.at(0);
  (void)say(other, {}, {end_of(grant, 7)});
  EXPECT_EQ(run_of(1).state, RunState::running);
  (void)say(w, {}, {end_of(grant)});
  (void)say(w, {}, {end_of(grant, 7)});
  EXPECT_EQ(run_of(1).outcome.exit_code, 0);
  EXPECT_EQ(read_action_tally(wf->tx).failed, 0U);
}

TEST_F(Firings, of_a_lost_worker_another_one_goes_on_behind_what_was_told) {
  make({{Trigger::workflow_start, false}});
  for (std::uint32_t lost = 1; lost <= kMostActionLosses; ++lost) {
    const Answer taken = say(w, due());
    ASSERT_EQ(taken.actions.size(), 1U);
    EXPECT_EQ(taken.actions[0].done, lost - 1);
    (void)say(w, {}, {{1, taken.actions[0].claim, What::went_on, lost, {}}});
    ++wf->tx.number;
    const auto renewals = read_worker(wf->tx, w)->renewals;
    ASSERT_TRUE(*expire_worker(wf->tx, w, renewals, kNoon, 5));
    wf->check();
    EXPECT_EQ(run_of(1).lost, lost);
    w = wf->join();
  }
  EXPECT_EQ(run_of(1).state, RunState::ended);
  EXPECT_EQ(run_of(1).outcome.cause, EndCause::worker_lost);
  EXPECT_TRUE(say(w, due()).actions.empty());
  EXPECT_EQ(wf->claim(w, 9).size(), 2U) << "jobs do not wait for ever";
}

TEST_F(Firings, a_lost_allocation_counts_against_its_action_unless_it_was_cut_off) {
  make({{Trigger::workflow_start, false}});
  std::uint32_t lost = 0;
  for (const Charge charge : {Charge::yes, Charge::stop, Charge::no, Charge::yes}) {
    ASSERT_EQ(say(w, due()).actions.size(), 1U);
    ++wf->tx.number;
    const auto renewals = read_worker(wf->tx, w)->renewals;
    ASSERT_TRUE(
        *expire_worker(wf->tx, w, renewals, kNoon, 5, EndCause::allocation_ended, {}, charge));
    if (charge == Charge::yes) ++lost;
    EXPECT_EQ(run_of(1).lost, lost);
    w = wf->join();
  }
}

// Both could be what kills the worker, and would be lost with each other.
TEST_F(Firings, neither_is_a_suspect_granted_beside_an_action_nor_an_action_with_a_suspect) {
  make({{Trigger::jobs_complete, false}});
  for (const Grant& g : wf->claim(w, 2)) ASSERT_TRUE(wf->finish(w, g.token).ok());
  ASSERT_EQ(wf->claim(w, 1).size(), 1U);  // job 3
  ++wf->tx.number;
  ASSERT_TRUE(*expire_worker(wf->tx, w, read_worker(wf->tx, w)->renewals, kNoon, 5));
  ASSERT_TRUE(is_suspect(wf->job(3)));
  w = wf->join();
  const Answer action = say(w, due());  // no room for jobs
  ASSERT_EQ(action.actions.size(), 1U);
  EXPECT_TRUE(say(w, {}, {}, 1).grants.empty());
  ActionReport back{action.actions[0].action, action.actions[0].claim, What::returned, 0, {}};
  const Answer job = say(w, due(), {back}, 1);
  ASSERT_EQ(job.grants.size(), 1U);
  EXPECT_TRUE(job.grants[0].alone);
  EXPECT_TRUE(job.actions.empty());
  EXPECT_EQ(say(w, due()).actions.size(), 1U) << "when it has outlived its probation";
}

TEST_F(Firings, what_a_leaving_worker_returns_is_no_loss) {
  make({{Trigger::workflow_start, false}});
  const ActionGrant grant = say(w, due()).actions.at(0);
  (void)say(w, {}, {{1, grant.claim, What::returned, 1, {}}});
  EXPECT_EQ(run_of(1).state, RunState::due);
  EXPECT_EQ(say(w, due()).actions.at(0).done, 1U);
  ++wf->tx.number;
  ASSERT_TRUE(release_worker(wf->tx, w, kNoon).ok());
  wf->check();
  EXPECT_EQ(run_of(1).state, RunState::due);
  EXPECT_EQ(run_of(1).lost, 0U);
}

TEST_F(Firings, jobs_that_are_ready_or_over_set_off_theirs_once) {
  make({{Trigger::jobs_ready, false}, {Trigger::jobs_complete, false}});
  EXPECT_TRUE(say(w, due()).actions.empty());
  const auto grants = wf->claim(w, 2);
  ASSERT_TRUE(wf->finish(w, grants[0].token).ok());
  EXPECT_TRUE(say(w, due()).actions.empty());
  ASSERT_TRUE(wf->finish(w, grants[1].token, JobState::failed).ok());
  const Answer over = say(w, due());
  ASSERT_EQ(over.actions.size(), 1U);
  EXPECT_EQ(over.actions[0].action, 2U) << "on_jobs_complete, and 3 is never ready";
  ++wf->tx.number;
  ASSERT_TRUE(retry_jobs(wf->tx, second).ok());
  finish_all(w);
  const Answer ready = say(w, due(), {end_of(over.actions[0])});
  ASSERT_EQ(ready.actions.size(), 1U);
  EXPECT_EQ(ready.actions[0].action, 1U);
  EXPECT_TRUE(say(w, due(), {end_of(ready.actions[0])}).actions.empty());
}

TEST_F(Firings, a_persistent_one_fires_again_when_a_reset_took_its_jobs_back) {
  make({{Trigger::jobs_complete, true}, {Trigger::jobs_complete, false}});
  finish_all(w);
  std::size_t runs = 0;
  for (std::uint64_t round = 1; round <= 2; ++round) {
    for (Answer a = say(w, due()); !a.actions.empty(); a = say(w, due(), {end_of(a.actions[0])}))
      ++runs;
    ++wf->tx.number;
    ASSERT_TRUE(reset_jobs(wf->tx, first_two, Force::no, kNoon).ok());
    wf->check();
    finish_all(w);
  }
  EXPECT_EQ(runs, 3U);
}

TEST_F(Firings, the_end_of_the_workflow_comes_after_all_else_and_is_asked_for) {
  make({{Trigger::workflow_complete, true}, {Trigger::jobs_complete, false}});
  finish_all(w);
  const ActionGrant jobs = say(w, due()).actions.at(0);
  EXPECT_EQ(jobs.action, 2U);
  const WorkerEpoch other = wf->join();
  EXPECT_TRUE(say(other, due()).actions.empty()) << "another one still runs";
  ActionWish patient = due();
  patient.workflow_over = false;
  EXPECT_TRUE(say(w, patient, {end_of(jobs)}).actions.empty());
  const ActionGrant last = say(w, due()).actions.at(0);
  EXPECT_EQ(last.action, 1U);
  EXPECT_TRUE(say(w, due(), {end_of(last)}).actions.empty());
  ++wf->tx.number;
  ASSERT_TRUE(reset_jobs(wf->tx, first_two, Force::no, kNoon).ok());
  EXPECT_TRUE(say(w, due()).actions.empty());
  finish_all(w);
  EXPECT_EQ(say(w, due()).actions.at(0).nth, 2U);
}

TEST_F(Firings, each_worker_has_its_own_once) {
  make({{Trigger::worker_start, false}, {Trigger::worker_complete, false}});
  const WorkerEpoch other = wf->join();
  ActionWish start;
  start.worker_start = true;
  const ActionGrant mine = say(w, start).actions.at(0);
  EXPECT_EQ(say(other, start).actions.at(0).action, 1U);
  EXPECT_TRUE(say(w, start).actions.empty());
  (void)say(w, {}, {end_of(mine)});
  ++wf->tx.number;
  const auto renewals = read_worker(wf->tx, other)->renewals;
  ASSERT_TRUE(*expire_worker(wf->tx, other, renewals, kNoon, 5));
  wf->check();
  EXPECT_EQ(run_of(1, other).outcome.cause, EndCause::worker_lost);
  EXPECT_FALSE(is_failed(run_of(1, w)));
  ActionWish end;
  end.worker_complete = true;
  EXPECT_EQ(say(w, end).actions.at(0).action, 2U);
}

TEST_F(Firings, one_that_is_none_is_granted_to_nobody) {
  for (const std::uint32_t number : {0U, 2U, UINT32_MAX}) {
    make({{Trigger::workflow_start, false}});
    wf->tx.erase(due_key(1));
    wf->tx.put(due_key(number), {});
    // Also one that has a record, beyond those that a worker knows.
    wf->tx.put(action_key(2), *wf->tx.get(action_key(1)));
    Exchange request;
    request.worker = w;
    request.now = kNoon;
    request.wish = due();
    ++wf->tx.number;
    const auto answer = exchange(wf->tx, request);
    ASSERT_FALSE(answer.ok()) << number;
    EXPECT_EQ(answer.error().kind, ErrorKind::corrupt) << answer.error().text();
  }
}

TEST_F(Firings, no_entry_of_an_action_can_be_lost_unnoticed) {
  make({{Trigger::workflow_start, false},
        {Trigger::jobs_ready, false},
        {Trigger::worker_start, false}});
  ActionWish all = due();
  all.worker_start = true;
  (void)say(w, all);
  for (const auto& [key, value] : std::map(wf->tx.entries)) {
    const bool of_actions = key[0] == 'a' || key[0] == 'd' || key[0] == 'r';
    if (!of_actions) continue;
    wf->tx.entries.erase(key);
    EXPECT_FALSE(verify_state(wf->tx).ok()) << "lost: " << key[0];
    const bool is_action = key[0] == 'a' && key.size() > 1;
    EXPECT_EQ(read_actions(wf->tx).ok(), !is_action) << "lost: " << key[0];
    EXPECT_EQ(read_workflow(wf->tx).ok(), key != "a") << "no actions are not none that can be read";
    wf->tx.entries[key] = value;
  }
  wf->check();
}

}  // namespace
}  // namespace torc::claim
