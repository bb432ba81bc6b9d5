// Jobs that end well, and what is made of it where an output file is not there.
#include "lib/worker/machine/gang_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class Outputs : public StepTest {
 protected:
  void end_with(event::OutputsMade outputs, int exit_code = 0) {
    be_born(2);
    grant({job(1)});
    if (!lane_.empty()) begin_next();
    ASSERT_EQ(state_.running.size(), 1U);
    run_ = state_.running.begin()->first;
    event::Ended event;
    event.run = run_;
    event.how.exit_code = exit_code;
    event.outputs = std::move(outputs);
    feed(std::move(event));
  }
  // The worker looks again, and sees this; how often it looked so far.
  std::size_t look(const event::OutputsMade& outputs) {
    pass(2500ms);
    turn();
    feed(event::OutputsSeen{run_, outputs});
    return count<command::LookAtOutputs>();
  }
  [[nodiscard]] claim::Finished finished() const {
    EXPECT_EQ(state_.talk.finishes.size(), 1U);
    return state_.talk.finishes.empty() ? claim::Finished{} : state_.talk.finishes.back();
  }
  [[nodiscard]] bool is_undecided() const { return state_.talk.finishes.empty(); }

  Run run_{};
};

const event::OutputsMade kAll{"all"};
const event::OutputsMade kSecondMissing{"some", 2};
const event::OutputsMade kSecondMayCome{"some", 2, true};

TEST_F(Outputs, a_job_that_made_them_all_has_completed) {
  end_with(kAll);
  EXPECT_EQ(finished().state, claim::JobState::completed);
  EXPECT_EQ(finished().signature, "all");
}

TEST_F(Outputs, a_job_that_exits_with_0_and_lacks_one_has_failed_by_that) {
  end_with(kSecondMissing);
  EXPECT_EQ(finished().state, claim::JobState::failed);
  EXPECT_EQ(finished().outcome.cause, claim::EndCause::output_missing);
  EXPECT_EQ(finished().outcome.missing_output, 2U);
  EXPECT_EQ(finished().outcome.exit_code, 0);
  EXPECT_EQ(count<command::LookAtOutputs>(), 0U);
  EXPECT_EQ(state_.summary.failed, 1U);
}

TEST_F(Outputs, a_job_that_fails_otherwise_has_failed_by_that) {
  end_with(kAll, 3);
  EXPECT_EQ(finished().outcome.cause, claim::EndCause::exited);
}

TEST_F(Outputs, one_that_may_still_come_is_looked_for_again_before_anything_is_said) {
  end_with(kSecondMayCome);
  EXPECT_TRUE(is_undecided());
  EXPECT_EQ(state_.running.size(), 1U);
  EXPECT_EQ(look(kSecondMayCome), 1U);
  EXPECT_TRUE(is_undecided());
  EXPECT_EQ(look(kAll), 2U);
  EXPECT_EQ(finished().state, claim::JobState::completed);
  EXPECT_EQ(finished().signature, "all");
  EXPECT_TRUE(state_.running.empty());
}

TEST_F(Outputs, one_that_does_not_come_is_missing_after_a_few_looks) {
  end_with(kSecondMayCome);
  std::size_t looks = 0;
  while (is_undecided() && looks < 20) looks = look(kSecondMayCome);
  EXPECT_EQ(looks, 5U);
  EXPECT_EQ(finished().outcome.cause, claim::EndCause::output_missing);
}

TEST_F(Outputs, the_next_look_is_due_and_the_worker_wakes_for_it) {
  end_with(kSecondMayCome);
  EXPECT_LE(wake_at(state_, now_), now_ + 250ms);
}

TEST_F(Outputs, a_worker_that_loses_its_lease_meanwhile_says_nothing_of_the_job) {
  end_with(kSecondMayCome);
  feed(event::LeaseLost{Error{ErrorKind::fenced, "it was given to others", ""}});
  pass(10s);
  turn();
  feed(event::OutputsSeen{run_, kSecondMissing});
  EXPECT_TRUE(state_.talk.finishes.empty());
  EXPECT_TRUE(state_.unmade.empty());
}

class GangOutputs : public GangEnd {
 protected:
  void all_end_well() {
    ClaimedJob job = job_on_each_node();
    job.must_make_files = true;
    head_runs(2, std::move(job));
    event::Ended ended;
    ended.run = *state_.gang->run;
    ended.how.exit_code = 0;
    ended.how.started_at = ended.how.ended_at = wall_;
    ended.outputs = kSecondMissing;  // the other node makes it
    feed(std::move(ended));
    turn();
    EXPECT_EQ(count<command::LookAtOutputs>(), 0U) << "the other node is not done";
    member_ends(1, 0);
    turn();
    ASSERT_EQ(count<command::LookAtOutputs>(), 1U);
  }
  void see_outputs(const event::OutputsMade& outputs) {
    feed(event::OutputsSeen{last<command::LookAtOutputs>()->run, outputs});
    for (int i = 0; i < 10 && finishes().empty(); ++i) {
      turn();
      hear();
    }
  }
};

TEST_F(GangOutputs, are_looked_at_when_all_nodes_have_ended) {
  all_end_well();
  see_outputs(kAll);
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes()[0].state, claim::JobState::completed);
  EXPECT_EQ(finishes()[0].signature, "all");
}

TEST_F(GangOutputs, that_are_missing_then_are_the_failure_of_all) {
  all_end_well();
  see_outputs(kSecondMissing);
  ASSERT_EQ(finishes().size(), 1U);
  EXPECT_EQ(finishes()[0].state, claim::JobState::failed);
  EXPECT_EQ(finishes()[0].outcome.cause, claim::EndCause::output_missing);
}

}  // namespace
}  // namespace torc::worker
