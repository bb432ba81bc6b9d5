// Attempts before the newest stay known, however they were followed by another.
#include "lib/claim/tables/past_attempts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <vector>

#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

struct Seen {
  std::uint64_t job;
  std::uint32_t attempt;
  JobState state;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.job << "#" << seen.attempt << " " << to_string(seen.state);
}

std::vector<Seen> past(const TestWorkflow& wf) {
  std::vector<Seen> all;
  const auto read = scan_past_attempts(wf.tx, [&](JobId id, const Job& attempt) {
    all.push_back({raw(id), attempt.attempt, attempt.state});
    return true;
  });
  EXPECT_TRUE(read.ok());
  return all;
}

class PastAttempts : public testing::Test {
 protected:
  ClaimToken claim() {
    const auto grants = wf.claim(worker, 1);
    EXPECT_EQ(grants.size(), 1U);
    return grants.empty() ? ClaimToken{} : grants.front().token;
  }
  void reset() {
    ++wf.tx.number;
    EXPECT_TRUE(reset_jobs(wf.tx, std::vector{range(1, 1)}, Force::no, kNoon).ok());
    wf.check();
  }

  TestWorkflow wf{plan_of({{1, 0}})};
  const WorkerEpoch worker = wf.join();
};

TEST_F(PastAttempts, of_a_job_that_ran_once_there_are_none) {
  const ClaimToken token = claim();
  wf.start(worker, token);
  EXPECT_TRUE(wf.finish(worker, token).ok());
  EXPECT_EQ(past(wf), std::vector<Seen>{});
}

TEST_F(PastAttempts, are_those_that_were_followed_by_another) {
  EXPECT_TRUE(wf.finish(worker, claim(), JobState::failed).ok());
  reset();
  EXPECT_EQ(past(wf), std::vector<Seen>{}) << "its own record still tells";
  const ClaimToken second = claim();
  EXPECT_EQ(past(wf), (std::vector<Seen>{{1, 1, JobState::failed}}));
  wf.start(worker, second);
  EXPECT_TRUE(wf.finish(worker, second).ok());
  reset();
  const ClaimToken third = claim();
  EXPECT_EQ(past(wf), (std::vector<Seen>{{1, 1, JobState::failed}, {1, 2, JobState::completed}}));
  // What is given back before it began was no attempt, and takes none away.
  Exchange request;
  request.worker = worker;
  request.now = kNoon;
  request.returns.push_back(third);
  EXPECT_TRUE(wf.say(request).ok());
  (void)claim();
  EXPECT_EQ(past(wf).size(), 2U);
}

TEST_F(PastAttempts, of_a_worker_that_was_lost_give_the_job_back) {
  wf.start(worker, claim());
  const std::uint64_t renewals = State(wf.tx).lease(worker)->renewals;
  ++wf.tx.number;
  EXPECT_TRUE(expire_worker(wf.tx, worker, renewals, kNoon, 5, EndCause::worker_lost, kNoon).ok());
  wf.check();
  const WorkerEpoch heir = wf.join();
  EXPECT_EQ(wf.claim(heir, 1).size(), 1U);
  EXPECT_EQ(past(wf), (std::vector<Seen>{{1, 1, JobState::ready}}));
}

TEST_F(PastAttempts, tell_all_of_them) {
  const ClaimToken token = claim();
  wf.start(worker, token);
  EXPECT_TRUE(wf.finish(worker, token, JobState::failed).ok());
  const Job before = wf.job(1);
  reset();
  (void)claim();
  std::vector<Job> told;
  EXPECT_TRUE(scan_past_attempts(wf.tx, JobId{1}, [&](JobId, const Job& attempt) {
                told.push_back(attempt);
                return true;
              }).ok());
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].outcome, before.outcome);
  EXPECT_EQ(told[0].claim, before.claim);
  EXPECT_EQ(told[0].worker, worker);
  EXPECT_EQ(told[0].claimed_at, before.claimed_at);
}

// Its worker says only later what it used.
TEST_F(PastAttempts, that_were_canceled_are_told_as_they_ended) {
  const ClaimToken token = claim();
  wf.start(worker, token);
  ++wf.tx.number;
  EXPECT_TRUE(cancel_jobs(wf.tx, std::vector{range(1, 1)}, kNoon).ok());
  Exchange request;
  request.worker = worker;
  request.now = kNoon;
  Finished ended;
  ended.token = token;
  ended.state = JobState::failed;
  ended.outcome.cause = EndCause::signaled;
  ended.outcome.signal = 15;
  ended.outcome.max_rss = mebibytes(7);
  request.finishes.push_back(ended);
  EXPECT_TRUE(wf.say(request).ok());
  EXPECT_EQ(past(wf), std::vector<Seen>{});
  reset();
  (void)claim();
  EXPECT_EQ(past(wf), (std::vector<Seen>{{1, 1, JobState::canceled}}));
  EXPECT_TRUE(scan_past_attempts(wf.tx, JobId{1}, [&](JobId, const Job& attempt) {
                EXPECT_EQ(attempt.outcome.max_rss, mebibytes(7));
                return true;
              }).ok());
}

TEST_F(PastAttempts, are_so_many_and_no_more) {
  for (std::uint32_t n = 0; n < kKeptAttempts + 5; ++n) {
    EXPECT_TRUE(wf.finish(worker, claim(), JobState::failed).ok());
    reset();
  }
  (void)claim();
  const auto kept = past(wf);
  ASSERT_EQ(kept.size(), kKeptAttempts);
  EXPECT_EQ(kept.front().attempt, 6U);
  EXPECT_EQ(kept.back().attempt, kKeptAttempts + 5);
}

// As a dependency that fails when it runs again does it.
TEST(PastAttemptsOfFollowers, outlive_that_the_job_is_not_reached) {
  Plan plan = plan_of({{1, 0}, {1, 0}});
  plan.dependencies.push_back({{range(1, 1)}, {range(2, 1)}});
  plan.dependencies.back().cancels = true;
  TestWorkflow wf{plan};
  const WorkerEpoch w = wf.join();
  for (int job = 0; job < 2; ++job) EXPECT_TRUE(wf.finish(w, wf.claim(w, 1).at(0).token).ok());
  ++wf.tx.number;
  EXPECT_TRUE(reset_jobs(wf.tx, std::vector{range(1, 1)}, Force::no, kNoon).ok());
  EXPECT_TRUE(wf.finish(w, wf.claim(w, 1).at(0).token, JobState::failed).ok());
  ASSERT_EQ(wf.state(2), JobState::canceled);
  EXPECT_EQ(past(wf),
            (std::vector<Seen>{{1, 1, JobState::completed}, {2, 1, JobState::completed}}));
}

}  // namespace
}  // namespace torc::claim
