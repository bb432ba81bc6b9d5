#include "lib/clean/rules.h"

#include <gtest/gtest.h>

namespace torc::clean {
namespace {

using namespace std::chrono_literals;
using claim::JobState;

claim::Job job_in(JobState state) {
  claim::Job job;
  job.state = state;
  job.attempt = 3;
  job.claimed_at = 200s;
  job.outcome.ended_at = 300s;
  return job;
}
AttemptName output_of(std::uint32_t attempt) {
  return {JobId{1}, attempt, Part::output};
}
AttemptName directory_of(std::uint32_t attempt) {
  return {JobId{1}, attempt, Part::directory};
}
constexpr Wishes kAll{true, std::nullopt};
constexpr Wishes kPlain{false, std::nullopt};

TEST(CleanRules, nothing_of_a_job_goes_that_a_worker_has) {
  for (const JobState state : claim::all_states()) {
    claim::Job revoked = job_in(state);
    revoked.revoked = claim::Revoked::ending;
    for (const std::uint32_t attempt : {1U, 2U, 3U}) {
      for (const AttemptName& name : {output_of(attempt), directory_of(attempt)}) {
        EXPECT_FALSE(may_go(revoked, name, kAll)) << claim::to_string(state);
        if (claim::is_live(state)) {
          EXPECT_FALSE(may_go(job_in(state), name, kAll)) << claim::to_string(state);
        }
      }
    }
    EXPECT_FALSE(may_go_packed(revoked, kAll));
  }
}

TEST(CleanRules, an_attempt_that_the_store_does_not_know_stays) {
  for (const JobState state : claim::all_states()) {
    EXPECT_FALSE(may_go(job_in(state), output_of(4), kAll));
    EXPECT_FALSE(may_go(job_in(state), directory_of(4), kAll));
  }
}

TEST(CleanRules, of_the_newest_attempt_only_what_nobody_needs_goes) {
  for (const JobState state : claim::all_states()) {
    const claim::Job job = job_in(state);
    const bool is_done = state == JobState::completed;
    EXPECT_FALSE(may_go(job, output_of(3), kPlain)) << claim::to_string(state);
    EXPECT_EQ(may_go(job, output_of(3), kAll), is_done) << claim::to_string(state);
    EXPECT_EQ(may_go_packed(job, kAll), is_done) << claim::to_string(state);
    EXPECT_FALSE(may_go_packed(job, kPlain)) << claim::to_string(state);
    EXPECT_EQ(may_go(job, directory_of(3), kPlain), claim::is_terminal(state))
        << claim::to_string(state);
    EXPECT_EQ(may_go(job, output_of(2), kPlain), !claim::is_live(state)) << claim::to_string(state);
  }
}

TEST(CleanRules, a_time_that_is_not_known_is_not_long_ago) {
  const claim::Job job = job_in(JobState::completed);
  EXPECT_TRUE(may_go(job, output_of(3), {true, 301s}));
  EXPECT_FALSE(may_go(job, output_of(3), {true, 300s}));
  EXPECT_TRUE(may_go(job, output_of(2), {true, 201s}));
  EXPECT_FALSE(may_go(job, output_of(2), {true, 200s}));
  EXPECT_TRUE(may_go_packed(job, {true, 301s}));
  EXPECT_FALSE(may_go_packed(job, {true, 300s}));
  claim::Job unknown = job;
  unknown.claimed_at = {};
  unknown.outcome.ended_at = {};
  for (const std::uint32_t attempt : {2U, 3U})
    EXPECT_FALSE(may_go(unknown, output_of(attempt), {true, 1000s}));
}

TEST(CleanRules, a_log_stays_as_long_as_others_may_be_started_in_its_allocation) {
  claim::Worker left;
  left.status = claim::WorkerStatus::released;
  left.gone_at = 100s;
  left.info.node = "n1";
  claim::Worker lost = left;
  lost.status = claim::WorkerStatus::expired;
  claim::Worker registered;
  const LogName log{"17", ""};
  EXPECT_TRUE(may_go({left}, log, 1000s, kPlain));
  EXPECT_FALSE(may_go({}, log, 1000s, kPlain));
  EXPECT_FALSE(may_go({left, registered}, log, 1000s, kPlain));
  EXPECT_FALSE(may_go({left, lost}, log, 1000s, kPlain));
  lost.info.ends_at = 999s;
  EXPECT_TRUE(may_go({left, lost}, log, 1000s, kPlain));
  EXPECT_FALSE(may_go({left, lost}, log, 998s, kPlain));
  EXPECT_FALSE(may_go({left}, log, 1000s, {false, 100s}));
  EXPECT_TRUE(may_go({left}, {"17", "n1"}, 1000s, kPlain));
  EXPECT_FALSE(may_go({left}, {"17", "n2"}, 1000s, kPlain));
  left.ending = 1;
  EXPECT_FALSE(may_go({left}, log, 1000s, kPlain));
}

}  // namespace
}  // namespace torc::clean
