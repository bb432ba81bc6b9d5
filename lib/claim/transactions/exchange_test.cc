#include <gtest/gtest.h>

#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

using Ids = std::vector<std::uint64_t>;

TEST(Claim, higher_priorities_go_first_then_lower_ids) {
  TestWorkflow wf(plan_of({{2, 0}, {2, 5}, {1, -1}}));
  const WorkerEpoch w = wf.join();
  EXPECT_EQ(ids(wf.claim(w, 10)), (Ids{3, 4, 1, 2, 5}));
}

TEST(Claim, a_job_that_does_not_fit_is_passed_over_for_lower_priorities_that_do) {
  Plan plan = plan_of({{1, 9}, {3, 0}});
  plan.classes.push_back(JobClass{.need = {.cpus = 8}, .scheduler = "", .labels = ""});
  plan.templates[0].job_class = 1;
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  Offer small = TestWorkflow::offer(2);
  small.total_cpus = 16;
  EXPECT_EQ(ids(wf.claim(w, small)), (Ids{2, 3}));
  EXPECT_EQ(ids(wf.claim(w, 8)), (Ids{1}));
}

TEST(Claim, only_what_the_walltime_label_scheduler_nodes_and_totals_allow_is_granted) {
  Plan plan = plan_of({{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}});
  plan.classes.resize(6);
  plan.classes[0].need.runtime = std::chrono::seconds(101);
  plan.classes[1].labels = "fast";
  plan.classes[2].scheduler = "gpu";
  plan.classes[3].need.nodes = 2;
  plan.classes[4].need.gpus = 1;
  plan.classes[5].need.runtime = std::chrono::seconds(100);
  for (std::uint32_t i = 0; i < 6; ++i) plan.templates[i].job_class = i;
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  Offer offer = TestWorkflow::offer(8);
  offer.remaining = std::chrono::seconds(100);
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{6}));
  offer.labels = "fast";
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{2}));
  offer.scheduler = "gpu";
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{3}));
  offer.gpus = offer.total_gpus = 1;
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{5}));
  offer.nodes = 2;
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{4}));
  offer.remaining.reset();
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{1}));
}

TEST(Claim, a_worker_that_serves_everybody_is_bound_by_no_scheduler_or_label) {
  Plan plan = plan_of({{1, 0}});
  plan.classes[0].scheduler = "gpu";
  plan.classes[0].labels = "fast";
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  Offer offer = TestWorkflow::offer(8);
  EXPECT_TRUE(wf.claim(w, offer).empty());
  offer.any_binding = true;
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{1}));
}

TEST(Claim, a_job_needs_all_of_its_labels) {
  Plan plan = plan_of({{1, 0}, {1, 0}, {1, 0}});
  plan.classes.resize(3);
  plan.classes[1].labels = "gpu";
  plan.classes[2].labels = "gpu,ssd";
  for (std::uint32_t t = 0; t < 3; ++t) plan.templates[t].job_class = t;
  const auto granted = [&](const std::string& labels, bool also_unlabelled) {
    TestWorkflow wf(plan);
    Offer offer = TestWorkflow::offer(8);
    offer.labels = labels;
    offer.also_unlabelled = also_unlabelled;
    return ids(wf.claim(wf.join(), offer));
  };
  EXPECT_EQ(granted("", false), (Ids{1}));
  EXPECT_EQ(granted("gpu", false), (Ids{2}));
  EXPECT_EQ(granted("ssd", false), (Ids{}));
  EXPECT_EQ(granted("gpu,ssd", false), (Ids{2, 3}));
  EXPECT_EQ(granted("gpu,ssd", true), (Ids{1, 2, 3}));
}

TEST(Claim, a_job_is_started_where_its_least_time_is_left) {
  const auto is_granted = [](std::chrono::seconds runtime, std::chrono::seconds time_limit,
                             std::chrono::seconds min_time) {
    Plan plan = plan_of({{1, 0}});
    plan.classes[0].need.runtime = runtime;
    plan.classes[0].need.time_limit = time_limit;
    plan.classes[0].need.min_time = min_time;
    TestWorkflow wf(plan);
    Offer offer = TestWorkflow::offer(8);
    offer.remaining = std::chrono::minutes(10);
    return !wf.claim(wf.join(), offer).empty();
  };
  using namespace std::chrono_literals;
  EXPECT_TRUE(is_granted(9min, 1h, 0s));
  EXPECT_FALSE(is_granted(11min, 1h, 0s));
  EXPECT_FALSE(is_granted(0s, 11min, 0s));
  EXPECT_TRUE(is_granted(2h, 0s, 9min));
  EXPECT_FALSE(is_granted(2h, 0s, 11min));
}

