// What a store fixes for good, and what each process asks of its own mount: durability, the way
// names are given, how old listings are.
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <utility>

#include "lib/store/engine/engines.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

constexpr std::uint64_t kExt4 = 0xef53;
constexpr std::uint64_t kBtrfs = 0x9123683e;
constexpr std::uint64_t kNfs = 0x6969;
constexpr std::uint64_t kFuse = 0x65735546;

class MountChange : public ::testing::Test {
 protected:
  std::unique_ptr<Store> make(Node& by) {
    auto made = Store::create(by.world(), directory, Engine::journal, tuning, put("a", "1"));
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
    return made.ok() ? std::move(*made) : nullptr;
  }
  std::unique_ptr<Store> open(Node& by) {
    auto opened = Store::open(by.world(), directory, tuning);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().text());
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  // What a commit does from giving its name on.
  std::vector<std::string> ops_of_commit(Store& store) {
    std::vector<std::string> all;
    disk.oracle = [&](const std::string& op, const Path&) {
      all.push_back(op);
      return proceed();
    };
    const auto done = store.commit(1, put("x", "1"));
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().text());
    disk.oracle = [](const std::string&, const Path&) { return proceed(); };
    const auto named = std::find_if(all.begin(), all.end(),
                                    [](const std::string& op) { return op.starts_with("link"); });
    return {named, all.end()};
  }
  // A commit each second; what the first of them left is collected in the end, but not at once.
  void work_for_seconds(int count, const std::function<void(std::unique_ptr<Store>&)>& before) {
    std::unique_ptr<Store> store;
    Path first;
    for (int i = 0; i < count; ++i) {
      before(store);
      ASSERT_NE(store, nullptr);
      first = store->state_directory() / "journal" / "000000000000";
      ASSERT_TRUE(store->commit(1, put("x", std::to_string(i))).ok());
      ASSERT_TRUE(store->maintain().ok());
      if (i < 60) {
        ASSERT_TRUE(fs::exists(first)) << i;
      }
      node.clock.advance(std::chrono::seconds(1));
    }
    EXPECT_FALSE(fs::exists(first));
  }
  // A host that sees the store through sshfs, whose listings are old, opens it once.
  void join_by_sshfs() {
    FaultyDisk elsewhere;
    elsewhere.magic = kFuse;
    elsewhere.tables = MountTables{"1 1 0:1 / / rw - fuse.sshfs u@h:/e rw\n", ""};
    Node other(scratch.path(), "other", 2, &elsewhere);
    ASSERT_NE(open(other), nullptr);
  }
  // What the first commits left is there for as long as such a host may need it.
  static void work_and_keep(Store& store, Node& by) {
    for (int i = 0; i < 140; ++i) {
      ASSERT_TRUE(store.commit(1, put("x", std::to_string(i))).ok());
      ASSERT_TRUE(store.maintain().ok());
    }
    const Path first = store.state_directory() / "journal" / "000000000000";
    ASSERT_TRUE(fs::exists(first));
    for (int i = 0; i < 3; ++i) {
      by.clock.advance(std::chrono::seconds(14));
      ASSERT_TRUE(store.maintain().ok());
      EXPECT_TRUE(fs::exists(first)) << i;
    }
  }
  static bool contains(const std::vector<std::string>& ops, const std::string& op) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  }

  ScratchDirectory scratch;
  FaultyDisk disk;
  Node node{scratch.path(), "one", 1, &disk};
  Path directory = scratch.path() / "wf.torc";
  Tuning tuning = [] {
    Tuning t = quick();
    t.sync = true;
    return t;
  }();
};

TEST_F(MountChange, a_store_made_on_nfs_syncs_its_names_on_ext4) {
  disk.magic = kNfs;
  ASSERT_NE(make(node), nullptr);
  disk.magic = kExt4;
  const auto ops = ops_of_commit(*open(node));
  ASSERT_FALSE(ops.empty());
  EXPECT_EQ(ops[0], "link_unnamed");
  EXPECT_TRUE(contains(ops, "sync"));
}

TEST_F(MountChange, a_store_made_on_nfs_syncs_its_directory_on_btrfs) {
  disk.magic = kNfs;
  ASSERT_NE(make(node), nullptr);
  disk.magic = kBtrfs;
  EXPECT_TRUE(contains(ops_of_commit(*open(node)), "sync_directory"));
}

TEST_F(MountChange, a_store_made_on_ext4_is_used_on_nfs_as_nfs_needs) {
  disk.magic = kExt4;
  ASSERT_NE(make(node), nullptr);
  disk.magic = kNfs;
  const auto ops = ops_of_commit(*open(node));
  ASSERT_FALSE(ops.empty());
  EXPECT_EQ(ops[0], "link");
  EXPECT_FALSE(contains(ops, "sync"));
  EXPECT_FALSE(contains(ops, "sync_directory"));
}

TEST_F(MountChange, is_asked_about_again_when_something_was_mounted) {
  disk.magic = kNfs;
  const auto store = make(node);
  ASSERT_FALSE(contains(ops_of_commit(*store), "sync_directory"));
  disk.magic = kBtrfs;
  ++disk.remounts;
  EXPECT_TRUE(contains(ops_of_commit(*store), "sync_directory"));
}

