#include "lib/claim/transactions/add.h"

#include <gtest/gtest.h>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/definition.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

// Jobs 1-4 one sweep, 5-6 wait for all of them.
class Add : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{4, 0}, {2, 0}});
    plan.dependencies.push_back({{range(1, 4)}, {range(5, 2)}});
    return plan;
  }

  // `count` jobs of one template, which wait for `upstream`.
  Plan more(std::uint64_t count, std::vector<JobRange> upstream = {}, std::int32_t priority = 0) {
    Plan addition = plan_of({{count, priority}});
    const std::uint64_t next = *count_jobs(wf.tx) + 1;
    addition.templates[0].first = JobId{next};
    if (!upstream.empty())
      addition.dependencies.push_back({std::move(upstream), {range(next, count)}});
    return addition;
  }

  Result<JobRange> add(const Plan& addition, const Origin& origin = {}) {
    ++wf.tx.number;
    auto before = wf.tx.entries;
    auto added = add_jobs(wf.tx, addition, origin);
    if (!added) wf.tx.entries = std::move(before);
    wf.check();
    return added;
  }

  void complete(std::uint64_t id) {
    for (const Grant& g : wf.claim(worker, 64)) {
      Exchange back;
      back.worker = worker;
      if (raw(g.token.job) == id) {
        EXPECT_TRUE(wf.finish(worker, g.token).ok());
      } else {
        back.returns.push_back(g.token);
        EXPECT_TRUE(wf.say(back).ok());
      }
    }
    EXPECT_EQ(wf.state(id), JobState::completed);
  }

  std::vector<std::uint64_t> claimable() {
    auto before = wf.tx.entries;
    const auto grants = wf.claim(worker, 64);
    wf.tx.entries = std::move(before);
    return ids(grants);
  }

  TestWorkflow wf{plan()};
  WorkerEpoch worker = wf.join();
};

TEST_F(Add, jobs_get_the_next_numbers_and_may_run_at_once) {
  const auto added = add(more(3));
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(raw(added->first), 7U);
  EXPECT_EQ(added->count, 3U);
  EXPECT_EQ(read_workflow(wf.tx)->jobs, 9U);
  EXPECT_EQ(claimable(), (std::vector<std::uint64_t>{1, 2, 3, 4, 7, 8, 9}));
}

TEST_F(Add, a_job_that_waits_for_completed_jobs_alone_is_ready_at_once) {
  complete(1);
  complete(2);
  ASSERT_TRUE(add(more(1, {range(1, 2)})).ok());
  EXPECT_EQ(wf.state(7), JobState::ready);
}

TEST_F(Add, a_job_waits_for_what_has_not_completed_of_its_upstream) {
  complete(1);
  ASSERT_TRUE(add(more(1, {range(1, 2)})).ok());
  EXPECT_EQ(wf.state(7), JobState::blocked);
  EXPECT_EQ(waits_for(wf.tx, JobId{7}, 9), std::vector<JobId>{JobId{2}});
  complete(2);
  EXPECT_EQ(wf.state(7), JobState::ready);
}

TEST_F(Add, a_job_that_waits_for_a_failed_one_runs_when_that_was_retried) {
  const auto grants = wf.claim(worker, 1);
  ASSERT_TRUE(wf.finish(worker, grants[0].token, JobState::failed).ok());
  ASSERT_TRUE(add(more(1, {range(1, 1)})).ok());
  EXPECT_EQ(wf.state(7), JobState::blocked);
  ++wf.tx.number;
  ASSERT_TRUE(retry_jobs(wf.tx, std::vector<JobRange>{range(1, 1)}).ok());
  complete(1);
  EXPECT_EQ(wf.state(7), JobState::ready);
}

TEST_F(Add, a_part_of_a_run_of_upstream_jobs_is_cut_out_of_it) {
  ASSERT_TRUE(add(more(1, {range(2, 2)})).ok());
  std::vector<UpstreamRun> runs;
  wf.tx.scan_prefix(Key(Table::upstream), [&](const store::Entry& e) {
    runs.push_back(*decode_upstream(e.key, e.value));
    return true;
  });
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].waiters, std::vector<Waiter>{{1}});
  EXPECT_EQ(runs[1].waiters, (std::vector<Waiter>{{1}, {2}}));
  EXPECT_EQ(runs[2].waiters, std::vector<Waiter>{{1}});
  for (std::uint64_t id = 1; id <= 4; ++id) complete(id);
  EXPECT_EQ(wf.state(5), JobState::ready);
  EXPECT_EQ(wf.state(7), JobState::ready);
}

TEST_F(Add, the_same_upstream_again_takes_its_count_from_the_barrier_that_is_there) {
  complete(1);
  ASSERT_TRUE(add(more(2, {range(1, 4)})).ok());
  EXPECT_EQ(decode_total(*wf.tx.get(Key(Table::countdown, 2))), 3U);
}

