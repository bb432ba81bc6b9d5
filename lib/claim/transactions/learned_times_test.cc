#include "lib/claim/queries/learned_times.h"

#include <gtest/gtest.h>

#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
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

}  // namespace
}  // namespace torc::claim
