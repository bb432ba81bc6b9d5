#include "lib/report/slurm_usage.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace torc::report {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kBegin = 1795342000s;

claim::Worker worker_of(const char* allocation, const char* node, std::uint32_t cpus,
                        WallTime registered, WallTime gone) {
  claim::Worker worker;
  worker.info.allocation = allocation;
  worker.info.cluster = "alpha";
  worker.info.allocation_start = kBegin;
  worker.info.node = node;
  worker.info.cpus = cpus;
  worker.info.scheduler = "pair";
  worker.info.registered_at = registered;
  worker.status =
      gone == WallTime{} ? claim::WorkerStatus::registered : claim::WorkerStatus::released;
  worker.gone_at = gone;
  worker.last_seen = registered;
  return worker;
}

slurm::Accounted told_of(const char* allocation, const char* step = "", WallTime start = kBegin) {
  slurm::Accounted told{allocation, step, "alpha", "wf", "COMPLETED", 0, 0, start, start + 100s};
  told.elapsed = 100s;
  told.nodes = 2;
  told.cpus = 8;
  return told;
}

TEST(SlurmUsage, counts_all_nodes_until_the_last_worker_has_left) {
  const auto all = use_by_workers({worker_of("12", "n1", 2, kBegin + 2s, kBegin + 20s),
                                   worker_of("12", "n2", 4, kBegin + 3s, kBegin + 50s),
                                   // In the place of one that was killed.
                                   worker_of("12", "n1", 2, kBegin + 10s, kBegin + 30s),
                                   worker_of("", "laptop", 9, kBegin, kBegin + 900s)},
                                  kBegin + 1000s);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].state, "ended");
  EXPECT_EQ(all[0].scheduler, "pair");
  EXPECT_EQ(all[0].elapsed, 50s);
  EXPECT_EQ(all[0].nodes, 2U);
  EXPECT_EQ(all[0].cpus, 6U);
  EXPECT_EQ(all[0].node_time(), 100s);
  EXPECT_EQ(all[0].core_time(), 300s);
  EXPECT_EQ(all[0].from, Source::torc);
}

TEST(SlurmUsage, of_what_runs_goes_on_until_now_and_of_a_lost_worker_to_its_last_words) {
  auto lost = worker_of("12", "n1", 2, kBegin + 5s, kBegin + 300s);
  lost.status = claim::WorkerStatus::expired;
  auto all = use_by_workers({lost}, kBegin + 1000s);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].elapsed, 5s);
  all = use_by_workers({lost, worker_of("12", "n2", 2, kBegin + 5s, {})}, kBegin + 60s);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].state, "workers");
  EXPECT_EQ(all[0].elapsed, 60s);
  EXPECT_EQ(all[0].end, WallTime{});
}

TEST(SlurmUsage, is_what_sacct_tells_where_it_tells_it) {
  const auto known = use_by_workers({worker_of("12", "n1", 2, kBegin + 2s, kBegin + 20s),
                                     worker_of("13", "n1", 2, kBegin + 2s, kBegin + 20s)},
                                    kBegin + 30s);
  auto foreign = told_of("13");
  foreign.cluster = "beta";
  auto waits = told_of("12", "", {});
  waits.elapsed = 0s;
  const auto all =
      with_accounting(known, {told_of("12"), told_of("12", "0"), waits, foreign, told_of("14")});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].from, Source::sacct);
  EXPECT_EQ(all[0].allocation, "12");
  EXPECT_EQ(all[0].scheduler, "pair");
  EXPECT_EQ(all[0].node_time(), 200s);
  EXPECT_EQ(all[0].core_time(), 800s);
  EXPECT_EQ(all[1].from, Source::torc);
  EXPECT_EQ(all[1].allocation, "13");
  EXPECT_EQ(all[1].elapsed, 20s);
  const auto steps =
      steps_of(known, {told_of("12"), told_of("12", "0"), foreign, told_of("14", "0")});
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].step, "0");
}

TEST(SlurmUsage, has_each_run_of_an_allocation_that_was_requeued_once) {
  auto again = worker_of("12", "n2", 2, kBegin + 202s, kBegin + 290s);
  again.info.allocation_start = kBegin + 200s;
  const auto known =
      use_by_workers({worker_of("12", "n1", 2, kBegin + 2s, kBegin + 20s), again}, kBegin + 900s);
  ASSERT_EQ(known.size(), 2U);
  const auto both = with_accounting(known, {told_of("12"), told_of("12", "", kBegin + 200s)});
  ASSERT_EQ(both.size(), 2U);
  for (const auto& use : both) EXPECT_EQ(use.from, Source::sacct);
  // Of the run that the accounting has not heard of yet torc tells.
  const auto one = with_accounting(known, {told_of("12")});
  ASSERT_EQ(one.size(), 2U);
  EXPECT_EQ(one[0].from, Source::sacct);
  EXPECT_EQ(one[1].from, Source::torc);
  EXPECT_EQ(one[1].elapsed, 90s);
}

TEST(SlurmUsage, as_json_says_of_each_figure_whose_it_is) {
  SlurmUsage usage;
  usage.failure = "Slurm accounting storage is disabled";
  usage.allocations = use_by_workers({worker_of("12", "n1", 2, kBegin + 2s, kBegin + 20s)}, kBegin);
  const auto told = to_json(usage);
  EXPECT_EQ(told.at("node_seconds"), 20);
  EXPECT_EQ(told.at("core_seconds"), 40);
  EXPECT_EQ(told.at("allocation_runs").at(0).at("told_by"), "torc");
  EXPECT_EQ(told.at("accounting").at("answered"), false);
  EXPECT_NE(to_text(usage).find("0.006 h of nodes"), std::string::npos) << to_text(usage);
  EXPECT_NE(show_silence(usage).find("disabled"), std::string::npos);
  EXPECT_EQ(step_json(told_of("12", "0")).at("told_by"), "sacct");
}

}  // namespace
}  // namespace torc::report