TEST_F(MountChange, is_asked_about_again_after_a_stale_handle) {
  disk.magic = kNfs;
  const auto store = make(node);
  disk.magic = kBtrfs;
  bool stale = true;
  std::vector<std::string> all;
  disk.oracle = [&](const std::string& op, const Path&) {
    all.push_back(op);
    return op == "create" && std::exchange(stale, false) ? refuse(ESTALE) : proceed();
  };
  ASSERT_TRUE(store->commit(1, put("x", "1")).ok());
  EXPECT_TRUE(contains(all, "sync_directory"));
}

TEST_F(MountChange, old_listings_of_one_host_lengthen_the_retention_of_all) {
  tuning.checkpoint_commits = 70;
  const auto store = make(node);
  join_by_sshfs();
  const auto meta = read_meta(node.world(), directory);
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(*agreed_retention(disk, store->state_directory(), meta->retention),
            std::chrono::seconds(60));

  work_and_keep(*store, node);
  const Path first = store->state_directory() / "journal" / "000000000000";
  node.clock.advance(std::chrono::seconds(60));
  ASSERT_TRUE(store->maintain().ok());
  EXPECT_FALSE(fs::exists(first));
}

// Goes on listing one directory as it was, until it changes that itself.
class OldListingDisk final : public PosixDisk {
 public:
  Path of;
  Result<std::vector<std::string>> list(const Path& of_whom) override {
    if (of_whom != of) return PosixDisk::list(of_whom);
    if (!seen_) {
      TORC_ASSIGN(std::vector<std::string> names, PosixDisk::list(of_whom));
      seen_ = std::move(names);
    }
    return *seen_;
  }
  Result<FileHandle> create(const Path& file) override {
    if (file.parent_path() == of) seen_.reset();
    return PosixDisk::create(file);
  }

 private:
  std::optional<std::vector<std::string>> seen_;
};

TEST_F(MountChange, an_old_listing_hides_no_retention_that_was_asked_for_meanwhile) {
  tuning.checkpoint_commits = 70;
  OldListingDisk old;
  Node here(scratch.path(), "here", 3, &old);
  auto store = make(here);
  old.of = store->state_directory();
  store.reset();
  store = open(here);
  join_by_sshfs();
  work_and_keep(*store, here);
}

// The snapshot notes of a node are shared by its processes: one that thinks of a shorter time
// writes them so often that none grows old.
TEST_F(MountChange, short_lived_processes_know_the_retention_that_was_agreed) {
  tuning.sync = false;
  tuning.checkpoint_commits = 1;
  (void)make(node);
  join_by_sshfs();
  work_for_seconds(300, [&](std::unique_ptr<Store>& store) { store = open(node); });
}

TEST_F(MountChange, a_retention_that_is_known_is_not_forgotten_when_something_was_mounted) {
  tuning.sync = false;
  tuning.checkpoint_commits = 1;
  (void)make(node);
  join_by_sshfs();
  work_for_seconds(300, [&](std::unique_ptr<Store>& store) {
    ++disk.remounts;
    if (!store) store = open(node);
  });
}

TEST_F(MountChange, a_longer_retention_is_asked_for_where_the_new_mount_needs_it) {
  disk.magic = kExt4;
  const auto store = make(node);
  disk.magic = kFuse;
  disk.tables = MountTables{"1 1 0:1 / / rw - fuse.sshfs u@h:/e rw\n", ""};
  ++disk.remounts;
  EXPECT_EQ(value_of(*store, "a"), "1");
  EXPECT_EQ(*agreed_retention(disk, store->state_directory(), std::chrono::seconds(0)),
            std::chrono::seconds(60));
}

// Two hosts that open it at the same time: what one of them asks for must not undo the other's.
TEST_F(MountChange, hosts_that_ask_for_retentions_at_once_all_get_theirs) {
  const auto store = make(node);
  FaultyDisk slow;
  slow.magic = kFuse;
  slow.tables = MountTables{"1 1 0:1 / / rw - fuse.sshfs u@h:/e rw\n", ""};
  Node first(scratch.path(), "first", 2, &slow);
  FaultyDisk slower;
  slower.magic = kFuse;
  slower.tables = MountTables{"1 1 0:1 / / rw - fuse.sshfs u@h:/e rw,dcache_timeout=100\n", ""};
  Node second(scratch.path(), "second", 3, &slower);
  bool asked = false;
  slow.oracle = [&](const std::string& op, const Path&) {
    // It has read what there is, and is about to change it.
    if ((op == "create" || op == "open_update") && !std::exchange(asked, true)) {
      EXPECT_TRUE(Store::open(second.world(), directory, tuning).ok());
    }
    return proceed();
  };
  ASSERT_NE(open(first), nullptr);
  ASSERT_TRUE(asked);
  const auto meta = read_meta(node.world(), directory);
  ASSERT_TRUE(meta.ok());
  EXPECT_GE(*agreed_retention(disk, store->state_directory(), meta->retention),
            std::chrono::seconds(200));
}

