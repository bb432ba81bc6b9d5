#include "lib/claim/transactions/live.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

// Jobs 1-4 one sweep; 5-6 wait for 1 and 2; 7 waits for 5.
class Live : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{4, 0}, {2, 0}, {1, 0}});
    plan.dependencies.push_back({{range(1, 2)}, {range(5, 2)}});
    plan.dependencies.push_back({{range(5, 1)}, {range(7, 1)}});
    return plan;
  }

  template <class Apply>
  Change change(const Apply& apply) {
    ++wf.tx.number;
    const auto changed = apply();
    EXPECT_TRUE(changed.ok());
    wf.check();
    return changed.ok() ? *changed : Change{};
  }
  Change cancel(std::vector<JobRange> jobs) {
    return change([&] { return cancel_jobs(wf.tx, jobs, kNoon); });
  }
  Change retry(std::vector<JobRange> jobs) {
    return change([&] { return retry_jobs(wf.tx, jobs); });
  }
  Change hold(std::vector<JobRange> jobs) {
    return change([&] { return hold_jobs(wf.tx, jobs); });
  }
  Change release(std::vector<JobRange> jobs) {
    return change([&] { return release_jobs(wf.tx, jobs, kNoon); });
  }
  std::uint64_t in(JobState s) { return read_workflow(wf.tx)->of(s); }
  Answer ask(WorkerEpoch worker, std::uint64_t jobs = 0) {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    if (jobs > 0) request.offer = TestWorkflow::offer(jobs);
    auto answer = wf.say(request);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? *answer : Answer{};
  }

  TestWorkflow wf{plan()};
};

TEST_F(Live, a_canceled_job_is_not_claimed_and_what_depends_on_it_is_not_reached) {
  const Change done = cancel({range(2, 1)});
  EXPECT_EQ(done.total(), 1U);
  EXPECT_EQ(done.changed[static_cast<std::size_t>(JobState::ready)], 1U);
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 9);
  EXPECT_EQ(ids(grants), (std::vector<std::uint64_t>{1, 3, 4}));
  for (const Grant& g : grants) EXPECT_TRUE(wf.finish(w, g.token).ok());
  EXPECT_TRUE(read_workflow(wf.tx)->finished());
  EXPECT_EQ(wf.state(5), JobState::blocked);
  EXPECT_EQ(wf.job(2).outcome.cause, EndCause::canceled);
}

// 2 and 3 depend on 1: 2 on its completion, canceled otherwise, 3 on its failure. 4 waits for 3.
class LiveFollowers : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{1, 0}, {1, 0}, {1, 0}, {1, 0}});
    DependencySet cancels{{range(1, 1)}, {range(2, 1)}};
    cancels.cancels = true;
    DependencySet rescue{{}, {range(3, 1)}};
    rescue.conditional = {{range(1, 1), Condition::afternotok}};
    plan.dependencies = {cancels, rescue, {{range(3, 1)}, {range(4, 1)}}};
    return plan;
  }
  static std::string shown(const Change& change) {
    std::string text;
    for (const Change::Group& g : change.followers) {
      text += std::string(to_string(g.before)) + ">" + std::string(to_string(g.after)) + ":";
      for (const JobId id : g.first) text += std::to_string(raw(id));
      text += std::to_string(g.jobs) + " ";
    }
    return text;
  }
  Change apply(const Result<Change>& changed) {
    ++wf.tx.number;
    EXPECT_TRUE(changed.ok());
    wf.check();
    return changed.ok() ? *changed : Change{};
  }

  TestWorkflow wf{plan()};
};

TEST_F(LiveFollowers, what_a_cancel_and_a_retry_do_to_others_is_told) {
  const JobRange first = range(1, 1);
  ++wf.tx.number;
  EXPECT_EQ(shown(apply(cancel_jobs(wf.tx, {&first, 1}, kNoon))),
            "blocked>ready:31 blocked>canceled:21 ");
  EXPECT_EQ(shown(apply(retry_jobs(wf.tx, {&first, 1}))), "canceled>blocked:21 ");
}

TEST_F(LiveFollowers, what_was_named_itself_is_none_of_them) {
  const JobRange all = range(1, 2);
  ++wf.tx.number;
  EXPECT_EQ(shown(apply(cancel_jobs(wf.tx, {&all, 1}, kNoon))), "blocked>ready:31 ");
}

TEST_F(LiveFollowers, a_job_canceled_for_another_is_left_alone_and_named) {
  const JobRange first = range(1, 1);
  const JobRange second = range(2, 1);
  const JobRange both = range(1, 2);
  ++wf.tx.number;
  (void)apply(cancel_jobs(wf.tx, {&first, 1}, kNoon));
  const Change alone = apply(retry_jobs(wf.tx, {&second, 1}));
  EXPECT_EQ(alone.total(), 0U);
  EXPECT_EQ(alone.passed_over, std::vector<JobId>{JobId{2}});
  EXPECT_TRUE(apply(retry_jobs(wf.tx, {&both, 1})).passed_over.empty())
      << "it waits again with the other";
}

