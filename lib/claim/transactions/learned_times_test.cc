#include "lib/claim/queries/learned_times.h"

#include <gtest/gtest.h>

#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_gangs.h"
#include "lib/claim/transactions/override.h"

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

// Two sweeps of 30 that declare an hour; the first learns.
class LearnedTimes : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{30, 0}, {30, 0}});
    plan.classes.resize(2);
    for (JobClass& c : plan.classes) c.need.runtime = 1h;
    plan.classes[0].learns_from = 1;
    plan.templates[1].job_class = 1;
    return plan;
  }

  void complete(std::size_t jobs, std::chrono::seconds each) {
    for (const Grant& grant : wf.claim(worker, jobs)) {
      Exchange request;
      request.worker = worker;
      request.now = kNoon;
      Finished f;
      f.token = grant.token;
      f.state = JobState::completed;
      f.outcome.cause = EndCause::exited;
      f.outcome.exit_code = 0;
      f.outcome.started_at = kNoon;
      f.outcome.ended_at = kNoon + each;
      request.finishes.push_back(f);
      ASSERT_TRUE(wf.say(request).ok());
    }
  }

  std::vector<std::uint64_t> granted_with(std::chrono::seconds left) {
    Offer offer = TestWorkflow::offer(64);
    offer.remaining = left;
    return ids(wf.claim(worker, offer));
  }

  TestWorkflow wf{plan()};
  WorkerEpoch worker = wf.join();
};

TEST_F(LearnedTimes, count_in_place_of_what_was_declared_once_there_are_enough) {
  complete(19, 5s);
  EXPECT_TRUE(granted_with(1min).empty());
  complete(1, 5s);
  EXPECT_EQ(read_learned_time(wf.tx, 1)->count(), 20U);
  EXPECT_EQ(learned_time(wf.tx, read_class(wf.tx, 0)), 5s);
  EXPECT_EQ(read_class(wf.tx, 0).need.runtime, 1h) << "by which it is ended";
  EXPECT_EQ(granted_with(1min).size(), 10U);
}

TEST_F(LearnedTimes, keep_a_job_from_a_worker_that_has_too_little_time_for_it) {
  complete(20, 2h);
  EXPECT_EQ(granted_with(1h + 1min).front(), 31U);
}

TEST_F(LearnedTimes, are_kept_of_completed_jobs_alone) {
  for (const Grant& grant : wf.claim(worker, 3))
    ASSERT_TRUE(wf.finish(worker, grant.token, JobState::failed).ok());
  EXPECT_FALSE(read_learned_time(wf.tx, 1));
}

TEST_F(LearnedTimes, of_an_entry_that_does_not_learn_are_not_kept) {
  complete(60, 1s);
  EXPECT_EQ(read_learned_time(wf.tx, 1)->count(), 30U);
  EXPECT_FALSE(read_learned_time(wf.tx, 31));
}

TEST_F(LearnedTimes, give_way_to_what_a_person_says_of_a_job) {
  complete(20, 5s);
  ++wf.tx.number;
  Setting setting;
  setting.needs["runtime"] = 7200;
  ASSERT_TRUE(set_jobs(wf.tx, std::vector<JobRange>{range(21, 1)}, setting).ok());
  wf.check();
  const auto granted = granted_with(1min);
  EXPECT_EQ(granted.size(), 9U);
  EXPECT_EQ(granted.front(), 22U);
}

TEST_F(LearnedTimes, that_contradict_their_own_counts_are_found) {
  complete(20, 5s);
  std::string bytes(*wf.tx.get(Key(Table::learned_time, 1)));
  ++bytes[0];
  wf.tx.put(Key(Table::learned_time, 1), bytes);
  EXPECT_FALSE(verify_state(wf.tx).ok());
  wf.tx.erase(Key(Table::learned_time, 1));
  EXPECT_TRUE(verify_state(wf.tx).ok()) << "none has been measured";
  wf.tx.put(Key(Table::learned_time, 31), LearnedTime().encode());
  EXPECT_FALSE(verify_state(wf.tx).ok()) << "that entry does not learn";
}

// Jobs 1 to 30 declare an hour and have taken 5 s; job 31 is of two nodes and goes before them.
class LearnedBackfill : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = gang_plan({{1, 0, 1h, 30}, {2, 5, 1h}});
    plan.classes[0].learns_from = 1;
    return plan;
  }
  LearnedBackfill() {
    LearnedTime time;
    for (int i = 0; i < 20; ++i) time.add(5s);
    wf.tx.put(Key(Table::learned_time, 1), time.encode());
  }
  std::uint64_t free_at(WorkerEpoch worker) { return State(wf.tx).lease(worker)->node->free_at; }
  static std::uint64_t after(std::chrono::seconds time) {
    return static_cast<std::uint64_t>((kNoon + time).count());
  }

  GangWorkflow wf{plan()};
};

TEST_F(LearnedBackfill, a_job_starts_on_a_kept_node_that_has_time_for_what_it_has_taken) {
  const WorkerEpoch busy = wf.join_group("a");
  (void)wf.busy(busy, 100s);
  const WorkerEpoch free = wf.join_group("a");
  const Answer answer = wf.ask(free);
  ASSERT_EQ(ids(answer.grants), std::vector<std::uint64_t>{1}) << "5 s of 100, and not an hour";
  EXPECT_EQ(answer.grants[0].runtime, 5s);
  EXPECT_TRUE(answer.reserved);
  EXPECT_EQ(free_at(free), after(5s)) << "which the list of nodes goes by";
}

TEST_F(LearnedBackfill, the_nodes_of_a_gang_are_free_when_such_jobs_have_ended_before) {
  Plan plan = gang_plan({{2, 0, 1h, 30}});
  plan.classes[0].learns_from = 1;
  GangWorkflow gangs(plan);
  LearnedTime time;
  for (int i = 0; i < 20; ++i) time.add(10s);
  gangs.tx.put(Key(Table::learned_time, 1), time.encode());
  const auto nodes = gangs.join_all("a", 2);
  (void)gangs.ask(nodes[0]);
  const Answer answer = gangs.ask(nodes[1]);
  ASSERT_TRUE(answer.gang.has_value());
  EXPECT_EQ(State(gangs.tx).lease(nodes[0])->node->free_at, after(10s));
}

TEST_F(LearnedBackfill, what_declares_a_time_limit_alone_ends_by_that) {
  Plan plan = gang_plan({{2, 5, 1h}, {1, 0, 0s, 4}});
  plan.classes[1].need.time_limit = 50s;
  GangWorkflow limited(plan);
  const WorkerEpoch busy = limited.join_group("a");
  (void)limited.busy(busy, 100s);
  const Answer answer = limited.ask(limited.join_group("a"));
  ASSERT_EQ(answer.grants.size(), 1U);
  EXPECT_EQ(answer.grants[0].runtime, 50s);
}

}  // namespace
}  // namespace torc::claim
