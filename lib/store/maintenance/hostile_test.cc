// What somebody else who may write in a store's directory puts there: links to files of others,
// fifos, files of giant size. Nothing outside is touched, and nobody waits.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "lib/base/file/beneath.h"
#include "lib/store/disk/open_lock.h"
#include "lib/store/disk/owner.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/store/maintenance/compact.h"
#include "lib/store/testing/test_hosts.h"
#include "lib/store/testing/test_victim.h"

#if defined(__SANITIZE_ADDRESS__)
// LMDB forgets its list of spilled pages, 1 MiB, when a large transaction is aborted.
extern "C" const char* __lsan_default_suppressions();   // NOLINT: the sanitizer's name
extern "C" const char* __lsan_default_suppressions() {  // NOLINT
  return "leak:mdb_midl_alloc";
}
#endif

namespace torc::store {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class Hostile : public Hosts {
 protected:
  Victim victim{scratch.path() / "victim"};
};

TEST_F(Hostile, a_link_for_a_directory_of_the_journal_is_not_collected_through) {
  const Path journal = state / "journal";
  fs::create_directory_symlink(victim.path, journal / (".dead-" + number_name(0)));
  work(*a, 70);
  for (int i = 0; i < 300; ++i) {
    (void)a->commit(2, put("x", "1"));
    (void)a->maintain();
  }
  victim.expect_untouched();
}

TEST_F(Hostile, nor_one_that_takes_the_place_of_a_directory_that_is_due) {
  work(*a, 70);
  const Path oldest = state / "journal" / number_name(0);
  fs::rename(oldest, scratch.path() / "aside");
  fs::create_directory_symlink(victim.path, oldest);
  for (int i = 0; i < 300; ++i) {
    (void)a->commit(2, put("x", "1"));
    (void)a->maintain();
  }
  (void)compact(first.world(), directory, Workers::may_live);
  victim.expect_untouched();
}

TEST_F(Hostile, a_tree_is_removed_through_no_link) {
  const Path tree = state / "tree";
  fs::create_directories(tree / "in");
  fs::create_directory_symlink(victim.path, tree / "in/link");
  fs::create_directory_symlink(victim.path, state / "top");
  EXPECT_TRUE(remove_tree(faulty, tree).ok());
  EXPECT_FALSE(fs::exists(tree));
  EXPECT_FALSE(remove_tree(faulty, state / "top").ok());
  EXPECT_FALSE(remove_tree(faulty, state / "top" / "below").ok());
  victim.expect_untouched();
}

// A directory that this process made, and that somebody exchanged for a link.
TEST_F(Hostile, a_directory_of_ones_own_is_no_link) {
  const Path own = scratch.path() / "own";
  fs::create_directories(own);
  faulty.protect(own, Root::made_here);
  fs::remove(own);
  fs::create_directory_symlink(victim.path, own);
  EXPECT_FALSE(faulty.list(own).ok());
  EXPECT_FALSE(faulty.unlink(own / "a").ok());
  EXPECT_FALSE(faulty.create(own / "new").ok());
  EXPECT_FALSE(remove_tree(faulty, own).ok());
  victim.expect_untouched();
}

// It stands for itself alone: what was made is what is used.
TEST_F(Hostile, a_store_that_is_exchanged_as_it_is_made_is_not_used) {
  Node maker(scratch.path(), "maker", 5, &faulty);
  const Path place = scratch.path() / "mine.torc";
  faulty.after = [&](const std::string& operation, const Path&) {
    if (operation != "rename" || !fs::exists(place / "META") || fs::is_symlink(place)) return;
    fs::rename(place, scratch.path() / "theirs");
    fs::create_directory_symlink(directory, place);
  };
  const auto made = Store::create(maker.world(), place, Engine::journal, tuning, put("a", "1"));
  faulty.after = [](const std::string&, const Path&) {};
  ASSERT_TRUE(fs::is_symlink(place));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::permission) << made.error().text();
}

// Who may rename in the directory above a store.
TEST_F(Hostile, a_store_that_is_exchanged_under_a_command_is_neither_read_nor_written) {
  const Path planted = scratch.path() / "planted.torc";
  ASSERT_TRUE(b->commit(3, put("a", "2")).ok());
  // A copy, so that nothing else tells it from the store.
  fs::copy(directory, planted, fs::copy_options::recursive);
  fs::rename(directory, scratch.path() / "away");
  fs::rename(planted, directory);
  const auto wrote = b->commit(3, put("a", "3"));
  ASSERT_FALSE(wrote.ok());
  EXPECT_EQ(wrote.error().kind, ErrorKind::fenced) << wrote.error().text();
  EXPECT_FALSE(fs::exists(commit_file(3)));
  Node third(scratch.path(), "third", 7);
  EXPECT_TRUE(open(third) != nullptr) << "whoever begins now takes what is there";
}

