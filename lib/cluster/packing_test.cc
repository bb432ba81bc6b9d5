#include "lib/cluster/packing.h"

#include <gtest/gtest.h>

#include <vector>

namespace torc::cluster {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

constexpr NodeShape kNode{8, mebibytes(8000), 2};

Pool pool(std::uint32_t allocations, std::uint32_t nodes,
          std::optional<seconds> time = std::nullopt) {
  return {kNode, nodes, std::vector<seconds>(allocations, 0s), time};
}
Batch jobs(std::uint64_t count, std::uint32_t cpus, seconds runtime, std::size_t stage = 0) {
  return {.stage = stage, .jobs = count, .cpus = cpus, .memory = mebibytes(1), .runtime = runtime};
}

TEST(Packing, puts_as_many_jobs_on_a_node_as_have_room_there) {
  const Packing one = pack(pool(1, 1), {jobs(9, 2, 10s)});
  EXPECT_EQ(one.end, 30s) << "four at a time";
  EXPECT_EQ(one.allocations, 1U);
  EXPECT_EQ(one.node_seconds, 30);
  EXPECT_EQ(one.busy_node_seconds, 9 * 0.25 * 10);
  EXPECT_EQ(pack(pool(1, 3), {jobs(9, 2, 10s)}).end, 10s);
  Batch large = jobs(4, 1, 10s);
  large.memory = mebibytes(3000);
  EXPECT_EQ(pack(pool(1, 1), {large}).end, 20s) << "two by their memory";
  Batch gpus = jobs(3, 1, 10s);
  gpus.gpus = 1;
  EXPECT_EQ(pack(pool(1, 1), {gpus}).end, 20s) << "two by their GPUs";
}

TEST(Packing, begins_those_that_run_longest_first) {
  // In the order of the file it were 10 + 30.
  EXPECT_EQ(pack(pool(1, 2), {jobs(2, 8, 10s), jobs(1, 8, 30s)}).end, 30s);
}

TEST(Packing, begins_a_stage_when_the_one_before_has_ended) {
  const Packing both = pack(pool(1, 2), {jobs(1, 8, 10s, 0), jobs(1, 8, 5s, 2)});
  EXPECT_EQ(both.end, 15s);
  EXPECT_EQ(both.node_seconds, 30) << "both nodes are held";
}

TEST(Packing, of_small_allocations_ends_those_that_a_stage_does_not_use) {
  // Four nodes, then one, then four again.
  const std::vector<Batch> narrow = {jobs(4, 8, 10s, 0), jobs(1, 8, 100s, 1), jobs(4, 8, 10s, 2)};
  const Packing large = pack(pool(1, 4), narrow);
  EXPECT_EQ(large.end, 120s);
  EXPECT_EQ(large.node_seconds, 480);
  const Packing small = pack(pool(4, 1), narrow);
  EXPECT_EQ(small.end, 120s);
  EXPECT_EQ(small.node_seconds, 120 + 3 * 10 + 3 * 10);
  EXPECT_EQ(small.allocations, 7U);
  EXPECT_EQ(small.at_once, 4U);
  EXPECT_EQ(small.longest, 120s);
}

TEST(Packing, gives_a_job_of_several_nodes_whole_ones_of_one_allocation) {
  Batch gang = jobs(2, 1, 10s);
  gang.nodes = 2;
  EXPECT_EQ(pack(pool(1, 4), {gang}).end, 10s);
  EXPECT_EQ(pack(pool(2, 3), {gang}).end, 10s);
  EXPECT_EQ(pack(pool(1, 3), {gang}).end, 20s);
  EXPECT_EQ(pack(pool(1, 3), {gang}).busy_node_seconds, 40);
  // The small ones wait for the last of them, and run beside it.
  EXPECT_EQ(pack(pool(1, 3), {gang, jobs(1, 1, 5s)}).end, 20s);
  EXPECT_EQ(pack(pool(1, 2), {gang, jobs(1, 1, 5s)}).end, 25s);
}

TEST(Packing, begins_a_job_only_where_it_ends_within_the_allocation) {
  // Two fit into 25 s one after the other; the third is in a second allocation.
  const Packing done = pack(pool(1, 1, 25s), {jobs(3, 8, 10s)});
  EXPECT_EQ(done.end, 30s);
  EXPECT_EQ(done.allocations, 2U);
  EXPECT_EQ(done.longest, 20s);
  EXPECT_EQ(done.node_seconds, 30);
}

TEST(Packing, begins_on_all_nodes_of_the_allocation_that_follows) {
  // At 6 s the first node is free, but not for 5 s more; at 10 s the allocation is over.
  const Packing done = pack(pool(1, 2, 10s), {jobs(1, 8, 6s), jobs(4, 8, 5s)});
  EXPECT_EQ(done.end, 15s);
  EXPECT_EQ(done.allocations, 2U);
}

TEST(Packing, uses_each_allocation_from_when_it_can_begin) {
  Pool late = pool(0, 1);
  late.starts = {100s, 105s};
  const Packing done = pack(late, {jobs(4, 8, 10s)});
  EXPECT_EQ(done.start, 100s);
  EXPECT_EQ(done.end, 120s + 5s);
  EXPECT_EQ(done.node_seconds, 40);
  EXPECT_EQ(pack(late, {jobs(1, 8, 1s)}).allocations, 1U) << "the second has nothing to do";
}

TEST(Packing, of_millions_of_jobs_takes_several_turns_at_once) {
  const Packing done = pack(pool(1, 100), {jobs(20'000'000, 1, 60s)});
  const double ideal = 20'000'000.0 / 800 * 60;
  EXPECT_GE(done.end.count(), ideal);
  EXPECT_LE(static_cast<double>(done.end.count()), ideal * (1 + 1.0 / kTurns) + 60);
  EXPECT_EQ(done.busy_node_seconds, 20'000'000.0 / 8 * 60);
}

TEST(Packing, says_what_keeps_a_job_from_ever_running) {
  EXPECT_EQ(why_never(pool(1, 1), jobs(1, 9, 1s)), "at most 8 CPUs a node");
  Batch batch = jobs(1, 1, 1s);
  batch.memory = mebibytes(8001);
  EXPECT_EQ(why_never(pool(1, 1), batch), "at most 7.812 GiB of memory a node");
  batch = jobs(1, 1, 1s);
  batch.gpus = 3;
  EXPECT_EQ(why_never(pool(1, 1), batch), "at most 2 GPUs a node");
  batch.gpus = 0;
  batch.nodes = 2;
  EXPECT_EQ(why_never(pool(3, 1), batch), "at most 1 node an allocation");
  EXPECT_EQ(why_never(pool(1, 2), batch), "");
  EXPECT_EQ(why_never(pool(1, 1, 60s), jobs(1, 1, 61s)), "at most 1 min for a job");
  EXPECT_EQ(why_never(pool(1, 1, 60s), jobs(1, 1, 60s)), "");
}

}  // namespace
}  // namespace torc::cluster
