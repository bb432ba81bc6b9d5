// Files that no correct writer wrote, and stores put back from copies.
#include <gtest/gtest.h>

#include <fstream>

#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

TEST_F(Hosts, a_gap_is_refused_by_name) {
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(b->commit(1, put("x", numbered("", static_cast<std::uint64_t>(i)))).ok());
  fs::remove(commit_file(5));
  Node third(scratch.path(), "third", 3);
  auto opened = Store::open(third.world(), directory, tuning);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::corrupt);
  EXPECT_NE(opened.error().what.find(number_name(5) + " is missing or"), std::string::npos)
      << opened.error().what;
  const auto verified = verify(third.world(), directory, no_check);
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().kind, ErrorKind::corrupt);
}

TEST_F(Hosts, a_torn_tail_is_refused_by_name) {
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(b->commit(1, put("x", numbered("", static_cast<std::uint64_t>(i)))).ok());
  fs::resize_file(commit_file(6), 50);
  const auto seen = a->view(Freshness::latest, no_check);
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.error().kind, ErrorKind::corrupt);
  EXPECT_NE(seen.error().what.find(number_name(6)), std::string::npos);
  EXPECT_EQ(a->commit(1, put("y", "1")).error().kind, ErrorKind::corrupt)
      << "nobody builds on a damaged history";
}

TEST_F(Hosts, a_commit_that_does_not_continue_the_history_is_refused_by_name) {
  WriteSet writes;
  writes.put("stray", "yes");
  const CommitHeader elsewhere{2, hash128(b->identity().id, "another history"), {}, 1};
  std::ofstream(commit_file(2), std::ios::binary)
      << encode_commit(b->identity().id, elsewhere, writes.bytes());
  const auto seen = a->view(Freshness::latest, no_check);
  ASSERT_FALSE(seen.ok());
  EXPECT_EQ(seen.error().kind, ErrorKind::corrupt);
  EXPECT_NE(seen.error().what.find(number_name(2)), std::string::npos) << seen.error().what;
  EXPECT_EQ(value_of(*a, "stray", Freshness::cached), "(absent)");
}

TEST_F(Hosts, every_flipped_bit_of_a_commit_file_is_noticed) {
  std::string bytes;
  {
    std::ifstream in(commit_file(1), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string bad = bytes;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_commit(a->identity().id, 1, bad, "x").ok()) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_commit(a->identity().id, 1, bytes.substr(0, size), "x").ok()) << size;
  }
}

TEST_F(Hosts, a_damaged_snapshot_is_passed_over_for_the_one_before) {
  work(*b, 500);
  Path newest;
  for (const auto& entry : fs::directory_iterator(state / "snapshot"))
    newest = std::max(newest, entry.path());
  {
    std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('\x55').put('\x55');
  }
  Node third(scratch.path(), "third", 3);
  auto c = open(third);
  EXPECT_EQ(value_of(*c, "w1"), "491");
  const auto verified = verify(third.world(), directory, no_check);
  ASSERT_FALSE(verified.ok());
  EXPECT_NE(verified.error().what.find(newest.filename().string()), std::string::npos)
      << verified.error().what;
}

TEST_F(Hosts, an_old_snapshot_that_could_not_be_deleted_is_no_gap) {
  work(*b, 50);
  Path oldest;
  for (const auto& entry : fs::directory_iterator(state / "snapshot")) {
    if (oldest.empty() || entry.path() < oldest) oldest = entry.path();
  }
  const Path kept = scratch.path() / "kept";
  fs::copy(oldest, kept);
  work(*b, 300);
  ASSERT_FALSE(fs::exists(oldest));
  ASSERT_FALSE(fs::exists(commit_file(60)));
  fs::copy(kept, oldest);
  expect_verified();
}

TEST_F(Hosts, a_store_put_back_from_a_copy_is_read_anew) {
  // The store is put back from a copy that is older than what the node has seen, and goes another
  // way.
  const Path copy = scratch.path() / "copy";
  fs::copy(directory, copy, fs::copy_options::recursive);
  ASSERT_TRUE(a->commit(1, put("lost", "yes")).ok());
  a->forget_copy();
  a.reset();
  b.reset();
  fs::remove_all(directory);
  fs::rename(copy, directory);
  b = open(second);
  EXPECT_EQ(value_of(*b, "lost"), "(absent)");
  ASSERT_TRUE(b->commit(2, put("other", "way")).ok());
  a = open(first);
  EXPECT_EQ(value_of(*a, "lost"), "(absent)");
  EXPECT_EQ(value_of(*a, "other"), "way");
  EXPECT_EQ(value_of(*a, "a"), "1");
}

}  // namespace
}  // namespace torc::store