Plan plan_with_names(const std::vector<Amounts>& needs, std::uint64_t jobs = 1) {
  Plan plan;
  plan.name = "named";
  std::uint64_t next = 1;
  for (const Amounts& named : needs) {
    JobClass c;
    c.need.named = named;
    Template t;
    t.first = JobId{next};
    t.count = jobs;
    t.job_class = static_cast<std::uint32_t>(plan.classes.size());
    next += jobs;
    plan.classes.push_back(c);
    plan.templates.push_back(t);
  }
  return plan;
}

Offer offer_with_names() {
  Offer offer = TestWorkflow::offer(16);
  offer.gpus = offer.total_gpus = 2;
  offer.pieces = {{"gpus/a100"}, {"gpus"}, {"port"}, {"port"}};
  offer.total_more.named =
      offer.more.named = {{"gpus/a100", 1000, true}, {"port", 2000, true}, {"scratch", 5000}};
  return offer;
}

TEST(Claim, jobs_get_what_has_a_name_as_long_as_there_is_some) {
  TestWorkflow wf(plan_with_names({{{"port", 1000}}, {{"scratch", 2000}}, {{"gpus", 500}}}, 5));
  // Two ports, two parts of the sum, four halves of GPUs.
  EXPECT_EQ(ids(wf.claim(wf.join(), offer_with_names())), (Ids{1, 2, 6, 7, 11, 12, 13, 14}));
}

TEST(Claim, who_has_none_of_it_gets_no_job_that_needs_it) {
  TestWorkflow wf(plan_with_names({{{"port", 1000}}, {{"gpus/a100", 1000}}, {}}));
  EXPECT_EQ(ids(wf.claim(wf.join(), TestWorkflow::offer(8))), (Ids{3}));
}

TEST(Claim, a_gpu_of_a_type_is_for_who_asks_for_it_first) {
  Plan plan = plan_with_names({{}, {{"gpus/a100", 1000}}, {}});
  plan.classes[0].need.gpus = plan.classes[2].need.gpus = 1;
  plan.templates[1].priority = -1;
  plan.templates[2].priority = -2;
  TestWorkflow wf(plan);
  EXPECT_EQ(ids(wf.claim(wf.join(), offer_with_names())), (Ids{1, 2}));
}

TEST(Claim, what_has_a_name_is_not_claimed_ahead) {
  TestWorkflow wf(plan_with_names({{{"port", 1000}}, {}}, 4));
  Offer offer = offer_with_names();
  offer.max_jobs = 3;
  offer.prefetch = 10;
  EXPECT_EQ(ids(wf.claim(wf.join(), offer)), (Ids{1, 2, 5, 6, 7, 8}));
}

TEST(Claim, a_job_of_several_nodes_wants_nodes_that_have_what_it_names) {
  Plan plan = plan_with_names({{{"port", 2000}}, {{"port", 3000}}});
  for (JobClass& c : plan.classes) c.need.nodes = 2;
  TestWorkflow wf(plan);
  Offer offer = offer_with_names();
  offer.nodes = 2;
  EXPECT_EQ(ids(wf.claim(wf.join(), offer)), (Ids{1}));
}

TEST(Claim, a_job_of_several_nodes_wants_the_whole_worker) {
  Plan plan = plan_of({{2, 1}, {4, 0}});
  plan.classes.resize(2);
  plan.classes[1].need.nodes = 2;
  plan.templates[0].job_class = 1;
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  Offer offer = TestWorkflow::offer(8);
  offer.nodes = 2;
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{1}));
  offer.cpus = 7;
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{3, 4, 5, 6}));
}

TEST(Claim, queue_depth_mode_counts_jobs_and_nothing_else) {
  Plan plan = plan_of({{5, 0}});
  plan.classes[0].need.cpus = 1000;
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  Offer offer;
  offer.ignore_resources = true;
  offer.max_jobs = 3;
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{1, 2, 3}));
}

