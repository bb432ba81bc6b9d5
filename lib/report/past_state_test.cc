#include "lib/report/past_state.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <vector>

#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/undo.h"

namespace torc::report {
namespace {

using claim::JobState;
using claim::range;
using std::chrono::hours;

// Three jobs; what happens is an hour apart, from noon on.
class PastStateTest : public ::testing::Test {
 protected:
  std::vector<claim::Grant> claim_at(WallTime now, std::uint64_t jobs) {
    claim::Exchange request;
    request.worker = worker;
    request.now = now;
    request.offer = claim::TestWorkflow::offer(jobs);
    const auto answer = wf.say(request);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer->grants : std::vector<claim::Grant>{};
  }
  void finish_at(WallTime now, const claim::ClaimToken& token, JobState state) {
    claim::Exchange request;
    request.worker = worker;
    request.now = now;
    claim::Finished f;
    f.token = token;
    f.state = state;
    f.outcome.cause = claim::EndCause::exited;
    f.outcome.exit_code = state == JobState::completed ? 0 : 1;
    f.outcome.ended_at = now;
    request.finishes.push_back(f);
    EXPECT_TRUE(wf.say(request).ok());
  }
  void reset_at(WallTime now, std::uint64_t id) {
    ++wf.tx.number;
    claim::NotedTransaction noted(wf.tx);
    EXPECT_TRUE(claim::reset_jobs(noted, std::vector{range(id, 1)}, claim::Force::no, now).ok());
    claim::keep_change(wf.tx, noted, {now, now, "she@here", "torc reset", "", ""});
  }
  // "waiting running completed failed"
  std::vector<std::uint64_t> at(WallTime time) const {
    const auto state = state_at(wf.tx, time);
    EXPECT_TRUE(state.ok());
    if (!state.ok()) return {};
    return {state->of(JobState::ready), state->of(JobState::running),
            state->of(JobState::completed), state->of(JobState::failed)};
  }
  using Counts = std::vector<std::uint64_t>;

  claim::TestWorkflow wf{claim::plan_of({{3, 0}})};
  claim::WorkerEpoch worker = wf.join();
};

TEST_F(PastStateTest, is_told_by_attempts) {
  const auto grants = claim_at(claim::kNoon + hours(1), 2);
  ASSERT_EQ(grants.size(), 2U);
  finish_at(claim::kNoon + hours(2), grants[0].token, JobState::completed);
  finish_at(claim::kNoon + hours(3), grants[1].token, JobState::failed);
  EXPECT_EQ(at(claim::kNoon), (Counts{3, 0, 0, 0}));
  EXPECT_EQ(at(claim::kNoon + hours(1)), (Counts{1, 2, 0, 0}));
  EXPECT_EQ(at(claim::kNoon + hours(2)), (Counts{1, 1, 1, 0}));
  EXPECT_EQ(at(claim::kNoon + hours(9)), (Counts{1, 0, 1, 1}));
  EXPECT_EQ(state_at(wf.tx, claim::kNoon + hours(2))->running, std::vector{JobId{2}});
}

TEST_F(PastStateTest, what_was_thrown_away_had_completed_before) {
  const auto grants = claim_at(claim::kNoon + hours(1), 1);
  finish_at(claim::kNoon + hours(2), grants[0].token, JobState::completed);
  reset_at(claim::kNoon + hours(4), 1);
  EXPECT_EQ(at(claim::kNoon + hours(3)), (Counts{2, 0, 1, 0}));
  EXPECT_EQ(at(claim::kNoon + hours(5)), (Counts{3, 0, 0, 0}));
  ASSERT_EQ(claim_at(claim::kNoon + hours(6), 1).size(), 1U);
  EXPECT_EQ(at(claim::kNoon + hours(3)), (Counts{2, 0, 1, 0})) << "from its past attempt";
  EXPECT_EQ(at(claim::kNoon + hours(7)), (Counts{2, 1, 0, 0}));
}

TEST_F(PastStateTest, what_failed_had_failed_until_a_person_let_it_run_again) {
  const auto grants = claim_at(claim::kNoon + hours(1), 1);
  finish_at(claim::kNoon + hours(2), grants[0].token, JobState::failed);
  ++wf.tx.number;
  claim::NotedTransaction noted(wf.tx);
  EXPECT_TRUE(claim::retry_jobs(noted, std::vector{range(1, 1)}).ok());
  const WallTime four = claim::kNoon + hours(4);
  claim::keep_change(wf.tx, noted, {four, four, "she@here", "torc retry", "", ""});
  ASSERT_EQ(claim_at(claim::kNoon + hours(6), 1).size(), 1U);
  EXPECT_EQ(at(claim::kNoon + hours(3)), (Counts{2, 0, 0, 1}));
  EXPECT_EQ(at(claim::kNoon + hours(5)), (Counts{3, 0, 0, 0}));
  EXPECT_EQ(at(claim::kNoon + hours(6)), (Counts{2, 1, 0, 0}));
}

TEST_F(PastStateTest, what_was_taken_back_in_time_was_nothing) {
  const auto grants = claim_at(claim::kNoon + hours(1), 1);
  finish_at(claim::kNoon + hours(2), grants[0].token, JobState::completed);
  reset_at(claim::kNoon + hours(4), 1);
  EXPECT_TRUE(claim::undo_change(wf.tx, 1, claim::kNoon + hours(5), "she@here").ok());
  EXPECT_EQ(at(claim::kNoon + hours(4)), (Counts{3, 0, 0, 0}));
  EXPECT_EQ(at(claim::kNoon + hours(6)), (Counts{2, 0, 1, 0}));
}

TEST_F(PastStateTest, jobs_that_were_added_later_were_not_there) {
  claim::Plan more = claim::plan_of({{2, 0}});
  more.templates[0].first = JobId{4};
  claim::Origin origin;
  origin.at = claim::kNoon + hours(4);
  ++wf.tx.number;
  ASSERT_TRUE(claim::add_jobs(wf.tx, std::move(more), std::move(origin)).ok());
  EXPECT_EQ(state_at(wf.tx, claim::kNoon + hours(3))->jobs, 3U);
  EXPECT_EQ(state_at(wf.tx, claim::kNoon + hours(5))->jobs, 5U);
  EXPECT_EQ(at(claim::kNoon + hours(3)), (Counts{3, 0, 0, 0}));
}

TEST_F(PastStateTest, a_commit_has_the_time_of_what_it_did) {
  (void)claim_at(claim::kNoon + hours(1), 1);
  const std::uint64_t first = wf.tx.number;
  (void)claim_at(claim::kNoon + hours(2), 1);
  EXPECT_EQ(**time_of_commit(wf.tx, first), claim::kNoon + hours(1));
  EXPECT_EQ(**time_of_commit(wf.tx, wf.tx.number), claim::kNoon + hours(2));
  EXPECT_FALSE(time_of_commit(wf.tx, wf.tx.number + 1)->has_value());
}

}  // namespace
}  // namespace torc::report