// A worker opens its store again when it lost its lease: it means the same one.
TEST_F(Hostile, a_store_that_is_kept_is_not_taken_anew_after_it_was_exchanged) {
  const Path planted = scratch.path() / "planted.torc";
  fs::copy(directory, planted, fs::copy_options::recursive);
  Node worker(scratch.path(), "worker", 9, &faulty);
  ASSERT_TRUE(Store::open(worker.world(), directory, tuning).ok());
  faulty.keep(directory);
  ASSERT_TRUE(Store::open(worker.world(), directory, tuning).ok());
  fs::rename(directory, scratch.path() / "away");
  fs::rename(planted, directory);
  const auto again = Store::open(worker.world(), directory, tuning);
  ASSERT_FALSE(again.ok());
  EXPECT_TRUE(beneath::is_exchanged(again.error())) << again.error().text();
}

TEST_F(Hostile, no_heartbeat_is_written_through_a_link_of_either_kind) {
  const HeartbeatPlace place{7, HeartbeatFile::own};
  const Path file = heartbeat_path(state, place);
  fs::create_symlink(victim.path / "a", file);
  EXPECT_EQ(write_heartbeat(first.world(), state, place, Heartbeat{}).error().kind,
            ErrorKind::corrupt);
  fs::remove(file);
  fs::create_hard_link(victim.path / "a", file);
  EXPECT_EQ(write_heartbeat(first.world(), state, place, Heartbeat{}).error().kind,
            ErrorKind::corrupt);
  fs::remove(file);
  EXPECT_TRUE(write_heartbeat(first.world(), state, place, Heartbeat{}).ok());
  victim.expect_untouched();
}

TEST_F(Hostile, a_fifo_in_place_of_any_file_is_told_at_once) {
  work(*a, 100);
  a.reset();
  b.reset();
  std::vector<Path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) files.push_back(entry.path());
  ASSERT_GT(files.size(), 3U);
  std::uint64_t n = 0;
  for (const Path& file : files) {
    const Path aside = scratch.path() / "aside";
    fs::rename(file, aside);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    Node fresh(scratch.path(), numbered("fresh", n++), 9);
    // Whether it is needed or not: nobody waits, nobody takes it for a file.
    const auto opened = Store::open(fresh.world(), directory, tuning);
    if (opened.ok()) {
      (void)(*opened)->commit(1, put("a", "2"));
      (void)(*opened)->maintain();
    }
    (void)verify(fresh.world(), directory, no_check);
    EXPECT_TRUE(fs::is_fifo(file) || !fs::exists(file) || fs::is_regular_file(file)) << file;
    fs::remove(file);
    fs::rename(aside, file);
  }
}

TEST_F(Hostile, a_commit_of_giant_size_is_damaged_and_costs_no_memory) {
  const Path file = commit_file(2);
  ASSERT_TRUE(a->commit(1, put("a", "2")).ok());
  a.reset();
  b.reset();
  fs::resize_file(file, std::uintmax_t{100} << 30);
  Node fresh(scratch.path(), "fresh", 9);
  const auto opened = Store::open(fresh.world(), directory, tuning);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::corrupt) << opened.error().text();
  EXPECT_NE(opened.error().what.find("its length is wrong"), std::string::npos);
}

// A chain that is right and a payload that would become gigabytes.
TEST_F(Hostile, a_commit_that_decompresses_to_too_much_is_damaged) {
  const CommitHeader header{2, {}, {}, 1};
  const std::string giant =
      encode_commit(a->identity().id, header, std::string(kMostWrites + 1, 'x'));
  EXPECT_LT(giant.size(), std::size_t{1} << 20);
  const auto file = decode_commit(a->identity().id, 2, giant, "giant");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().kind, ErrorKind::corrupt);
  const auto large = a->commit(1, [](Transaction& tx) -> Result<void> {
    const std::string value(kMostWrites / 3, 'x');
    for (const char* key : {"x", "y", "z"}) tx.put(key, value);
    return {};
  });
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().kind, ErrorKind::invalid) << large.error().text();
  EXPECT_TRUE(a->commit(1, put("x", "y")).ok());
}