TEST(Claim, ranges_of_two_classes_alternate_by_id) {
  Plan plan = plan_of({{2, 0}, {2, 0}, {2, 0}, {2, 0}});
  plan.classes.resize(2);
  plan.classes[1].labels = "x";
  plan.templates[1].job_class = plan.templates[3].job_class = 1;
  TestWorkflow wf(plan);
  const WorkerEpoch w = wf.join();
  Offer offer = TestWorkflow::offer(7);
  offer.labels = "x";
  EXPECT_EQ(ids(wf.claim(w, offer)), (Ids{1, 2, 3, 4, 5, 6, 7}));
}

TEST(Claim, the_sort_method_packs_the_largest_first_within_a_priority) {
  Plan plan = plan_of({{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 1}});
  plan.classes.resize(4);
  plan.classes[1].need.gpus = 1;
  plan.classes[2].need.runtime = std::chrono::hours(1);
  plan.classes[3].need.memory = mebibytes(100);
  for (std::uint32_t i = 0; i < 4; ++i) plan.templates[i].job_class = i;
  Offer offer = TestWorkflow::offer(8);
  offer.gpus = offer.total_gpus = 1;
  for (auto [sort, order] : {std::pair{SortMethod::none, Ids{5, 1, 2, 3, 4}},
                             {SortMethod::gpus_runtime_memory, Ids{5, 2, 3, 4, 1}},
                             {SortMethod::gpus_memory_runtime, Ids{5, 2, 4, 3, 1}}}) {
    plan.sort = sort;
    TestWorkflow wf(plan);
    EXPECT_EQ(ids(wf.claim(wf.join(), offer)), order);
  }
}

TEST(Claim, prefetch_takes_no_more_than_a_fair_share) {
  TestWorkflow wf(plan_of({{102, 0}}));
  const WorkerEpoch w = wf.join();
  wf.join();
  Offer offer = TestWorkflow::offer(2);
  offer.prefetch = 1000;
  EXPECT_EQ(wf.claim(w, offer).size(), 2U + 100U / (2 * 2));
  offer.cpus = 0;
  offer.prefetch = 3;
  EXPECT_EQ(wf.claim(w, offer).size(), 3U);
}

TEST(Claim, a_worker_that_is_alone_claims_ahead_all_that_it_asks_for) {
  TestWorkflow wf(plan_of({{12, 0}}));
  const WorkerEpoch w = wf.join();
  Offer offer = TestWorkflow::offer(2);
  offer.prefetch = 1000;
  EXPECT_EQ(wf.claim(w, offer).size(), 12U);
}

TEST(Claim, a_sweep_of_ten_million_jobs_is_a_handful_of_keys) {
  store::MemoryState tx;
  Plan plan = plan_of({{10'000'000, 0}});
  ASSERT_TRUE(write_plan(tx, plan).ok());
  EXPECT_LE(tx.entries.size(), 10U);
  EXPECT_EQ(read_workflow(tx)->of(JobState::ready), 10'000'000U);
}

TEST(Exchange, a_job_runs_from_ready_to_completed) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(wf.state(1), JobState::claimed);
  Exchange request;
  request.worker = w;
  request.starts.push_back({grants[0].token, kNoon + WallTime(5)});
  ASSERT_TRUE(wf.say(request).ok());
  EXPECT_EQ(wf.state(1), JobState::running);
  EXPECT_EQ(wf.job(1).outcome.started_at, kNoon + WallTime(5));
  const auto answer = wf.finish(w, grants[0].token);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->workflow.all_completed());
  EXPECT_EQ(wf.job(1).outcome.started_at, kNoon + WallTime(5));
  EXPECT_EQ(read_worker(wf.tx, w)->finished, 1U);
}