TEST_F(Live, canceling_twice_changes_nothing_more) {
  (void)cancel({range(1, 7)});
  const auto before = wf.tx.entries;
  const Change again = cancel({range(1, 7)});
  EXPECT_EQ(again.total(), 0U);
  EXPECT_EQ(again.left[static_cast<std::size_t>(JobState::canceled)], 7U);
  EXPECT_EQ(wf.tx.entries, before);
}

TEST_F(Live, a_job_canceled_while_blocked_does_not_become_ready_with_its_siblings) {
  (void)cancel({range(5, 1)});
  const WorkerEpoch w = wf.join();
  for (const Grant& g : wf.claim(w, 2)) EXPECT_TRUE(wf.finish(w, g.token).ok());
  EXPECT_EQ(wf.state(5), JobState::canceled);
  EXPECT_EQ(wf.state(6), JobState::ready);
}

TEST_F(Live, the_result_of_a_job_canceled_while_it_ran_is_refused_and_its_worker_is_told) {
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 2);
  const std::uint64_t renewals = read_worker(wf.tx, w)->renewals;
  const Change done = cancel({range(1, 1)});
  EXPECT_EQ(done.ending, 1U);
  EXPECT_EQ(read_worker(wf.tx, w)->renewals, renewals)
      << "a cancel is no sign of life of the worker";
  EXPECT_EQ(read_revoked(wf.tx, w), std::vector{grants[0].token});
  EXPECT_EQ(ask(w).revoked, std::vector{grants[0].token});
  EXPECT_EQ(ask(w).revoked, std::vector{grants[0].token}) << "until it says that it is over";

  const auto answer = wf.finish(w, grants[0].token);
  ASSERT_EQ(answer->refused.size(), 1U);
  EXPECT_EQ(answer->refused[0].why, Refusal::canceled);
  EXPECT_TRUE(answer->revoked.empty());
  EXPECT_EQ(wf.state(1), JobState::canceled);
  EXPECT_EQ(wf.finish(w, grants[0].token)->refused.size(), 1U) << "told twice";
  EXPECT_TRUE(wf.finish(w, grants[1].token)->refused.empty());
}

TEST_F(Live, a_job_that_is_being_ended_runs_again_only_when_its_worker_is_done_with_it) {
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  (void)cancel({range(1, 1)});
  EXPECT_EQ(retry({range(1, 1)}).ending, 1U);
  EXPECT_EQ(retry({range(1, 1)}).total(), 0U) << "asked again";
  const WorkerEpoch other = wf.join();
  EXPECT_EQ(ids(wf.claim(other, 9)), (std::vector<std::uint64_t>{2, 3, 4}));
  Exchange request;
  request.worker = w;
  request.returns = {grants[0].token};
  EXPECT_TRUE(wf.say(request).ok());
  EXPECT_EQ(wf.state(1), JobState::ready);
  const auto next = wf.claim(other, 9);
  ASSERT_EQ(ids(next), std::vector<std::uint64_t>{1});
  EXPECT_EQ(next[0].token.attempt, 2U);
}

TEST_F(Live, a_second_cancel_takes_the_retry_back) {
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  (void)cancel({range(1, 1)});
  (void)retry({range(1, 1)});
  EXPECT_EQ(cancel({range(1, 1)}).total(), 1U);
  EXPECT_TRUE(wf.finish(w, grants[0].token).ok());
  EXPECT_EQ(wf.state(1), JobState::canceled);
}

TEST_F(Live, a_worker_that_is_gone_has_ended_what_was_canceled) {
  const WorkerEpoch leaves = wf.join();
  const WorkerEpoch dies = wf.join();
  (void)wf.claim(leaves, 1);
  (void)wf.claim(dies, 1);
  (void)cancel({range(1, 2)});
  (void)retry({range(1, 2)});
  ++wf.tx.number;
  EXPECT_TRUE(release_worker(wf.tx, leaves, kNoon).ok());
  wf.check();
  EXPECT_EQ(wf.state(1), JobState::ready);
  ++wf.tx.number;
  EXPECT_TRUE(*expire_worker(wf.tx, dies, read_worker(wf.tx, dies)->renewals, kNoon, 1));
  wf.check();
  EXPECT_EQ(wf.state(2), JobState::ready) << "it was canceled, not lost";
}

