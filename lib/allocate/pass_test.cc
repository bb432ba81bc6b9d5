#include "lib/allocate/pass.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "lib/allocate/pass_fixture.h"
#include "lib/workflow/plan/moved_scripts.h"

namespace torc::allocate {
namespace {

using claim::Admission;
using claim::AllocationEnd;
using claim::AllocationStage;
using Lists = FakeLauncher::Lists;
using Takes = FakeLauncher::Takes;

TEST_F(PassTest, what_the_jobs_need_is_submitted_once) {
  make_one();
  EXPECT_EQ(pass().submitted, 1U);
  EXPECT_EQ(one().stage, AllocationStage::queued);
  EXPECT_EQ(one().id, launcher_.queue.at(0).id);
  pass_for(2h);
  EXPECT_EQ(launcher_.queue.size(), 1U);
  EXPECT_EQ(launcher_.tried.size(), 1U);
}

// Their workers would go to the original.
TEST_F(PassTest, scripts_of_a_copy_start_workers_for_it_before_any_is_submitted) {
  make_one();
  const Path script = directory_ / "wf.torc" / "slurm" / "s.sbatch";
  const auto read = [&] {
    std::ifstream in(script);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string own = read();
  const auto of_original = workflow::with_other_place(own, store_->directory(), "/o/wf.torc");
  ASSERT_TRUE(of_original.ok());
  ASSERT_NE(*of_original, own);
  std::ofstream(script) << *of_original;
  const PassReport made = pass();
  EXPECT_EQ(made.submitted, 1U);
  ASSERT_EQ(made.said.size(), 1U);
  EXPECT_NE(made.said.front().find("was moved or copied"), std::string::npos);
  EXPECT_EQ(read(), own);
}

TEST_F(PassTest, a_pass_that_is_not_due_asks_nobody) {
  make_one();
  (void)pass();
  const auto looks = launcher_.looks;
  EXPECT_FALSE(pass(Turn::if_due).was_made);
  EXPECT_EQ(launcher_.looks, looks);
  clock_.advance(kPassInterval);
  EXPECT_TRUE(pass(Turn::if_due).was_made);
  EXPECT_EQ(launcher_.looks, looks + 1);
}

TEST_F(PassTest, who_leave_together_make_one_for_all_of_them) {
  make_one();
  (void)pass();
  EXPECT_TRUE(pass(Turn::soon).was_made) << "what went before is no pass of one that left";
  EXPECT_FALSE(pass(Turn::soon).was_made);
  clock_.advance(kLastPassInterval);
  EXPECT_TRUE(pass(Turn::soon).was_made);
  EXPECT_TRUE(pass(Turn::now).was_made) << "a person waits for it";
}

TEST_F(PassTest, who_looks_notes_what_the_queue_says_and_does_nothing_else) {
  make_one();
  launcher_.takes = Takes::later;
  (void)pass();
  launcher_.takes = Takes::at_once;
  clock_.advance(1h);
  const auto tried = launcher_.tried.size();
  EXPECT_EQ(look(), "");
  EXPECT_EQ(launcher_.looks, 0U) << "nothing is there yet";
  EXPECT_EQ(launcher_.tried.size(), tried);
  EXPECT_EQ(pass().submitted, 1U);
  const auto looks = launcher_.looks;
  EXPECT_EQ(look(), "");
  EXPECT_EQ(launcher_.looks, looks) << "a pass has just asked";
  launcher_.queue.at(0).stage = slurm::Stage::runs;
  clock_.advance(kPassInterval);
  EXPECT_EQ(look(), "");
  EXPECT_EQ(look(), "");
  EXPECT_EQ(launcher_.looks, looks + 1) << "so has who looked";
  EXPECT_EQ(one().stage, AllocationStage::running);
  EXPECT_EQ(answered_at(), clock_.wall_now());
  EXPECT_TRUE(pass(Turn::if_due).was_made) << "who looks takes no worker's turn";
}

TEST_F(PassTest, no_answer_and_none_of_another_cluster_makes_what_is_known_newer) {
  make_one();
  (void)pass();
  clock_.advance(1h);
  EXPECT_EQ(look(), "");
  const WallTime then = clock_.wall_now();
  ASSERT_EQ(answered_at(), then);
  for (const Lists lists :
       {Lists::nothing, Lists::half, Lists::other_cluster, Lists::whole_other_cluster}) {
    launcher_.lists = lists;
    clock_.advance(1h);
    EXPECT_EQ(look().empty(), lists == Lists::whole_other_cluster);
    EXPECT_EQ(answered_at(), then);
  }
}

// --- one intent, at most one allocation ---

TEST_F(PassTest, what_was_submitted_though_no_answer_came_is_found_by_its_name) {
  make_one();
  launcher_.takes = Takes::unheard;
  EXPECT_EQ(pass().submitted, 0U);
  EXPECT_EQ(one().stage, AllocationStage::intent);
  launcher_.takes = Takes::at_once;
  pass_for(30s);
  EXPECT_EQ(one().stage, AllocationStage::queued);
  EXPECT_EQ(one().id, launcher_.queue.at(0).id);
  pass_for(2h);
  EXPECT_EQ(launcher_.queue.size(), 1U);
}

TEST_F(PassTest, what_is_certainly_not_there_is_submitted_again) {
  make_one();
  launcher_.takes = Takes::never;
  (void)pass();
  launcher_.takes = Takes::at_once;
  pass_for(claim::kIntentAbsentFor);
  EXPECT_EQ(one().stage, AllocationStage::intent);
  pass_for(90s);
  EXPECT_EQ(one().stage, AllocationStage::queued);
  EXPECT_EQ(one().tries, 2U);
  EXPECT_EQ(launcher_.queue.size(), 1U);
}

TEST_F(PassTest, with_an_accounting_it_is_certain_earlier) {
  make_one();
  launcher_.has_accounting = true;
  launcher_.takes = Takes::never;
  (void)pass();
  launcher_.takes = Takes::at_once;
  pass_for(claim::kAbsentFor + 60s);
  EXPECT_EQ(one().stage, AllocationStage::queued);
  EXPECT_EQ(launcher_.queue.size(), 1U);
}

TEST_F(PassTest, no_list_that_says_less_than_all_makes_a_second_one) {
  for (const Lists lists : {Lists::nothing, Lists::half, Lists::other_cluster}) {
    for (const Takes takes : {Takes::unheard, Takes::at_once}) {
      std::filesystem::remove_all(directory_ / "wf.torc");
      launcher_.queue.clear();
      launcher_.lists = Lists::all;
      make_one();
      launcher_.takes = takes;
      (void)pass();
      launcher_.takes = Takes::at_once;
      launcher_.lists = lists;
      pass_for(40min);
      EXPECT_EQ(launcher_.queue.size(), 1U) << static_cast<int>(lists);
      EXPECT_TRUE(claim::is_live(one())) << static_cast<int>(lists);
      store_.reset();
    }
  }
}

TEST_F(PassTest, what_another_user_of_a_group_submitted_is_neither_missed_nor_canceled) {
  make_one();
  (void)pass();
  const std::uint32_t user = std::exchange(context_.world.uid, context_.world.uid + 1);
  launcher_.lists = Lists::empty_but_whole;
  pass_for(2h);
  EXPECT_EQ(one().stage, AllocationStage::queued);
  EXPECT_EQ(launcher_.queue.size(), 1U);
  commit([&](claim::Transaction& tx) { return claim::cancel_allocations(tx, {1}, {}); });
  (void)pass();
  EXPECT_EQ(launcher_.queue.size(), 2U) << "the job still needs one";
  const std::string first = launcher_.queue.at(0).id;
  context_.world.uid = user;
  launcher_.lists = Lists::all;
  (void)pass();
  ASSERT_EQ(launcher_.queue.size(), 1U);
  EXPECT_NE(launcher_.queue.at(0).id, first);
}

TEST_F(PassTest, a_squeue_that_takes_two_minutes_is_asked_once_a_pass) {
  make_one();
  (void)pass();
  launcher_.list_takes = 2min;
  launcher_.lists = Lists::nothing;
  const auto looks = launcher_.looks;
  for (int i = 0; i < 5; ++i) {
    clock_.advance(kPassInterval);
    EXPECT_FALSE(pass(Turn::if_due).unanswered.empty());
  }
  EXPECT_EQ(launcher_.looks, looks + 5);
  EXPECT_EQ(launcher_.queue.size(), 1U);
}

TEST_F(PassTest, a_try_that_acts_after_it_was_given_up_is_canceled) {
  make_one();
  launcher_.takes = Takes::late;
  (void)pass();
  launcher_.takes = Takes::at_once;
  pass_for(claim::kIntentAbsentFor + 2min);
  ASSERT_EQ(launcher_.queue.size(), 1U);
  const std::string kept = launcher_.queue.at(0).id;
  launcher_.act_late();
  ASSERT_EQ(launcher_.queue.size(), 2U);
  // Its worker may be faster than a pass.
  EXPECT_EQ(bind(launcher_.queue.at(1).intent, launcher_.queue.at(1).id), Admission::surplus);
  pass_for(30s);
  ASSERT_EQ(launcher_.queue.size(), 1U);
  EXPECT_EQ(launcher_.queue.at(0).id, kept);
  EXPECT_EQ(one().id, kept);
}

TEST_F(PassTest, a_try_that_acts_twice_leaves_one) {
  make_one();
  launcher_.takes = Takes::unheard;
  (void)pass();
  launcher_.queue.push_back(launcher_.queue.at(0));
  launcher_.queue.at(1).id = "999";
  pass_for(30s);
  ASSERT_EQ(launcher_.queue.size(), 1U);
  EXPECT_EQ(one().id, launcher_.queue.at(0).id);
  EXPECT_EQ(bind(launcher_.queue.at(0).intent, "999"), Admission::surplus);
}

TEST_F(PassTest, who_submits_and_stood_still_before_submits_nothing) {
  make_one();
  stalling_.stall = 40s;
  launcher_.takes = Takes::at_once;
  (void)pass();
  stalling_.stall = 0s;
  EXPECT_TRUE(launcher_.tried.empty());
  EXPECT_EQ(one().stage, AllocationStage::wanted);
  pass_for(2min);
  EXPECT_EQ(launcher_.queue.size(), 1U);
}

TEST_F(PassTest, two_passes_at_once_ask_for_no_more_than_one) {
  // The other one begins and ends after this one has looked, wherever that is.
  for (int views = 1; views < 4; ++views) {
    store_.reset();
    std::filesystem::remove_all(directory_ / "wf.torc");
    launcher_.queue.clear();
    make_one();
    WatchedStore watched(*store_);
    bool was_there = false;
    watched.views = views;
    watched.meanwhile = [&] {
      was_there = true;
      (void)pass();
    };
    EXPECT_TRUE(make_pass(context_, watched, launcher_, {Turn::now, true, "other@here"}).ok());
    EXPECT_TRUE(was_there) << views;
    EXPECT_EQ(launcher_.queue.size(), 1U) << views;
    EXPECT_EQ(ledger().size(), 1U) << views;
  }
}

TEST_F(PassTest, two_who_submit_the_same_intent_submit_it_once) {
  make_one();
  launcher_.meanwhile_submitting = [&] { (void)pass(); };
  (void)pass();
  EXPECT_EQ(launcher_.queue.size(), 1U);
  pass_for(5min);
  EXPECT_EQ(launcher_.queue.size(), 1U);
}

// --- what is asked for ---

TEST_F(PassTest, a_job_that_an_allocation_has_time_for_gets_one) {
  // Of a short walltime less is kept free at its end.
  make(
      "resource_requirements: [{name: r, num_cpus: 1, memory: 1m, runtime: PT60S}]\n"
      "slurm_schedulers: [{name: s, nodes: 1, walltime: \"00:02:00\", allocate: {max: 4}}]\n"
      "jobs: [{name: a, command: x, resource_requirements: r}]\n");
  EXPECT_EQ(pass().submitted, 1U);
}

TEST_F(PassTest, flags_that_a_pass_adds_are_those_of_its_own_scheduler) {
  make_one();
  environment_["TORC_WORKER_FLAGS"] = "--quiet --workers-idle 7s --max-parallel-jobs 9";
  environment_["TORC_ADDED_FLAGS"] = " --workers-idle 7s --max-parallel-jobs 9";
  (void)pass();
  EXPECT_EQ(launcher_.queue.at(0).flags, "--quiet --workers-idle 30s");
  // What a user says himself counts.
  commit([&](claim::Transaction& tx) {
    return claim::want(tx, {1, 1, claim::AskedBy::person, "me", "", 3}, clock_.wall_now());
  });
  environment_ = {{"TORC_WORKER_FLAGS", "--workers-idle 5m"}};
  (void)pass();
  EXPECT_EQ(launcher_.queue.at(1).flags, "--workers-idle 5m --max-parallel-jobs 3");
}

TEST_F(PassTest, what_a_person_asks_for_waits_as_long_as_there_is_work_for_it) {
  make_one();
  commit([&](claim::Transaction& tx) {
    return claim::want(tx, {1, 3, claim::AskedBy::person, "me", "", 0}, clock_.wall_now());
  });
  pass_for(5min);
  EXPECT_EQ(launcher_.queue.size(), 3U);
}

// --- what the batch system refuses ---

TEST_F(PassTest, a_refusal_stops_the_scheduler_until_a_person_begins_anew) {
  make_one();
  launcher_.takes = Takes::refuses;
  EXPECT_EQ(pass().said.size(), 1U);
  EXPECT_EQ(scheduler().stopped, "as it says");
  EXPECT_EQ(one().end, AllocationEnd::refused);
  launcher_.takes = Takes::at_once;
  pass_for(2h);
  EXPECT_EQ(launcher_.tried.size(), 1U);
  commit([&](claim::Transaction& tx) { return claim::manage(tx, 1, true); });
  (void)pass();
  EXPECT_EQ(launcher_.queue.size(), 1U);
}

TEST_F(PassTest, what_may_work_later_is_tried_after_longer_and_longer_pauses) {
  make_one();
  launcher_.takes = Takes::later;
  pass_for(3h);
  std::vector<std::int64_t> minutes;
  for (std::size_t i = 1; i < launcher_.tried.size(); ++i) {
    minutes.push_back(std::chrono::duration_cast<std::chrono::minutes>(launcher_.tried.at(i) -
                                                                       launcher_.tried.at(i - 1))
                          .count());
  }
  EXPECT_EQ(minutes, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 30, 30, 30, 30}));
  EXPECT_EQ(scheduler().said, "as it says");
  launcher_.takes = Takes::at_once;
  pass_for(31min);
  EXPECT_EQ(launcher_.queue.size(), 1U);
  EXPECT_EQ(scheduler().failures, 0U);
}

TEST_F(PassTest, what_may_not_be_submitted_here_waits_for_a_login_node) {
  make_one();
  launcher_.takes = Takes::refuses_here;
  EXPECT_TRUE(pass(Turn::now, false).waits_for_login);
  pass_for(30s);
  launcher_.takes = Takes::at_once;
  EXPECT_TRUE(pass(Turn::now, false).waits_for_login);
  EXPECT_TRUE(launcher_.queue.empty());
  (void)pass(Turn::now, true);
  EXPECT_EQ(launcher_.queue.size(), 1U);
}

}  // namespace
}  // namespace torc::allocate