// A client sends a RENAME again when the reply was lost, and is told that the source is not there.
TEST_F(MountChange, a_change_of_meta_whose_reply_was_lost_has_happened) {
  const auto store = make(node);
  const Path copy = scratch.path() / "copy.torc";
  fs::copy(directory, copy, fs::copy_options::recursive);
  Identity identity = store->identity();
  disk.oracle = [&](const std::string& op, const Path&) {
    return op == "rename" ? lose_reply(ENOENT) : proceed();
  };
  const auto adopted = adopt_copy(node.world(), copy, identity);
  EXPECT_TRUE(adopted.ok()) << adopted.error().text();
  disk.oracle = [](const std::string&, const Path&) { return proceed(); };
  EXPECT_NE(identity.instance, identity.id);
  const auto meta = read_meta(node.world(), copy);
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(meta->identity.instance, identity.instance);
}

// --- a filesystem that is not mounted ---

class NotMounted : public MountChange {
 protected:
  NotMounted() {
    fs::create_directory(point);
    directory = point / "wf.torc";
    disk.magic = kFuse;
    mounted();
  }
  void mounted() {
    disk.tables = MountTables{"1 1 0:1 / / rw - ext4 /dev/sda rw\n2 1 0:2 / " + point.string() +
                                  " rw - fuse.sshfs u@h:/e rw\n",
                              "u@h:/e\t" + point.string() + "  fuse.sshfs defaults 0 0\n"};
  }
  // The bare directory below shows through.
  void unmount() {
    fs::rename(point, aside);
    fs::create_directory(point);
    disk.tables->mounted = "1 1 0:1 / / rw - ext4 /dev/sda rw\n";
  }
  void mount_again() {
    ASSERT_TRUE(fs::is_empty(point)) << "something was made in the bare directory";
    fs::remove(point);
    fs::rename(aside, point);
    mounted();
  }
  static void expect_not_mounted(const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::io) << error.text();
    EXPECT_NE(error.what.find("mounted"), std::string::npos) << error.what;
  }

  Path point = scratch.path() / "mnt";
  Path aside = scratch.path() / "mnt-aside";
};

TEST_F(NotMounted, is_no_deletion_of_the_store_and_passes) {
  const auto store = make(node);
  ASSERT_NE(store, nullptr);
  unmount();
  for (const std::uint64_t seen : {0, 1}) {  // by its errors alone, and by the mount table
    disk.remounts += seen;
    const auto refused = store->commit(1, put("x", "1"));
    ASSERT_FALSE(refused.ok());
    expect_not_mounted(refused.error());
    const auto blind = store->view(Freshness::latest, no_check);
    ASSERT_FALSE(blind.ok());
    expect_not_mounted(blind.error());
    (void)store->maintain();
  }
  mount_again();
  ++disk.remounts;
  const auto done = store->commit(1, put("x", "2"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(value_of(*store, "x"), "2");
}

TEST_F(NotMounted, is_told_by_who_comes_then) {
  ASSERT_NE(make(node), nullptr);
  unmount();
  for (const Path& which : {directory, point}) {
    const auto opened = Store::open(node.world(), which, tuning);
    ASSERT_FALSE(opened.ok());
    expect_not_mounted(opened.error());
  }
  disk.tables->wanted.clear();  // then nobody can know
  const auto opened = Store::open(node.world(), directory, tuning);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::not_found);
}

TEST_F(NotMounted, a_store_that_was_deleted_there_is_gone_all_the_same) {
  const auto store = make(node);
  fs::remove_all(directory);
  const auto refused = store->commit(1, put("x", "1"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::fenced) << refused.error().text();
}

// What became of the commit is not known; what became of the store is, whenever it was seen.
TEST_F(MountChange, a_store_that_was_moved_away_in_the_middle_of_a_commit_is_gone) {
  int unknown = 0;
  for (int after = 0; after < 12; ++after) {
    const auto store = make(node);
    int since = -1;  // operations, since the commit has its name
    disk.oracle = [&](const std::string& op, const Path&) {
      if (since >= 0 && since++ == after) fs::rename(directory, scratch.path() / "moved");
      if (op.starts_with("link") && since < 0) since = 0;
      return proceed();
    };
    const auto done = store->commit(1, put("x", "1"));
    disk.oracle = [](const std::string&, const Path&) { return proceed(); };
    fs::remove_all(scratch.path() / "moved");
    fs::remove_all(directory);
    if (done.ok() || done.error().what.find("not there any more") == std::string::npos) continue;
    EXPECT_TRUE(is_gone(done.error())) << after << ": " << done.error().text();
    unknown += done.error().kind == ErrorKind::unknown ? 1 : 0;
  }
  EXPECT_GT(unknown, 0);
}

TEST_F(NotMounted, who_makes_a_store_there_is_warned) {
  unmount();
  std::vector<std::string> told;
  World world = node.world();
  world.tell = [&](const std::string& line) { told.push_back(line); };
  ASSERT_TRUE(Store::create(world, directory, Engine::journal, tuning, put("a", "1")).ok());
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("nothing is mounted at " + point.string()), std::string::npos) << told[0];
}

}  // namespace
}  // namespace torc::store