// What nobody could read is not written, with either engine.
TEST_F(Hostile, a_value_that_is_too_large_is_neither_written_nor_read) {
  const std::string value(kMostValue + 1, 'x');
  Node node(scratch.path(), "lmdb", 3);
  const auto other = Store::create(node.world(), scratch.path() / "lmdb.torc", Engine::lmdb, tuning,
                                   put("a", "1"));
  ASSERT_TRUE(other.ok()) << other.error().text();
  for (Store* store : {a.get(), other->get()}) {
    const auto refused = store->commit(1, put("x", value));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
    EXPECT_NE(refused.error().what.find("too large"), std::string::npos) << refused.error().what;
    EXPECT_TRUE(store->commit(1, put("x", "y")).ok());
  }
  WriteSet forged;
  forged.put("x", value);
  const auto nothing = [](auto...) {};
  EXPECT_FALSE(replay(forged.bytes(), nothing, nothing));
}

// Engine lmdb: LMDB itself would follow them.
TEST(HostileLmdb, neither_link_nor_fifo_in_place_of_its_files_is_opened) {
  ScratchDirectory scratch;
  const Victim victim(scratch.path() / "victim");
  Node node(scratch.path());
  const Path directory = scratch.path() / "wf.torc";
  { auto made = Store::create(node.world(), directory, Engine::lmdb, quick(), put("a", "1")); }
  for (const char* name : {"lock.mdb", "data.mdb"}) {
    const Path file = directory / name;
    const Path aside = scratch.path() / "aside";
    fs::rename(file, aside);
    const auto expect_refused = [&] {
      const auto opened = Store::open(node.world(), directory, quick());
      ASSERT_FALSE(opened.ok()) << name;
      EXPECT_NE(opened.error().what.find(name), std::string::npos) << opened.error().text();
      EXPECT_FALSE(compact(node.world(), directory, Workers::may_live).ok());
      fs::remove(file);
    };
    fs::create_symlink(victim.path / "a", file);
    expect_refused();
    fs::create_hard_link(victim.path / "a", file);
    expect_refused();
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    expect_refused();
    fs::rename(aside, file);
  }
  victim.expect_untouched();
  EXPECT_TRUE(Store::open(node.world(), directory, quick()).ok());
}

// What takes the place of a file is given its owner and mode, and nothing that a link points to.
TEST(HostileOwner, is_given_to_no_file_of_somebody_else) {
  ScratchDirectory scratch;
  const Victim victim(scratch.path() / "victim");
  const Path root = scratch.path() / "root";
  fs::create_directories(root / "in");
  std::ofstream(root / "META") << "old";
  fs::permissions(root / "META", fs::perms(0664));
  fs::permissions(victim.path / "a", fs::perms(0600));
  fs::create_symlink(victim.path / "a", root / "in/link");
  fs::create_hard_link(victim.path / "a", root / "in/second");
  fs::create_directory_symlink(victim.path, root / "away");
  for (const char* name : {"in/link", "in/second", "away/a"})
    EXPECT_FALSE(take_over_owner(root, root / "META", root / name).ok()) << name;
  EXPECT_EQ(fs::status(victim.path / "a").permissions(), fs::perms(0600));
  std::ofstream(root / "in/new") << "new";
  EXPECT_TRUE(take_over_owner(root, root / "META", root / "in/new").ok());
  EXPECT_EQ(fs::status(root / "in/new").permissions(), fs::perms(0664));
}

TEST(HostileLmdb, a_second_name_of_open_lock_is_not_written_to) {
  ScratchDirectory scratch;
  const Victim victim(scratch.path() / "victim");
  fs::create_directory(scratch.path() / "store");
  fs::create_hard_link(victim.path / "a", scratch.path() / "store" / kOpenLock);
  const auto lock = OpenLock::take(scratch.path() / "store", "opening it", std::chrono::seconds(1));
  EXPECT_FALSE(lock.ok());
  victim.expect_untouched();
}

// LMDB writes to what this process has opened, by no name of its own.
TEST(HostileLmdb, compact_writes_through_no_link_in_place_of_the_directory_that_it_made) {
  ScratchDirectory scratch;
  const Victim victim(scratch.path() / "victim");
  FaultyDisk faulty;
  Node node(scratch.path(), "node", 1, &faulty);
  const Path directory = scratch.path() / "wf.torc";
  { auto made = Store::create(node.world(), directory, Engine::lmdb, quick(), put("a", "1")); }
  faulty.after = [&](const std::string& operation, const Path& path) {
    if (operation != "make_directory" || !path.filename().string().starts_with(".compact-")) return;
    fs::remove(path);
    fs::create_directory_symlink(victim.path, path);
  };
  EXPECT_FALSE(compact(node.world(), directory, Workers::none).ok());
  victim.expect_untouched();
  faulty.after = [](const std::string&, const Path&) {};
  EXPECT_TRUE(compact(node.world(), directory, Workers::none).ok());
  EXPECT_EQ(value_of(**Store::open(node.world(), directory, quick()), "a"), "1");
}

}  // namespace
}  // namespace torc::store