TEST_F(Live, a_retry_makes_what_depends_on_the_job_reachable_again) {
  const WorkerEpoch w = wf.join();
  auto grants = wf.claim(w, 2);
  EXPECT_TRUE(wf.finish(w, grants[0].token, JobState::failed).ok());
  EXPECT_TRUE(wf.finish(w, grants[1].token).ok());
  EXPECT_EQ(retry({range(1, 7)}).total(), 1U);
  EXPECT_EQ(wf.job(1).attempt, 1U);
  grants = wf.claim(w, 1);
  ASSERT_EQ(ids(grants), std::vector<std::uint64_t>{1}) << "before what became ready later";
  EXPECT_EQ(grants[0].token.attempt, 2U);
  EXPECT_TRUE(wf.finish(w, grants[0].token).ok());
  EXPECT_EQ(wf.state(5), JobState::ready);
  EXPECT_EQ(wf.state(6), JobState::ready);
}

TEST_F(Live, a_job_canceled_before_its_turn_and_retried_leaves_no_trace) {
  const auto before = wf.tx.entries;
  (void)cancel({range(1, 7)});
  EXPECT_EQ(retry({range(1, 7)}).total(), 7U);
  EXPECT_EQ(wf.state(7), JobState::blocked);
  EXPECT_EQ(wf.tx.entries, before);
}

TEST_F(Live, the_losses_before_a_retry_do_not_count_any_more) {
  const auto run = [&](WorkerEpoch w) {
    Exchange request;
    request.worker = w;
    for (const Grant& g : wf.claim(w, 1)) request.starts.push_back({g.token, kNoon});
    EXPECT_TRUE(wf.say(request).ok());
  };
  for (int round = 0; round < 2; ++round) {
    const WorkerEpoch w = wf.join();
    run(w);
    ++wf.tx.number;
    EXPECT_TRUE(*expire_worker(wf.tx, w, read_worker(wf.tx, w)->renewals, kNoon, 2));
    wf.check();
  }
  EXPECT_EQ(wf.state(1), JobState::failed);
  (void)retry({range(1, 1)});
  const WorkerEpoch w = wf.join();
  run(w);
  ++wf.tx.number;
  EXPECT_TRUE(*expire_worker(wf.tx, w, read_worker(wf.tx, w)->renewals, kNoon, 2));
  EXPECT_EQ(wf.state(1), JobState::ready);
}

TEST_F(Live, held_jobs_are_not_claimed_and_do_not_become_ready_until_released) {
  EXPECT_EQ(hold({range(3, 3)}).total(), 3U);
  EXPECT_EQ(in(JobState::held), 3U);
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 9);
  EXPECT_EQ(ids(grants), (std::vector<std::uint64_t>{1, 2}));
  for (const Grant& g : grants) EXPECT_TRUE(wf.finish(w, g.token).ok());
  EXPECT_EQ(wf.state(5), JobState::held) << "its dependencies have completed";
  EXPECT_EQ(ids(wf.claim(w, 9)), std::vector<std::uint64_t>{6});
  EXPECT_EQ(release({range(1, 7)}).total(), 3U);
  EXPECT_EQ(ids(wf.claim(w, 9)), (std::vector<std::uint64_t>{3, 4, 5}));
}

TEST_F(Live, a_released_job_whose_dependencies_are_open_is_blocked_again) {
  (void)hold({range(7, 1)});
  (void)release({range(7, 1)});
  EXPECT_EQ(wf.state(7), JobState::blocked);
  EXPECT_FALSE(wf.tx.get(Key(Table::job, 7))) << "it has no record again";
}

TEST_F(Live, what_runs_is_not_held) {
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  const Change done = hold({range(1, 1)});
  EXPECT_EQ(done.total(), 0U);
  EXPECT_EQ(done.left[static_cast<std::size_t>(JobState::claimed)], 1U);
  EXPECT_TRUE(wf.finish(w, grants[0].token)->refused.empty());
}

TEST_F(Live, jobs_that_became_ready_later_are_found_in_their_queue_too) {
  const WorkerEpoch w = wf.join();
  for (const Grant& g : wf.claim(w, 2)) EXPECT_TRUE(wf.finish(w, g.token).ok());
  EXPECT_EQ(cancel({range(6, 1)}).total(), 1U);  // age: the commit that opened its barrier
  EXPECT_EQ(ids(wf.claim(w, 9)), (std::vector<std::uint64_t>{3, 4, 5}));
}

TEST_F(Live, a_range_beyond_the_last_job_is_no_job) {
  EXPECT_EQ(cancel({range(7, 100)}).total(), 1U);
}

TEST(LiveSweep, canceling_one_job_of_a_sweep_costs_the_job_and_not_the_sweep) {
  TestWorkflow wf(plan_of({{1000, 0}}));
  const std::size_t before = wf.tx.entries.size();
  ++wf.tx.number;
  const std::vector<JobRange> one{range(500, 1)};
  ASSERT_TRUE(cancel_jobs(wf.tx, one, kNoon).ok());
  wf.check();
  EXPECT_EQ(wf.tx.entries.size(), before + 3)
      << "its record, its place in the list, a range cut in two";
}

}  // namespace
}  // namespace torc::claim
