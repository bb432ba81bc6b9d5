#include "lib/claim/rules/condition.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

// Jobs 1 to 4 wait for nothing but what a test makes them wait for; job 5 and above follow.
class Conditions : public testing::Test {
 protected:
  void make(std::uint64_t jobs, std::vector<DependencySet> sets) {
    Plan plan = plan_of({{jobs, 0}});
    plan.dependencies = std::move(sets);
    wf.emplace(plan);
    worker = wf->join();
  }
  ClaimToken claim(std::uint64_t id) {
    for (const Grant& g : wf->claim(worker, 100)) tokens[raw(g.token.job)] = g.token;
    EXPECT_TRUE(tokens.contains(id)) << "job " << id << " was not to be had";
    return tokens[id];
  }
  void end(std::uint64_t id, JobState state = JobState::completed) {
    EXPECT_TRUE(wf->finish(worker, claim(id), state).ok());
  }
  void start(std::uint64_t id) { wf->start(worker, claim(id)); }
  Change changed(Result<Change> change) {
    wf->check();
    EXPECT_TRUE(change.ok());
    return change.ok() ? *change : Change{};
  }
  Change retry(std::uint64_t id) {
    ++wf->tx.number;
    return changed(retry_jobs(wf->tx, std::vector<JobRange>{range(id, 1)}));
  }
  Change cancel(std::uint64_t id) {
    ++wf->tx.number;
    return changed(cancel_jobs(wf->tx, std::vector<JobRange>{range(id, 1)}, kNoon));
  }
  Change reset(std::uint64_t id) {
    ++wf->tx.number;
    return changed(reset_jobs(wf->tx, std::vector<JobRange>{range(id, 1)}, Force::no, kNoon));
  }
  void expect_unmet(std::uint64_t id, std::uint64_t because) {
    EXPECT_EQ(wf->state(id), JobState::canceled);
    EXPECT_EQ(wf->job(id).outcome.cause, EndCause::unmet);
    EXPECT_EQ(raw(wf->job(id).outcome.because), because);
  }
  bool is_won() { return read_workflow(wf->tx)->all_completed(); }

  static DependencySet on(Condition condition, std::uint64_t upstream, std::uint64_t member) {
    DependencySet set;
    set.members = {range(member, 1)};
    if (condition == Condition::afterok) {
      set.upstream = {range(upstream, 1)};
    } else {
      set.conditional = {{range(upstream, 1), condition}};
    }
    return set;
  }
  static DependencySet canceling(std::uint64_t upstream, std::uint64_t member) {
    DependencySet set = on(Condition::afterok, upstream, member);
    set.cancels = true;
    return set;
  }

  std::optional<TestWorkflow> wf;
  WorkerEpoch worker{};
  std::map<std::uint64_t, ClaimToken> tokens;
};

TEST_F(Conditions, afternotok_opens_when_a_job_failed) {
  make(2, {on(Condition::afternotok, 1, 2)});
  EXPECT_EQ(wf->state(2), JobState::blocked);
  end(1, JobState::failed);
  EXPECT_EQ(wf->state(2), JobState::ready);
}

TEST_F(Conditions, afternotok_waits_while_an_attempt_is_left) {
  make(2, {on(Condition::afternotok, 1, 2)});
  end(1, JobState::ready);
  EXPECT_EQ(wf->state(2), JobState::blocked);
  end(1, JobState::terminated);
  EXPECT_EQ(wf->state(2), JobState::ready);
}

TEST_F(Conditions, a_job_whose_afternotok_cannot_come_true_is_no_failure) {
  make(2, {on(Condition::afternotok, 1, 2)});
  end(1);
  expect_unmet(2, 1);
  EXPECT_TRUE(is_won());
  EXPECT_EQ(read_workflow(wf->tx)->unmet, 1U);
}

TEST_F(Conditions, what_needs_a_job_that_is_not_needed_is_not_needed_either) {
  make(5, {on(Condition::afternotok, 1, 2), on(Condition::afterok, 2, 3),
           on(Condition::afternotok, 3, 4), on(Condition::afterany, 4, 5)});
  end(1);
  expect_unmet(2, 1);
  expect_unmet(3, 2);
  expect_unmet(4, 3);
  EXPECT_EQ(wf->state(5), JobState::ready);
  end(5);
  EXPECT_TRUE(is_won());
}

