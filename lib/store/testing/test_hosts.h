// Two hosts on one journal store, with snapshots and collection in a hurry. Each Node has its own
// replicas and Store.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lib/store/journal/journal_store.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store::testing {

inline std::string numbered(const char* prefix, std::uint64_t i) {
  return std::string(prefix).append(std::to_string(i));
}

class Hosts : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Store::create(first.world(), directory, Engine::journal, tuning, put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    a = std::move(*made);
    state = a->state_directory();
    b = open(second);
  }
  std::unique_ptr<Store> open(Node& node) {
    auto opened = Store::open(node.world(), directory, tuning);
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  // `count` commits by `store`, with the maintenance that makes snapshots and collects at once
  // (retention 0).
  void work(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      const auto done = store.commit(
          2, put(numbered("w", static_cast<std::uint64_t>(i % 10)), numbered("", worked++)));
      ASSERT_TRUE(done.ok()) << done.error().text();
      const auto maintained = store.maintain();
      ASSERT_TRUE(maintained.ok()) << maintained.error().text();
    }
  }
  [[nodiscard]] Path commit_file(std::uint64_t n) const {
    return state / "journal" / number_name(first_of_directory(n)) / number_name(n);
  }
  void expect_verified() {
    Node inspector(scratch.path(), "inspector", 99);
    const auto verified = verify(inspector.world(), directory, no_check);
    EXPECT_TRUE(verified.ok()) << verified.error().text();
  }
  static Tuning hasty() {
    Tuning t = quick();
    t.checkpoint_commits = 40;
    t.retention = std::chrono::nanoseconds(0);
    return t;
  }

  ScratchDirectory scratch;
  FaultyDisk faulty;
  Node first{scratch.path(), "first", 1, &faulty};
  Node second{scratch.path(), "second", 2};
  Tuning tuning = hasty();
  Path directory = scratch.path() / "wf.torc";
  Path state;  // in it
  std::unique_ptr<Store> a;
  std::unique_ptr<Store> b;
  std::uint64_t worked = 0;
};

}  // namespace torc::store::testing
