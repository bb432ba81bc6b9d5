// A store that is deleted, or deleted and made anew, under processes that work on it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "lib/store/engine/heartbeat.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

std::map<std::string, std::string> contents(const Path& directory) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    std::string& text = out[entry.path().string()];
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  return out;
}

class Replaced : public ::testing::TestWithParam<Engine> {
 protected:
  std::unique_ptr<Store> make(Node& node, const std::string& value) {
    auto made = Store::create(node.world(), directory, GetParam(), tuning, put("a", value));
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
    return made.ok() ? std::move(*made) : nullptr;
  }
  template <class T>
  static void expect_refused(const Result<T>& done, const std::string& word) {
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::fenced) << done.error().text();
    EXPECT_NE(done.error().what.find("wf.torc"), std::string::npos) << done.error().what;
    EXPECT_NE(done.error().what.find(word), std::string::npos) << done.error().what;
  }

  ScratchDirectory scratch;
  Node worker{scratch.path(), "one", 1};
  Node user{scratch.path(), "one", 2};
  Tuning tuning = [] {
    Tuning t = quick();
    t.checkpoint_commits = 4;
    t.retention = std::chrono::nanoseconds(0);
    return t;
  }();
  Path directory = scratch.path() / "wf.torc";
};

INSTANTIATE_TEST_SUITE_P(Store, Replaced, ::testing::Values(Engine::lmdb, Engine::journal),
                         [](const auto& engine) {
                           return engine.param == Engine::lmdb ? "lmdb" : "journal";
                         });

TEST_P(Replaced, by_another_is_not_written_to_by_who_worked_on_the_first) {
  auto old = make(worker, "old");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(old->commit(1, put("x", "1")).ok());
  fs::remove_all(directory);
  auto fresh = make(user, "new");
  // As far as the old one is: the next number is free.
  while (sequence_of(*fresh) < 4) ASSERT_TRUE(fresh->commit(1, put("y", "1")).ok());
  const auto before = contents(directory);

  expect_refused(old->commit(1, put("z", "1")), "replaced");
  worker.clock.advance(std::chrono::hours(1));
  expect_refused(old->commit(1, put("z", "1")), "replaced");
  expect_refused(old->view(Freshness::latest, no_check), "replaced");
  (void)old->maintain();
  EXPECT_FALSE(write_heartbeat(worker.world(), old->state_directory(), {3}, {1, {}}).ok());
  EXPECT_EQ(contents(directory), before);
  EXPECT_EQ(value_of(*fresh, "a"), "new");
  EXPECT_TRUE(fresh->commit(1, put("z", "2")).ok());
  Node inspector(scratch.path(), "one", 3);
  EXPECT_TRUE(verify(inspector.world(), directory, no_check).ok());
}

TEST_P(Replaced, by_nothing_is_told) {
  auto old = make(worker, "old");
  fs::remove_all(directory);
  expect_refused(old->commit(1, put("z", "1")), "not there any more");
  expect_refused(old->view(Freshness::latest, no_check), "not there any more");
  EXPECT_FALSE(fs::exists(directory));
}

// It cannot be told from one that somebody else has put there.
TEST_P(Replaced, by_its_own_copy_is_worked_on_by_whoever_begins_then) {
  auto old = make(worker, "old");
  const Path copy = scratch.path() / "copy";
  ASSERT_TRUE(old->commit(1, put("x", "1")).ok());
  old.reset();
  fs::copy(directory, copy, fs::copy_options::recursive);
  auto opened = Store::open(worker.world(), directory, tuning);
  ASSERT_TRUE(opened.ok());
  fs::remove_all(directory);
  fs::rename(copy, directory);
  expect_refused((*opened)->commit(1, put("z", "1")), "replaced");
  opened = Store::open(worker.world(), directory, tuning);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(value_of(**opened, "x"), "1");
  EXPECT_TRUE((*opened)->commit(1, put("z", "1")).ok());
}

// Of one file: without it nothing says what the directory is.
class ReplacedData : public Replaced {};

INSTANTIATE_TEST_SUITE_P(Store, ReplacedData, ::testing::Values(Engine::lmdb));

TEST_P(ReplacedData, is_not_made_an_empty_one_when_it_is_not_there) {
  auto old = make(worker, "old");
  const Path data = directory / "data.mdb";
  const Path aside = scratch.path() / "aside.mdb";
  fs::copy_file(data, aside);  // to another filesystem
  fs::remove(data);
  for (int i = 0; i < 2; ++i) {
    const auto refused = old->commit(1, put("z", "1"));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::io) << refused.error().text();
    EXPECT_NE(refused.error().what.find("data.mdb is not there now"), std::string::npos);
    EXPECT_FALSE(old->view(Freshness::latest, no_check).ok());
    EXPECT_FALSE(fs::exists(data));
  }
  fs::rename(aside, data);
  EXPECT_EQ(value_of(*old, "a"), "old");
  EXPECT_TRUE(old->commit(1, put("z", "1")).ok());
}

TEST_P(Replaced, is_known_for_gone_by_who_has_seen_it_when_it_is_not_open) {
  const auto there = [&](const LastSeen& was) {
    const auto checked = was.check_still_there();
    return checked.ok() || !is_gone(checked.error());
  };
  auto old = make(worker, "old");
  const auto was = LastSeen::of(worker.world(), *old);
  ASSERT_TRUE(was.ok());
  const Path state = old->state_directory();
  old.reset();
  EXPECT_TRUE(was->check_still_there().ok());
  fs::remove_all(state);
  EXPECT_TRUE(there(*was)) << "half of it is gone";
  fs::remove_all(directory);
  EXPECT_FALSE(there(*was));
  auto made = make(user, "new");
  EXPECT_FALSE(was->check_still_there().ok()) << "another one has its name";
}

}  // namespace
}  // namespace torc::store