TEST_F(Conditions, afterany_opens_at_any_end) {
  for (const JobState how : {JobState::completed, JobState::failed, JobState::terminated}) {
    make(2, {on(Condition::afterany, 1, 2)});
    start(1);
    EXPECT_EQ(wf->state(2), JobState::blocked);
    end(1, how);
    EXPECT_EQ(wf->state(2), JobState::ready);
    tokens.clear();
  }
  make(2, {on(Condition::afterany, 1, 2)});
  cancel(1);
  EXPECT_EQ(wf->state(2), JobState::ready);
}

TEST_F(Conditions, after_opens_when_a_job_has_started_not_when_it_was_claimed) {
  make(2, {on(Condition::after, 1, 2)});
  claim(1);
  EXPECT_EQ(wf->state(2), JobState::blocked);
  start(1);
  EXPECT_EQ(wf->state(2), JobState::ready);
}

TEST_F(Conditions, after_opens_when_a_job_ends_that_never_started) {
  make(2, {on(Condition::after, 1, 2)});
  cancel(1);
  EXPECT_EQ(wf->state(2), JobState::ready);
}

TEST_F(Conditions, what_was_canceled_is_over_when_its_worker_ended_it) {
  make(2, {on(Condition::afternotok, 1, 2)});
  start(1);
  cancel(1);
  EXPECT_EQ(wf->state(2), JobState::blocked);
  EXPECT_FALSE(wf->finish(worker, tokens[1])->refused.empty());
  EXPECT_EQ(wf->state(2), JobState::ready);
}

TEST_F(Conditions, one_counter_holds_conditions_of_all_kinds) {
  DependencySet set;
  set.members = {range(5, 1)};
  set.upstream = {range(1, 1)};
  set.conditional = {{range(2, 1), Condition::afternotok},
                     {range(3, 1), Condition::afterany},
                     {range(4, 1), Condition::after}};
  make(5, {set});
  EXPECT_EQ(waits_for(wf->tx, JobId{5}, 9).size(), 4U);
  start(4);
  end(3, JobState::failed);
  end(2, JobState::failed);
  EXPECT_EQ(waits_for(wf->tx, JobId{5}, 9), std::vector<JobId>{JobId{1}});
  end(1);
  EXPECT_EQ(wf->state(5), JobState::ready);
}

TEST_F(Conditions, all_to_all_on_a_condition_is_two_records_and_one_countdown) {
  constexpr std::uint64_t kMany = 2000;
  DependencySet set;
  set.members = {range(kMany + 1, kMany)};
  set.conditional = {{range(1, kMany), Condition::afterany}};
  make(2 * kMany, {set});
  const auto count = [&](Table table) {
    std::uint64_t n = 0;
    wf->tx.scan_prefix(Key(table), [&](const store::Entry&) { return ++n > 0; });
    return n;
  };
  EXPECT_EQ(count(Table::upstream), 1U);
  EXPECT_EQ(count(Table::barrier), 1U);
  EXPECT_EQ(count(Table::countdown), 0U);
}

TEST_F(Conditions, a_condition_that_was_met_stays_met_when_the_job_is_retried) {
  make(2, {on(Condition::afternotok, 1, 2)});
  end(1, JobState::failed);
  EXPECT_EQ(retry(1).total(), 1U);
  EXPECT_EQ(wf->state(2), JobState::ready);
  end(1);
  EXPECT_EQ(wf->state(2), JobState::claimed);
  end(2);
  EXPECT_TRUE(is_won());
}

TEST_F(Conditions, a_reset_makes_what_was_not_needed_wait_again) {
  make(3, {on(Condition::afternotok, 1, 2), on(Condition::afterok, 2, 3)});
  end(1);
  expect_unmet(3, 2);
  reset(1);
  EXPECT_EQ(wf->state(1), JobState::ready);
  EXPECT_EQ(wf->state(2), JobState::blocked);
  EXPECT_EQ(wf->state(3), JobState::blocked);
  EXPECT_EQ(read_workflow(wf->tx)->unmet, 0U);
  end(1, JobState::failed);
  EXPECT_EQ(wf->state(2), JobState::ready);
}

