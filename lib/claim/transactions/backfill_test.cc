// What a group keeps nodes for, and what may start on them all the same.
#include <gtest/gtest.h>

#include <map>

#include "lib/claim/scheduling/node_list.h"
#include "lib/claim/testing/test_gangs.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/override.h"

namespace torc::claim {
namespace {

using std::chrono::seconds;

std::vector<std::uint64_t> granted(const Answer& answer) {
  return ids(answer.grants);
}

// A job of two nodes (1), short ones (2, 3) and long ones (4 to 9) behind it; a worker that is
// free, and one that is busy for another 100 s.
struct Waiting {
  Waiting() : wf(Jobs{{2, 5}, {1, 4, seconds(60), 2}, {1, 3, seconds(1000), 6}}) {
    busy = wf.join_group("a");
    (void)wf.busy(busy, seconds(100));
    free = wf.join_group("a");
  }
  [[nodiscard]] std::optional<Keep> keep(std::string_view group) {
    State state(wf.tx);
    return keep_of(state, hash_of_group(group));
  }
  GangWorkflow wf;
  WorkerEpoch busy{};
  WorkerEpoch free{};
};

TEST(Backfill, only_what_ends_before_the_nodes_are_free_starts_on_those_that_are_kept) {
  Waiting t;
  const Answer answer = t.wf.ask(t.free);
  EXPECT_EQ(granted(answer), std::vector<std::uint64_t>{2}) << "60 s of 100";
  EXPECT_TRUE(answer.reserved);
  ASSERT_TRUE(t.keep("a").has_value());
  EXPECT_EQ(t.keep("a")->job, 1U);
  EXPECT_EQ(t.keep("a")->until, static_cast<std::uint64_t>((kNoon + seconds(100)).count()));
  EXPECT_EQ(t.wf.finish(t.free, answer.grants[0].token)->refused.size(), 0U);
  const Answer later = t.wf.ask(t.free, kNoon + seconds(50));
  EXPECT_TRUE(later.grants.empty()) << "50 s are left, and nothing is as short";
  EXPECT_TRUE(later.reserved);
  EXPECT_EQ(granted(t.wf.ask(t.busy, kNoon + seconds(90))), std::vector<std::uint64_t>{1});
  EXPECT_FALSE(t.keep("a").has_value());
}

TEST(Backfill, nothing_starts_where_nobody_knows_when_the_nodes_are_free) {
  Waiting t;
  (void)t.wf.busy(t.busy, std::nullopt);
  const Answer answer = t.wf.ask(t.free);
  EXPECT_TRUE(answer.grants.empty());
  EXPECT_TRUE(answer.reserved);
}

TEST(Backfill, workers_whose_nodes_are_not_kept_go_on_as_if_nobody_waited) {
  Waiting t;
  (void)t.wf.ask(t.free);
  const WorkerEpoch later = t.wf.join_group("a");
  (void)t.wf.busy(later, seconds(500));
  Exchange e = t.wf.words(later);
  e.offer = t.wf.busy_node(seconds(500));
  e.offer->prefetch = 1;
  const Answer answer = t.wf.told(e);
  EXPECT_FALSE(answer.reserved);
  EXPECT_EQ(answer.grants.size(), 1U) << "it prefetches";
  const WorkerEpoch elsewhere = t.wf.join_group("b");
  EXPECT_EQ(t.wf.ask(elsewhere).grants.size(), 1U);
  EXPECT_EQ(t.wf.ask(t.wf.join(kSlots)).grants.size(), 1U) << "nor do those without a group";
}

TEST(Backfill, a_worker_whose_node_is_kept_prefetches_nothing_and_gives_back_its_spares) {
  GangWorkflow wf(Jobs{{1, 0, seconds(10), 40}, {2, -1}, {1, -2, seconds(10), 40}});
  const WorkerEpoch w = wf.join_group("a");
  const WorkerEpoch other = wf.join_group("a");
  (void)wf.busy(other, seconds(100));
  Exchange e = wf.words(w);
  e.offer = wf.free_node();
  e.offer->prefetch = 2;
  const Answer first = wf.told(e);
  ASSERT_EQ(granted(first), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_FALSE(first.reserved) << "they go before the job of two nodes";
  const std::vector<JobRange> rest{range(4, 37)};
  ++wf.tx.number;
  ASSERT_TRUE(cancel_jobs(wf.tx, rest, kNoon).ok());
  e.offer = wf.busy_node(seconds(30));
  e.offer->prefetch = 2;
  const Answer kept = wf.told(e);
  EXPECT_TRUE(kept.grants.empty()) << "nothing is claimed ahead, also not what would end in time";
  EXPECT_TRUE(kept.reserved);
  e.offer->prefetch = 0;
  e.spares = {first.grants[1].token, first.grants[2].token};
  const Answer back = wf.told(e);
  EXPECT_TRUE(back.took_spares);
  EXPECT_EQ(wf.state(3), JobState::ready);
  EXPECT_EQ(granted(wf.ask(other)), std::vector<std::uint64_t>{2}) << "which goes before it";
}

TEST(Backfill, a_job_that_waits_in_one_group_holds_no_nodes_of_another_that_is_not_sooner) {
  Waiting t;
  (void)t.wf.ask(t.free);
  const WorkerEpoch b1 = t.wf.join_group("b");
  (void)t.wf.busy(b1, seconds(90));
  const WorkerEpoch b2 = t.wf.join_group("b");
  EXPECT_FALSE(t.wf.ask(b2).reserved) << "10 s are no reason to change";
  EXPECT_FALSE(t.keep("b").has_value());
  (void)t.wf.busy(b1, seconds(20));
  const WorkerEpoch b3 = t.wf.join_group("b");
  EXPECT_TRUE(t.wf.ask(b3).reserved);
  EXPECT_TRUE(t.keep("b").has_value());
  EXPECT_FALSE(t.keep("a").has_value());
}

TEST(Backfill, a_job_goes_nowhere_for_nodes_that_should_have_been_free_and_are_not) {
  Waiting t;
  (void)t.wf.ask(t.free);
  ASSERT_TRUE(t.keep("a").has_value());
  const WorkerEpoch b1 = t.wf.join_group("b");
  (void)t.wf.busy(b1, seconds(20));
  const WorkerEpoch b2 = t.wf.join_group("b");
  EXPECT_FALSE(t.wf.ask(b2, kNoon + seconds(30)).reserved) << "who knows when that ends";
  EXPECT_FALSE(t.keep("b").has_value());
}

TEST(Backfill, a_job_goes_nowhere_from_nodes_that_should_have_been_free_and_are_not) {
  Waiting t;
  (void)t.wf.ask(t.free);
  ASSERT_TRUE(t.keep("a").has_value());
  const WallTime late = kNoon + seconds(5000);
  const WorkerEpoch b1 = t.wf.join_group("b");
  (void)t.wf.busy(b1, seconds(20), late);
  const WorkerEpoch b2 = t.wf.join_group("b");
  EXPECT_FALSE(t.wf.ask(b2, late).reserved) << "it has its turn when that ends";
  EXPECT_TRUE(t.keep("a").has_value());
}

TEST(Backfill, a_later_job_of_several_nodes_starts_only_where_it_ends_in_time) {
  for (const bool in_time : {true, false}) {
    GangWorkflow wf(Jobs{{3, 2}, {2, 1, seconds(in_time ? 50 : 500)}});
    const WorkerEpoch busy = wf.join_group("a");
    (void)wf.busy(busy, seconds(100));
    const WorkerEpoch f1 = wf.join_group("a");
    const WorkerEpoch f2 = wf.join_group("a");
    (void)wf.ask(f1);
    const Answer answer = wf.ask(f2);
    EXPECT_EQ(answer.grants.size(), in_time ? 1U : 0U);
    EXPECT_EQ(answer.gang.has_value(), in_time);
    EXPECT_EQ(answer.reserved, !in_time) << "a worker of a gang is told of that";
  }
}

// Of four nodes one is busy. A job of all four, for which the asker has too little time left, has
// them kept; two that come before it are ready again: of nine nodes, which there are not, and of
// two.
TEST(Backfill, what_was_passed_over_for_kept_nodes_is_taken_when_others_are_kept_instead) {
  Plan plan = gang_plan({{9, 9}, {1, 8}, {2, 7}, {4, 6}});
  plan.classes[3].need.min_time = seconds(100);
  GangWorkflow wf(plan);
  const std::vector<JobRange> first{range(1, 3)};
  ++wf.tx.number;
  ASSERT_TRUE(hold_jobs(wf.tx, first).ok());
  const auto others = wf.join_all("a", 2);
  const WorkerEpoch asker = wf.join_group("a");
  (void)wf.busy(wf.join_group("a"), seconds(100));
  for (const WorkerEpoch w : {others[0], others[1], asker}) EXPECT_TRUE(wf.ask(w).reserved);
  ++wf.tx.number;
  ASSERT_TRUE(release_jobs(wf.tx, first, kNoon).ok());
  Exchange e = wf.words(asker);
  e.offer = wf.free_node();
  e.offer->remaining = seconds(50);
  const Answer answer = wf.told(e);
  EXPECT_EQ(granted(answer), std::vector<std::uint64_t>{2})
      << "the job of two nodes has those of the other two kept, and the asker's is free";
  EXPECT_FALSE(answer.reserved);
}

// Nodes of two kinds in one group; a job of two of the first kind waits, and of any two one behind
// it.
TEST(Backfill, who_has_nothing_to_do_with_a_job_that_waits_takes_its_nodes_for_no_later_one) {
  for (const std::int32_t later : {1, 5, 9}) {
    Plan plan = gang_plan({{2, 5}, {2, later, seconds(1000)}});
    plan.classes[0].labels = "x";
    GangWorkflow wf(plan);
    const auto join = [&](const char* labels) {
      WorkerInfo info;
      info.group = "a";
      info.host = info.node_name = "n" + std::to_string(wf.tx.number + 1);
      info.cpus = kSlots;
      info.memory = mebibytes(1 << 20);
      info.labels = labels;
      info.registered_at = kNoon;
      ++wf.tx.number;
      return *register_worker(wf.tx, info);
    };
    const auto ask = [&](WorkerEpoch worker, const char* labels, int busy) {
      Exchange e = wf.words(worker);
      e.offer = busy > 0 ? wf.busy_node(seconds(busy)) : wf.free_node();
      e.offer->labels = labels;
      return wf.told(e);
    };
    const WorkerEpoch busy = join("x");
    const WorkerEpoch free = join("x");
    const WorkerEpoch other = join("");
    const std::vector<JobRange> second{range(2, 1)};
    ++wf.tx.number;
    ASSERT_TRUE(hold_jobs(wf.tx, second).ok());
    (void)ask(busy, "x", 100);
    EXPECT_TRUE(ask(free, "x", 0).reserved);
    ++wf.tx.number;
    ASSERT_TRUE(release_jobs(wf.tx, second, kNoon).ok());
    bool began = false;
    for (int i = 0; i < 3; ++i) began = began || !ask(other, "", 0).grants.empty();
    EXPECT_EQ(began, later == 9) << later << ": the one that waits has priority 5";
  }
}

TEST(Backfill, nodes_are_not_kept_for_what_would_outlast_them) {
  GangWorkflow wf(Jobs{{2, 1, seconds(100)}, {1, 0, seconds(1000)}});
  const WorkerEpoch busy = wf.join_group("a", {}, kNoon + seconds(150));
  (void)wf.busy(busy, seconds(100));
  const WorkerEpoch free = wf.join_group("a");
  EXPECT_EQ(wf.ask(free).grants.size(), 1U);
}

TEST(Backfill, a_node_that_goes_too_early_keeps_no_others_from_being_kept) {
  GangWorkflow wf(Jobs{{3, 1, seconds(100)}, {1, 0, seconds(1000)}});
  (void)wf.busy(wf.join_group("a", {}, kNoon + seconds(150)), seconds(1));  // free soon, not long
  for (const int until : {100, 120}) (void)wf.busy(wf.join_group("a"), seconds(until));
  const Answer answer = wf.ask(wf.join_group("a"));
  EXPECT_TRUE(answer.grants.empty());
  EXPECT_TRUE(answer.reserved);
  State state(wf.tx);
  EXPECT_EQ(keep_of(state, hash_of_group("a"))->until,
            static_cast<std::uint64_t>((kNoon + seconds(120)).count()));
}

TEST(Backfill, nodes_are_kept_by_the_time_that_must_be_left_for_a_start) {
  for (const char* term : {"min_time", "time_limit"}) {
    GangWorkflow wf(Jobs{{2, 1, {}}, {1, 0, seconds(1000)}});
    const std::vector<JobRange> gang{range(1, 1)};
    Setting setting;
    setting.needs[term] = 60;
    if (term == std::string_view("min_time")) setting.needs["runtime"] = 10'000;
    ++wf.tx.number;
    ASSERT_TRUE(set_jobs(wf.tx, gang, setting).ok());
    for (const int ends : {190, 150}) {
      const WorkerEpoch busy = wf.join_group("a");
      (void)wf.busy(busy, seconds(100));
      const WorkerEpoch free = wf.join_group("a", {}, kNoon + seconds(ends));
      EXPECT_EQ(wf.ask(free).reserved, ends == 190) << term;
      wf.release(busy);
      wf.release(free);
    }
  }
}

TEST(Backfill, what_is_kept_goes_with_the_last_of_the_group_and_with_the_job) {
  Waiting t;
  (void)t.wf.ask(t.free);
  ASSERT_TRUE(t.keep("a").has_value());
  t.wf.release(t.busy);
  EXPECT_FALSE(t.keep("a").has_value());
  Waiting u;
  (void)u.wf.ask(u.free);
  const std::vector<JobRange> one{range(1, 1)};
  ++u.wf.tx.number;
  ASSERT_TRUE(cancel_jobs(u.wf.tx, one, kNoon).ok());
  EXPECT_EQ(granted(u.wf.ask(u.free)), std::vector<std::uint64_t>{3});
  EXPECT_FALSE(u.keep("a").has_value());
}

// Jobs of one node without end, and one of all four nodes behind them that waits: each of the nodes
// is taken from the stream once, and the job begins when the last of them is free.
TEST(Backfill, an_endless_stream_of_small_jobs_starves_no_job_of_several_nodes) {
  GangWorkflow wf(Jobs{{4, 0, seconds(60)}, {1, 0, seconds(100), 10'000}});
  std::map<std::uint64_t, std::int64_t> free_at;  // by worker: when its job ends
  std::map<std::uint64_t, Grant> runs;
  for (std::int64_t s = 0; s < 4; ++s) {
    const WorkerEpoch w = wf.join_group("a");
    free_at[raw(w)] = 25 * s;
  }
  // They run jobs of 100 s already when the job of four becomes ready: as if claimed before.
  std::int64_t began = -1;
  for (std::int64_t now = 0; now < 1000 && began < 0; ++now) {
    for (auto& [epoch, until] : free_at) {
      const WorkerEpoch w{epoch};
      const WallTime at = kNoon + seconds(now);
      if (until > now) {
        (void)wf.busy(w, seconds(until - now), at);
        continue;
      }
      if (const auto done = runs.find(epoch); done != runs.end()) {
        ASSERT_TRUE(wf.finish(w, done->second.token).ok());
        runs.erase(done);
      }
      const Answer answer = wf.ask(w, at);
      if (answer.grants.empty()) continue;
      if (answer.grants[0].gang) {
        began = now;
        break;
      }
      runs[epoch] = answer.grants[0];
      until = now + 100;
    }
  }
  EXPECT_EQ(began, 75) << "the last of the nodes that were kept is free then";
}

}  // namespace
}  // namespace torc::claim
