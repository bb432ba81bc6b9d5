// What a reply that comes late, or never, must not do: the flaws that the protocol's model
// (docs/maintainer/model) found.
#include <gtest/gtest.h>

#include <fstream>
#include <system_error>

#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace testing;
namespace fs = std::filesystem;

Store::Body mark(std::string who) {
  return [who](Transaction& tx) -> Result<void> {
    const auto v = tx.get("\1marks");
    tx.put("\1marks", (v ? std::string(*v) : std::string()) + who);
    return {};
  };
}

std::string marks(Store& s) {
  std::string out = "(absent)";
  auto r = s.view(Freshness::latest, [&](const Reader& rd) -> Result<void> {
    const auto v = rd.get("\1marks");
    if (v) out = std::string(*v);
    return {};
  });
  EXPECT_TRUE(r.ok());
  return out;
}

TEST_F(
    Hosts,
    a_commit_whose_name_was_asked_for_is_never_called_surely_absent_without_a_look_at_the_snapshots) {
  bool linked = false, worked_on = false;
  faulty.oracle = [&](const std::string& op, const Path& p) -> Fate {
    if (linked && !worked_on) {
      worked_on = true;
      work(*b, 300);
      EXPECT_FALSE(fs::exists(commit_file(2)));
    }
    if (op.starts_with("link") && p == commit_file(2)) {
      linked = true;
      return lose_reply(EIO);
    }
    if (worked_on && op == "list" && p == state / "snapshot") return refuse(EIO);
    return proceed();
  };
  const auto done = a->commit(1, mark("x"));
  ASSERT_FALSE(done.ok());
  EXPECT_TRUE(done.error().kind == ErrorKind::unknown);
}

TEST_F(Hosts, a_commit_whose_number_was_collected_and_taken_again_does_not_run_twice) {
  bool linked = false, worked_on = false;
  faulty.oracle = [&](const std::string& op, const Path& p) -> Fate {
    if (linked && !worked_on) {
      worked_on = true;
      std::ifstream in(commit_file(2), std::ios::binary);
      const std::string mine{std::istreambuf_iterator<char>(in), {}};
      const auto file = decode_commit(b->identity().id, 2, mine, "x");
      work(*b, 300);
      EXPECT_FALSE(fs::exists(commit_file(2)));
      WriteSet writes;
      writes.put("\1stray", "yes");
      CommitHeader other = file->header;
      other.id = {7};
      other.author = 9;
      fs::create_directories(commit_file(2).parent_path());
      std::ofstream(commit_file(2), std::ios::binary)
          << encode_commit(b->identity().id, other, writes.bytes());
    }
    if (op.starts_with("link") && p == commit_file(2)) {
      linked = true;
      return lose_reply(EIO);
    }
    return proceed();
  };
  ASSERT_TRUE(a->commit(1, mark("x")).ok());
  EXPECT_EQ(marks(*b), "x");
}

TEST_F(Hosts, a_rename_that_arrives_late_finds_its_directory_whole_or_gone) {
  const Path other = scratch.path() / "other.torc";
  Path prepared;
  bool refuse_rename = false;
  faulty.oracle = [&](const std::string& op, const Path& p) -> Fate {
    if (op.starts_with("link")) return refuse(EPERM);
    if (op == "make_directory" && p.filename().string().starts_with(".tmp-")) prepared = p;
    const bool is_two = p.filename() == number_name(2);
    if (refuse_rename && op == "rename" && is_two) return refuse(EIO);  // on its way, told EIO
    if (refuse_rename && op == "remove_directory" && p.filename().string().starts_with(".tmp-")) {
      std::error_code gone;  // it arrives now, and may find nothing
      fs::rename(prepared, prepared.parent_path() / number_name(2), gone);
      refuse_rename = false;
    }
    return proceed();
  };
  auto made = Store::create(first.world(), other, Engine::journal, tuning, put("a", "1"));
  ASSERT_TRUE(made.ok()) << made.error().text();
  refuse_rename = true;
  EXPECT_FALSE((*made)->commit(1, put("x", "1")).ok());
  first.clock.advance(std::chrono::minutes(1));
  const auto two = (*made)->commit(1, put("x", "1"));
  EXPECT_TRUE(two.ok()) << two.error().text();
  auto opened = Store::open(second.world(), other, tuning);
  EXPECT_TRUE(opened.ok()) << opened.error().text();
}

TEST_F(Hosts, snapshot_notes_of_the_history_before_a_restored_copy_collect_nothing_of_the_new_one) {
  tuning.retention = std::chrono::minutes(10);
  b = open(second);
  work(*b, 140);
  const Path copy = scratch.path() / "copy";
  fs::copy(directory, copy, fs::copy_options::recursive);
  work(*b, 300);  // snapshots far beyond
  second.clock.advance(std::chrono::minutes(2));
  work(*b, 2);  // marked
  a.reset();
  b->forget_copy();  // it is ahead of what is put back, and nothing throws that away unasked
  b.reset();
  fs::remove_all(directory);
  fs::rename(copy, directory);
  b = open(second);
  work(*b, 150);
  second.clock.advance(std::chrono::minutes(11));
  work(*b, 2);
  expect_verified();
  Node third(scratch.path(), "third", 3);
  EXPECT_NE(open(third), nullptr);
}

}  // namespace
}  // namespace torc::store