TEST_F(Conditions, a_reset_closes_what_a_retry_left_open) {
  make(2, {on(Condition::afternotok, 1, 2)});
  end(1, JobState::failed);
  end(2);
  retry(1);
  EXPECT_EQ(wf->state(2), JobState::completed);
  reset(1);
  EXPECT_EQ(wf->state(2), JobState::blocked);
  end(1);
  expect_unmet(2, 1);
}

TEST_F(Conditions, a_held_job_that_is_not_needed_is_passed_over_when_it_is_released) {
  make(2, {on(Condition::afternotok, 1, 2)});
  const std::vector<JobRange> held{range(2, 1)};
  ++wf->tx.number;
  changed(hold_jobs(wf->tx, held));
  end(1);
  EXPECT_EQ(wf->state(2), JobState::held);
  EXPECT_FALSE(is_won());
  ++wf->tx.number;
  changed(release_jobs(wf->tx, held, kNoon));
  expect_unmet(2, 1);
}

TEST_F(Conditions, a_failure_cancels_what_asked_for_it_and_what_follows) {
  make(4, {canceling(1, 2), canceling(2, 3), on(Condition::afterok, 3, 4)});
  end(1, JobState::failed);
  for (const std::uint64_t id : {2U, 3U}) {
    EXPECT_EQ(wf->state(id), JobState::canceled);
    EXPECT_EQ(wf->job(id).outcome.cause, EndCause::upstream_failed);
    EXPECT_EQ(raw(wf->job(id).outcome.because), id - 1);
  }
  EXPECT_EQ(wf->state(4), JobState::blocked);  // it did not ask for it
  EXPECT_EQ(read_workflow(wf->tx)->unmet, 0U);
  EXPECT_FALSE(is_won());
}

TEST_F(Conditions, a_retry_of_the_failed_job_lets_them_wait_again) {
  make(3, {canceling(1, 2), canceling(2, 3)});
  end(1, JobState::failed);
  EXPECT_EQ(retry(2).total(), 0U);  // what it waits for is still not there
  EXPECT_EQ(wf->state(2), JobState::canceled);
  retry(1);
  EXPECT_EQ(wf->job(2), untouched(JobState::blocked));
  EXPECT_EQ(wf->job(3), untouched(JobState::blocked));
  end(1);
  end(2);
  end(3);
  EXPECT_TRUE(is_won());
}

TEST_F(Conditions, an_afternotok_of_a_canceled_job_opens) {
  make(3, {canceling(1, 2), on(Condition::afternotok, 2, 3)});
  end(1, JobState::failed);
  EXPECT_EQ(wf->state(2), JobState::canceled);
  EXPECT_EQ(wf->state(3), JobState::ready);
}

TEST_F(Conditions, of_two_reasons_the_one_that_is_no_failure_counts) {
  DependencySet both = canceling(1, 3);
  both.conditional = {{range(2, 1), Condition::afternotok}};
  make(3, {both});
  end(1, JobState::failed);
  EXPECT_EQ(wf->job(3).outcome.cause, EndCause::upstream_failed);
  end(2);
  expect_unmet(3, 2);
}

TEST(ConditionRules, a_job_means_to_its_dependents_what_the_table_says) {
  struct Row {
    Signal signal;
    Edge afterok, afternotok, afterany, after;
  };
  constexpr Edge P = Edge::pending;
  constexpr Edge M = Edge::met;
  constexpr Edge U = Edge::unmet;
  for (const Row& r : {Row{Signal::waits, P, P, P, P}, Row{Signal::runs, P, P, P, M},
                       Row{Signal::completed, M, U, M, M}, Row{Signal::failed, P, M, M, M},
                       Row{Signal::unmet, U, U, M, M}}) {
    EXPECT_EQ(judge(r.signal, Condition::afterok, false), r.afterok);
    EXPECT_EQ(judge(r.signal, Condition::afternotok, false), r.afternotok);
    EXPECT_EQ(judge(r.signal, Condition::afterany, false), r.afterany);
    EXPECT_EQ(judge(r.signal, Condition::after, false), r.after);
  }
  EXPECT_EQ(judge(Signal::failed, Condition::afterok, true), Edge::failed);
}

}  // namespace
}  // namespace torc::claim
