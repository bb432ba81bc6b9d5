// What a change of jobs does about what comes between the look at them and the commit.
#include "bin/commands/change/change_jobs.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "lib/worker/loop/session_fixture.h"
#include "lib/workflow/change/trial.h"

namespace torc::cli {
namespace {

using claim::JobState;

class ChangeMeanwhile : public worker::SessionTest {
 protected:
  ChangeMeanwhile() {
    app_.out = std::fopen("/dev/null", "w");
    options_.jobs.words = {"wf.torc"};
  }
  ~ChangeMeanwhile() override { std::fclose(app_.out); }

  void commit(store::Store& store, const store::Store::Body& body) {
    const auto done = workflow::commit_or_try(store, false, body);
    ASSERT_TRUE(done.ok()) << done.error().text();
  }
  // Somebody else's change, which the commit that is under way has not seen. As on another node:
  // the replica of this one is in use.
  void hold(std::uint64_t id) {
    store::World world = context_.world;
    world.replica_roots = {directory_ / "other"};
    std::filesystem::create_directory(directory_ / "other");
    const auto other = store::Store::open(world, store_, {});
    ASSERT_TRUE(other.ok()) << other.error().text();
    const claim::JobRange job{JobId{id}, 1};
    commit(**other, [&](store::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(const auto held, claim::hold_jobs(tx, {&job, 1}));
      (void)held;
      return {};
    });
  }
  // Cancels; before its commit with that number, from 1, is made, `job` is held.
  Result<Exit> cancel_while_held(int commit, std::uint64_t job) {
    int commits = 0;
    bool is_held = false;
    const ChangeKind kind{
        "canceled", "would cancel", claim::states_with(claim::trait::kCancelable),
        [&](claim::Transaction& tx, claim::JobRanges jobs) -> Result<claim::Change> {
          if (!is_held && ++commits == commit) {
            is_held = true;
            hold(job);
          }
          return claim::cancel_jobs(tx, jobs, app_.clock.wall_now());
        }};
    auto done = run_change(app_, options_, kind);
    EXPECT_TRUE(is_held);
    return done;
  }

  App app_{context_, nullptr, stderr};
  ChangeOptions options_;
};

TEST_F(ChangeMeanwhile, a_job_that_has_left_the_state_by_which_it_was_chosen_is_left_alone) {
  make("jobs:\n  - {name: 's_{i}', command: 'true', parameters: {i: '1:3'}}\n",
       store::Engine::journal);
  options_.jobs.state = "ready";
  const auto done = cancel_while_held(1, 2);
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(job(1).state, JobState::canceled);
  EXPECT_EQ(job(2).state, JobState::held);
  EXPECT_EQ(job(3).state, JobState::canceled);
}

TEST_F(ChangeMeanwhile, what_is_named_is_changed_whatever_its_state) {
  make("jobs:\n  - {name: 's_{i}', command: 'true', parameters: {i: '1:3'}}\n",
       store::Engine::journal);
  options_.jobs.words.push_back("s_2");
  options_.jobs.state = "ready";
  ASSERT_TRUE(cancel_while_held(1, 2).ok());
  EXPECT_EQ(job(2).state, JobState::canceled);
}

// A request of so many jobs is several commits.
TEST_F(ChangeMeanwhile, nor_is_it_changed_by_a_later_commit_of_a_long_request) {
  make("jobs:\n  - {name: 's_{i}', command: 'true', parameters: {i: '1:100010'}}\n",
       store::Engine::journal);
  options_.jobs.state = "ready";
  ASSERT_TRUE(cancel_while_held(2, 100'005).ok());
  EXPECT_EQ(job(100'000).state, JobState::canceled);
  EXPECT_EQ(job(100'004).state, JobState::canceled);
  EXPECT_EQ(job(100'005).state, JobState::held);
  EXPECT_EQ(job(100'010).state, JobState::canceled);
}

TEST_F(ChangeMeanwhile, what_is_named_is_changed_by_a_later_commit_too) {
  make("jobs:\n  - {name: 's_{i}', command: 'true', parameters: {i: '1:100010'}}\n",
       store::Engine::journal);
  options_.jobs.words.push_back("s_100005");
  options_.jobs.state = "ready";
  ASSERT_TRUE(cancel_while_held(2, 100'005).ok());
  EXPECT_EQ(job(100'005).state, JobState::canceled);
}

}  // namespace
}  // namespace torc::cli