TEST_F(Add, upstream_may_be_among_the_added_jobs_and_the_old_ones_together) {
  Plan addition = plan_of({{1, 0}, {1, 0}});
  addition.templates[0].first = JobId{7};
  addition.templates[1].first = JobId{8};
  addition.dependencies.push_back({{range(7, 1), range(4, 1)}, {range(8, 1)}});
  ASSERT_TRUE(add(addition).ok());
  complete(4);
  EXPECT_EQ(wf.state(8), JobState::blocked);
  complete(7);
  EXPECT_EQ(wf.state(8), JobState::ready);
}

TEST_F(Add, a_job_that_is_there_cannot_be_made_to_wait) {
  Plan addition = more(1);
  addition.dependencies.push_back({{range(7, 1)}, {range(6, 1)}});
  const auto added = add(addition);
  ASSERT_FALSE(added.ok());
  EXPECT_NE(added.error().what.find("job 6 exists already"), std::string::npos);
}

TEST_F(Add, numbers_that_are_taken_are_refused) {
  Plan addition = more(1);
  addition.templates[0].first = JobId{6};
  EXPECT_FALSE(add(addition).ok());
}

TEST_F(Add, a_class_that_is_there_is_found_again_and_another_one_is_new) {
  Plan addition = plan_of({{1, 0}, {1, 0}});
  JobClass other;
  other.labels = "x";
  addition.classes = {other, JobClass{}};
  addition.templates[0].first = JobId{7};
  addition.templates[1].first = JobId{8};
  addition.templates[1].job_class = 1;
  ASSERT_TRUE(add(addition).ok());
  EXPECT_EQ(read_template(wf.tx, JobId{7})->job_class, 1U);
  EXPECT_EQ(read_class(wf.tx, 1).labels, "x");
  EXPECT_EQ(read_template(wf.tx, JobId{8})->job_class, 0U);
}

TEST_F(Add, a_reset_of_what_added_jobs_are_built_on_takes_these_back_too) {
  complete(1);
  ASSERT_TRUE(add(more(1, {range(1, 1)})).ok());
  complete(7);
  ++wf.tx.number;
  const auto change = reset_jobs(wf.tx, std::vector<JobRange>{range(1, 1)}, Force::no, kNoon);
  ASSERT_TRUE(change.ok());
  wf.check();
  EXPECT_EQ(wf.state(7), JobState::blocked);
  complete(1);
  EXPECT_EQ(wf.state(7), JobState::ready);
}

TEST_F(Add, it_is_known_who_added_a_job) {
  Origin origin;
  origin.parent = JobId{5};
  origin.attempt = 2;
  origin.depth = 3;
  origin.root = JobId{1};
  origin.at = kNoon;
  origin.by = "me@here";
  origin.state = R"({"x":1})";
  ASSERT_TRUE(add(more(2), origin).ok());
  ASSERT_TRUE(add(more(1)).ok());
  EXPECT_FALSE(*read_origin(wf.tx, JobId{6}));
  const auto told = *read_origin(wf.tx, JobId{8});
  ASSERT_TRUE(told);
  EXPECT_EQ(raw(told->jobs.first), 7U);
  EXPECT_EQ(told->parent, JobId{5});
  EXPECT_EQ(told->attempt, 2U);
  EXPECT_EQ(told->depth, 3U);
  EXPECT_EQ(told->root, JobId{1});
  EXPECT_EQ(told->by, "me@here");
  EXPECT_EQ(told->state, R"({"x":1})");
  EXPECT_EQ(raw((*read_origin(wf.tx, JobId{9}))->parent), 0U);
}

TEST_F(Add, definitions_are_found_by_key_and_replaced) {
  Plan addition = more(1);
  addition.definitions = {{"a1", "one"}, {"a3", "three"}};
  ASSERT_TRUE(add(addition).ok());
  addition = more(1);
  addition.definitions = {{"a1", "first"}, {"b", "b"}};
  ASSERT_TRUE(add(addition).ok());
  EXPECT_EQ(read_definition(wf.tx, "a1"), "first");
  EXPECT_FALSE(read_definition(wf.tx, "a2"));
  EXPECT_EQ(definition_up_to(wf.tx, "a", "a2")->value, "first");
  EXPECT_EQ(definition_up_to(wf.tx, "a", "a3")->key, "a3");
  EXPECT_FALSE(definition_up_to(wf.tx, "a", "a0"));
  EXPECT_FALSE(definition_up_to(wf.tx, "c", "c"));
}

TEST_F(Add, an_entry_of_an_addition_that_is_lost_is_missed) {
  Plan addition = more(2, {range(1, 1)});
  addition.definitions = {{"a", "one"}};
  Origin origin;
  origin.state = "s";
  ASSERT_TRUE(add(addition, origin).ok());
  for (const Table table : {Table::addition, Table::definition}) {
    std::vector<std::string> keys;
    wf.tx.scan_prefix(Key(table), [&](const store::Entry& e) {
      keys.emplace_back(e.key);
      return true;
    });
    EXPECT_EQ(keys.size(), 2U);
    for (const std::string& key : keys) {
      store::MemoryState damaged = wf.tx;
      damaged.erase(key);
      EXPECT_FALSE(verify_state(damaged).ok()) << static_cast<char>(table) << key.size();
    }
  }
}

}  // namespace
}  // namespace torc::claim
