#include "lib/claim/queries/idle_workers.h"

#include <gtest/gtest.h>

#include <set>

#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/membership.h"

namespace torc::claim {
namespace {

class IdleWorkers : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{20, 0}, {2, 0}});
    plan.classes.push_back(JobClass{});
    plan.classes[1].labels = "gpu";
    plan.templates[1].job_class = 1;
    return plan;
  }

  WorkerEpoch join(const std::string& label = "", bool with_bell = true) {
    WorkerInfo info;
    info.host = "node1";
    info.cpus = 4;
    info.memory = mebibytes(1 << 20);
    info.labels = label;
    info.registered_at = kNoon;
    if (with_bell) info.bell = BellPlace{{{"1234", 7}}, {}};
    ++wf.tx.number;
    const auto epoch = register_worker(wf.tx, info);
    EXPECT_TRUE(epoch.ok());
    wf.check();
    return *epoch;
  }

  std::set<std::uint64_t> idle(IdleSearch search = {{}, 100, 0, false, kNoon}) {
    const auto found = find_idle_workers(wf.tx, search);
    EXPECT_TRUE(found.ok());
    std::set<std::uint64_t> epochs;
    for (const IdleWorker& w : *found) EXPECT_TRUE(epochs.insert(raw(w.epoch)).second);
    return epochs;
  }

  TestWorkflow wf{plan()};
};

TEST_F(IdleWorkers, who_has_had_no_job_yet_is_idle) {
  const WorkerEpoch a = join();
  EXPECT_EQ(idle(), std::set{raw(a)});
}

TEST_F(IdleWorkers, who_got_all_it_asked_for_is_not_and_who_got_less_is_again) {
  const WorkerEpoch a = join();
  const auto four = wf.claim(a, 4);
  ASSERT_EQ(four.size(), 4U);
  EXPECT_TRUE(idle().empty());
  ASSERT_EQ(wf.claim(a, 60).size(), 16U) << "all that there are";
  EXPECT_EQ(idle(), std::set{raw(a)});
}

TEST_F(IdleWorkers, are_found_in_no_time_whatever_a_forged_store_says) {
  wf.tx.put(Key(Table::idle, 0), {});
  wf.tx.put(Key(Table::idle, UINT64_MAX), {});
  EXPECT_TRUE(idle().empty());
}

TEST_F(IdleWorkers, who_asks_for_nothing_is_not) {
  const WorkerEpoch a = join();
  Exchange words;
  words.worker = a;
  ASSERT_TRUE(wf.say(words).ok());
  EXPECT_TRUE(idle().empty());
}

TEST_F(IdleWorkers, who_has_no_job_is_idle_also_while_others_have_its_node) {
  const WorkerEpoch a = join();
  const auto grants = wf.claim(a, 1);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_TRUE(wf.claim(a, 0).empty());
  EXPECT_TRUE(idle().empty());
  ASSERT_TRUE(wf.finish(a, grants[0].token).ok());
  EXPECT_TRUE(wf.claim(a, 0).empty());
  EXPECT_EQ(idle(), std::set{raw(a)});
}

TEST_F(IdleWorkers, who_is_full_is_not_however_few_jobs_filled_it) {
  const WorkerEpoch a = join();
  Offer offer = TestWorkflow::offer(2);
  offer.max_jobs = 8;  // jobs of one CPU, of which there are two
  ASSERT_EQ(wf.claim(a, offer).size(), 2U);
  EXPECT_TRUE(idle().empty());
}

TEST_F(IdleWorkers, who_counts_jobs_and_got_as_many_as_it_asked_for_is_not) {
  const WorkerEpoch a = join();
  Offer offer = TestWorkflow::offer(2);
  offer.ignore_resources = true;
  ASSERT_EQ(wf.claim(a, offer).size(), 2U);
  EXPECT_TRUE(idle().empty());
}

TEST_F(IdleWorkers, who_has_left_or_has_no_bell_is_not) {
  const WorkerEpoch a = join();
  const WorkerEpoch b = join();
  (void)join("", false);
  EXPECT_EQ(idle(), (std::set{raw(a), raw(b)}));
  ++wf.tx.number;
  ASSERT_TRUE(release_worker(wf.tx, a, kNoon).ok());
  wf.check();
  EXPECT_EQ(idle(), std::set{raw(b)});
  ++wf.tx.number;
  ASSERT_TRUE(*expire_worker(wf.tx, b, 1, kNoon, 3));
  wf.check();
  EXPECT_TRUE(idle().empty());
  EXPECT_FALSE(State(wf.tx).worker(b)->info.bell.has_value()) << "its key is nobody's any more";
}

TEST_F(IdleWorkers, only_those_are_found_that_could_run_what_is_ready_and_not_the_asker) {
  const WorkerEpoch plain = join();
  const WorkerEpoch gpu = join("gpu");
  EXPECT_EQ(idle({plain, 100, 0, true, kNoon}), std::set{raw(gpu)});
  const WorkerEpoch asks = join("", false);
  ASSERT_EQ(wf.claim(asks, 20).size(), 20U);
  EXPECT_EQ(idle({asks, 100, 0, true, kNoon}), std::set{raw(gpu)}) << "those of its label are left";
}

TEST_F(IdleWorkers, so_many_are_found_and_at_another_turn_others) {
  std::set<std::uint64_t> all;
  for (int i = 0; i < 20; ++i) all.insert(raw(join()));
  std::set<std::uint64_t> seen;
  for (std::uint64_t turn = 0; turn < 200; ++turn) {
    const auto found = idle({{}, 3, turn, true, kNoon});
    EXPECT_EQ(found.size(), 3U) << "also where the search begins at the end of the ring";
    seen.insert(found.begin(), found.end());
  }
  EXPECT_EQ(seen, all);
}

TEST_F(IdleWorkers, an_entry_that_is_lost_or_that_nobody_made_is_told) {
  const WorkerEpoch a = join();
  ASSERT_TRUE(verify_state(wf.tx).ok());
  wf.tx.erase(Key(Table::idle, raw(a)));
  EXPECT_FALSE(verify_state(wf.tx).ok());
  wf.tx.put(Key(Table::idle, raw(a)), {});
  ASSERT_TRUE(verify_state(wf.tx).ok());
  wf.tx.put(Key(Table::idle, 99), {});
  EXPECT_FALSE(verify_state(wf.tx).ok());
  EXPECT_EQ(idle(), std::set{raw(a)}) << "whoever rings passes it over";
}

}  // namespace
}  // namespace torc::claim
