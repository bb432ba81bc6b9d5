// Snapshots that are made beside the commits of the same Store.
#include <gtest/gtest.h>

#include <sched.h>

#include "lib/base/testing/no_threads.h"
#include "lib/store/journal/journal_store.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;

class MadeBeside : public ::testing::Test {
 protected:
  MadeBeside() {
    tuning.checkpoint_commits = 4;
    tuning.snapshots_beside = true;
    auto made = Store::create(node.world(), directory, Engine::journal, tuning, put("a", "1"));
    EXPECT_TRUE(made.ok()) << made.error().text();
    store = *std::move(made);
  }
  // Records that compress badly, so that packing takes a while.
  void fill(int megabytes) {
    SeededEntropy entropy(3);
    for (int i = 0; i < megabytes; ++i) {
      const auto done = store->commit(1, [&](Transaction& tx) -> Result<void> {
        for (int j = 0; j < 1024; ++j) {
          std::string value;
          while (value.size() < 1024) value += std::to_string(entropy.next());
          tx.put("r" + std::to_string(i) + "." + std::to_string(j), value);
        }
        return {};
      });
      ASSERT_TRUE(done.ok()) << done.error().text();
    }
  }
  std::uint64_t snapshots() const {
    std::uint64_t out = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(store->state_directory() / "snapshot"))
      out += entry.is_regular_file() ? 1 : 0;
    return out;
  }
  // Does the maintenance until a snapshot is there: each turn begins one or finds one being made.
  void maintain_until_published() {
    while (snapshots() == 0) {
      const auto maintained = store->maintain();
      ASSERT_TRUE(maintained.ok()) << maintained.error().text();
      sched_yield();
    }
  }

  ScratchDirectory scratch;
  Path directory = scratch.path() / "wf.torc";
  Tuning tuning = quick();
  Node node{scratch.path(), "h1", 1};
  std::unique_ptr<Store> store;
};

TEST_F(MadeBeside, commits_go_on_and_the_snapshot_is_of_one_state) {
  fill(8);
  ASSERT_TRUE(store->maintain().ok());
  ASSERT_TRUE(store->commit(1, put("a", "2")).ok());
  maintain_until_published();
  Node other(scratch.path(), "h2", 2);
  auto late = Store::open(other.world(), directory, quick());
  ASSERT_TRUE(late.ok()) << late.error().text();
  EXPECT_EQ(value_of(**late, "a"), "2");
  EXPECT_EQ(value_of(**late, "r7.1023").size() / 1024, 1u);
  const auto verified = verify(other.world(), directory, no_check);
  EXPECT_TRUE(verified.ok()) << verified.error().text();
  EXPECT_GE(verified->newest_snapshot, 8u);
}

TEST_F(MadeBeside, a_snapshot_is_made_at_once_where_no_thread_can_be_had) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(store->commit(1, put("a", "2")).ok());
  {
    const NoThreads scarce;
    const auto maintained = store->maintain();
    ASSERT_TRUE(maintained.ok()) << maintained.error().text();
  }
  EXPECT_EQ(snapshots(), 1U);
}

TEST_F(MadeBeside, commits_go_on_while_the_copy_has_to_grow) {
  fill(4);
  ASSERT_TRUE(store->maintain().ok());
  fill(96);
  EXPECT_EQ(value_of(*store, "r95.0").size() / 1024, 1u);
  maintain_until_published();
}

TEST_F(MadeBeside, a_store_that_is_closed_meanwhile_leaves_the_snapshot_to_the_next) {
  fill(8);
  ASSERT_TRUE(store->maintain().ok());
  store.reset();
  auto again = Store::open(node.world(), directory, tuning);
  ASSERT_TRUE(again.ok()) << again.error().text();
  store = *std::move(again);
  maintain_until_published();
}

TEST_F(MadeBeside, a_copy_that_is_forgotten_meanwhile_takes_the_snapshot_with_it) {
  fill(8);
  ASSERT_TRUE(store->maintain().ok());
  store->forget_copy();
  store.reset();
  auto again = Store::open(node.world(), directory, tuning);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(value_of(**again, "a"), "1");
}

}  // namespace
}  // namespace torc::store
