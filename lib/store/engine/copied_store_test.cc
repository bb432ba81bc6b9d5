// A store that was copied file by file (cp -a, rsync), and worked on in both places.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "lib/store/engine/engines.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

class Copied : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    auto made = Store::create(node.world(), directory, GetParam(), quick(), put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    original = std::move(*made);
  }
  void copy_it() { fs::copy(directory, copy, fs::copy_options::recursive); }
  std::unique_ptr<Store> open(const Path& which) {
    World world = node.world();
    world.tell = [this](const std::string& line) { told.push_back(line); };
    auto opened = Store::open(world, which, quick());
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().text());
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  void expect_clean(const Path& which) {
    const auto verified = verify(node.world(), which, no_check);
    EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : verified.error().text());
  }

  ScratchDirectory scratch;
  Node node{scratch.path()};
  Path directory = scratch.path() / "wf.torc";
  Path copy = scratch.path() / "copy.torc";
  std::unique_ptr<Store> original;
  std::vector<std::string> told;
};

INSTANTIATE_TEST_SUITE_P(Store, Copied, ::testing::Values(Engine::lmdb, Engine::journal),
                         [](const auto& engine) {
                           return engine.param == Engine::lmdb ? "lmdb" : "journal";
                         });

TEST_P(Copied, and_its_original_each_stay_what_they_are) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(original->commit(1, put("o", std::to_string(i))).ok());
  copy_it();
  const auto other = open(copy);
  ASSERT_NE(other, nullptr);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(other->commit(2, put("c", std::to_string(i))).ok());
  for (int i = 3; i < 6; ++i) ASSERT_TRUE(original->commit(1, put("o", std::to_string(i))).ok());
  for (int i = 7; i < 9; ++i) ASSERT_TRUE(other->commit(2, put("c", std::to_string(i))).ok());

  EXPECT_EQ(sequence_of(*original), 7U);
  EXPECT_EQ(value_of(*original, "o"), "5");
  EXPECT_EQ(value_of(*original, "c"), "(absent)");
  EXPECT_EQ(sequence_of(*other), 13U);
  EXPECT_EQ(value_of(*other, "o"), "2");
  EXPECT_EQ(value_of(*other, "c"), "8");
  expect_clean(directory);
  expect_clean(copy);
}

TEST_P(Copied, gets_an_instance_of_its_own_before_it_is_written_to_and_tells) {
  const std::string before = original->identity().instance_hex();
  copy_it();
  const auto other = open(copy);
  ASSERT_NE(other, nullptr);
  (void)value_of(*other, "a");
  EXPECT_TRUE(told.empty()) << "a look changes nothing";
  ASSERT_TRUE(other->commit(2, put("c", "1")).ok());
  ASSERT_TRUE(other->commit(2, put("c", "2")).ok());
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("copy.torc is a copy of another store"), std::string::npos) << told[0];
  EXPECT_NE(other->identity().instance_hex(), before);
  EXPECT_EQ(other->identity().id, original->identity().id);
  ASSERT_TRUE(original->commit(1, put("o", "1")).ok());
  EXPECT_EQ(original->identity().instance_hex(), before);
  const std::string after = other->identity().instance_hex();
  EXPECT_EQ(open(copy)->identity().instance_hex(), after);
  EXPECT_EQ(open(directory)->identity().instance_hex(), before);
}

// By root, or by a member of the group, whose umask would keep the owner out.
TEST_P(Copied, has_its_owner_and_mode_still_when_it_gets_its_instance) {
  copy_it();
  const Path meta = copy / "META";
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chown(meta.c_str(), 1234, 2345), 0);
  }
  ASSERT_EQ(::chmod(meta.c_str(), 0664), 0);
  const mode_t mask = ::umask(077);
  Identity identity = original->identity();
  const auto adopted = adopt_copy(node.world(), copy, identity);
  ::umask(mask);
  ASSERT_TRUE(adopted.ok()) << adopted.error().text();
  struct stat st {};
  ASSERT_EQ(::stat(meta.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0664U);
  if (root) {
    EXPECT_EQ(st.st_uid, 1234U);
    EXPECT_EQ(st.st_gid, 2345U);
  }
  EXPECT_NE(identity.instance, original->identity().instance);
}

TEST_P(Copied, is_adopted_by_two_at_once_as_one) {
  copy_it();
  if (GetParam() == Engine::lmdb) {  // one environment a process: the two read META beforehand
    Identity first = original->identity();
    Identity second = first;
    const auto early = read_meta(node.world(), copy);
    ASSERT_TRUE(early.ok());
    ASSERT_TRUE(adopt_copy(node.world(), copy, first).ok());
    std::ofstream(copy / "META") << encode_meta(*early);  // the other one was as early
    ASSERT_TRUE(adopt_copy(node.world(), copy, second).ok());
    EXPECT_EQ(first.instance, second.instance);
    return;
  }
  const auto one = open(copy);
  const auto two = open(copy);
  ASSERT_TRUE(one->commit(1, put("x", "1")).ok());
  ASSERT_TRUE(two->commit(2, put("x", "2")).ok());
  EXPECT_EQ(one->identity().instance, two->identity().instance);
  EXPECT_EQ(told.size(), 1U);
}

TEST_P(Copied, is_not_what_was_only_moved) {
  const std::string before = original->identity().instance_hex();
  original.reset();
  fs::rename(directory, copy);
  const auto moved = open(copy);
  ASSERT_TRUE(moved->commit(1, put("x", "1")).ok());
  EXPECT_EQ(moved->identity().instance_hex(), before);
  EXPECT_TRUE(told.empty());
}

TEST_P(Copied, and_copied_again_is_another_one_still) {
  copy_it();
  const auto other = open(copy);
  ASSERT_TRUE(other->commit(1, put("x", "1")).ok());
  fs::copy(copy, scratch.path() / "third.torc", fs::copy_options::recursive);
  const auto third = open(scratch.path() / "third.torc");
  ASSERT_TRUE(third->commit(1, put("x", "1")).ok());
  EXPECT_NE(third->identity().instance, other->identity().instance);
  EXPECT_NE(third->identity().instance, original->identity().instance);
}

// In the copied file the mutex may be held by somebody of the original, for as long as he lives.
TEST(CopiedGate, of_the_original_is_not_used) {
  const ScratchDirectory scratch;
  Node node(scratch.path());
  const Path directory = scratch.path() / "wf.torc";
  const Path copy = scratch.path() / "copy.torc";
  const auto made = Store::create(node.world(), directory, Engine::lmdb, quick(), put("a", "1"));
  ASSERT_TRUE(made.ok());
  const auto committed = (*made)->commit(1, [&](Transaction& tx) -> Result<void> {
    fs::copy(directory, copy, fs::copy_options::recursive);  // inside the gate
    tx.put("b", "1");
    return {};
  });
  ASSERT_TRUE(committed.ok());
  Tuning patient = quick();
  patient.replica_wait = std::chrono::milliseconds(1);
  const auto other = Store::open(node.world(), copy, patient);
  ASSERT_TRUE(other.ok()) << other.error().text();
  const auto done = (*other)->commit(1, put("c", "1"));
  EXPECT_TRUE(done.ok()) << done.error().text();
}

}  // namespace
}  // namespace torc::store
