#include "lib/doctor/bench.h"

#include <gtest/gtest.h>

#include "lib/store/testing/test_world.h"

namespace torc::doctor {
namespace {

class BenchRun : public ::testing::Test {
 protected:
  store::testing::ScratchDirectory scratch;
  store::testing::Node node{scratch.path()};
  SystemClock clock;
  store::World world() {
    const store::World w = node.world();
    return store::World{w.disk,          clock, w.entropy,       w.host, w.boot_id,
                        w.pid_namespace, w.uid, w.replica_roots, w.tell, w.machine};
  }
};

// Stops after so many looks, so no time is waited for.
Interrupted after(int looks) {
  return [looks]() mutable { return looks-- <= 0; };
}
constexpr BootTime kFar = std::chrono::hours(24 * 365 * 100);

TEST_F(BenchRun, counts_what_a_commit_asks_of_the_filesystem) {
  const Path directory = scratch.path() / "b.torc";
  ASSERT_TRUE(make_bench_store(world(), directory, store::Engine::journal).ok());
  const auto done = bench_commits(world(), directory, BootTime{0}, kFar, after(50));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->times.size(), 50U);
  EXPECT_EQ(done->conflicts, 0U);
  EXPECT_LE(done->requests, 9U * 50U);
  EXPECT_GT(done->modifying, 2U * 50U);
  EXPECT_LT(done->modifying, done->requests);
}

TEST_F(BenchRun, asks_nothing_of_disk_with_engine_lmdb) {
  const Path directory = scratch.path() / "b.torc";
  ASSERT_TRUE(make_bench_store(world(), directory, store::Engine::lmdb).ok());
  const auto done = bench_commits(world(), directory, BootTime{0}, kFar, after(5));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->requests, 0U);
}

TEST_F(BenchRun, baselines_end_when_the_time_is_up) {
  ASSERT_TRUE(bench_append(world(), scratch.path(), BootTime{0}, after(5)).ok());
  const auto made =
      bench_publish(world(), scratch.path(),
                    {store::Primitive::link, store::DurableName::directory}, kFar, after(3));
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->times.size(), 3U);
}

}  // namespace
}  // namespace torc::doctor