TEST(Exchange, a_finish_told_twice_is_refused_once) {
  TestWorkflow wf(plan_of({{2, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 2);
  EXPECT_TRUE(wf.finish(w, grants[0].token)->refused.empty());
  const auto again = wf.finish(w, grants[0].token, JobState::failed);
  ASSERT_EQ(again->refused.size(), 1U);
  EXPECT_EQ(again->refused[0].why, Refusal::finished);
  EXPECT_EQ(wf.state(1), JobState::completed);
}

TEST(Exchange, a_start_of_a_job_that_finished_in_the_same_commit_is_nothing_new) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  Exchange request;
  request.worker = w;
  request.starts.push_back({grants[0].token, kNoon});
  request.finishes.push_back({grants[0].token, JobState::failed, {}});
  const auto answer = wf.say(request);
  EXPECT_TRUE(answer->refused.empty());
  EXPECT_EQ(wf.state(1), JobState::failed);
}

TEST(Exchange, a_job_given_back_is_as_if_it_had_never_been_claimed) {
  TestWorkflow wf(plan_of({{3, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 3);
  Exchange request;
  request.worker = w;
  for (const Grant& g : grants) request.returns.push_back(g.token);
  EXPECT_TRUE(wf.say(request)->refused.empty());
  EXPECT_EQ(wf.job(2), untouched(JobState::ready));
  const auto again = wf.claim(w, 1);
  EXPECT_EQ(again[0].token.attempt, 1U);
  const auto stale = wf.finish(w, grants[0].token);
  ASSERT_EQ(stale->refused.size(), 1U);
  EXPECT_EQ(stale->refused[0].why, Refusal::superseded);
  EXPECT_EQ(stale->refused[0].holder, w);
}

TEST(Exchange, a_job_to_run_again_uses_up_its_attempt_and_goes_to_the_front) {
  TestWorkflow wf(plan_of({{3, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  ASSERT_TRUE(wf.finish(w, grants[0].token, JobState::ready).ok());
  EXPECT_EQ(wf.job(1).outcome.exit_code, 1);
  const auto again = wf.claim(w, 1);
  EXPECT_EQ(ids(again), Ids{1});
  EXPECT_EQ(again[0].token.attempt, 2U);
  EXPECT_EQ(wf.finish(w, grants[0].token)->refused.size(), 1U);
  EXPECT_EQ(wf.state(1), JobState::claimed);
}

TEST(Exchange, a_job_that_does_not_exist_is_refused_by_name) {
  TestWorkflow wf(plan_of({{3, 0}}));
  const WorkerEpoch w = wf.join();
  const auto answer = wf.finish(w, {JobId{4}, 1, 1});
  ASSERT_EQ(answer->refused.size(), 1U);
  EXPECT_EQ(answer->refused[0].why, Refusal::no_such_job);
}

TEST(Exchange, a_job_cannot_finish_as_running) {
  TestWorkflow wf(plan_of({{3, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 1);
  EXPECT_EQ(wf.finish(w, grants[0].token, JobState::running).error().kind, ErrorKind::invalid);
}

TEST(Exchange, spare_jobs_go_back_only_while_ready_ones_are_scarce) {
  TestWorkflow wf(plan_of({{8, 0}}));
  const WorkerEpoch a = wf.join();
  const WorkerEpoch b = wf.join();
  const auto grants = wf.claim(a, 4);
  Exchange request;
  request.worker = a;
  request.spares = {grants[2].token, grants[3].token};
  EXPECT_FALSE(wf.say(request)->took_spares);  // four are left for two workers
  EXPECT_EQ(wf.state(4), JobState::claimed);
  wf.claim(b, 1);
  EXPECT_TRUE(wf.say(request)->took_spares);
  EXPECT_EQ(wf.job(3), untouched(JobState::ready));
  EXPECT_EQ(ids(wf.claim(b, 9)), (std::vector<std::uint64_t>{3, 4, 6, 7, 8}));
}

TEST(Exchange, what_workers_say_of_the_time_of_jobs_is_told_to_others) {
  using std::chrono::milliseconds;
  TestWorkflow wf(plan_of({{8, 0}}));
  Exchange request;
  request.worker = wf.join();
  EXPECT_EQ(wf.say(request)->job_time, milliseconds(0));
  request.job_time = milliseconds(800);
  EXPECT_EQ(wf.say(request)->job_time, milliseconds(800));
  request.job_time = milliseconds(400);
  EXPECT_EQ(wf.say(request)->job_time, milliseconds(700));
  request.job_time = milliseconds(0);
  EXPECT_EQ(wf.say(request)->job_time, milliseconds(700));
}

}  // namespace
}  // namespace torc::claim
