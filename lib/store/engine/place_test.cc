// By what a node knows again the store of which it keeps a copy.
#include "lib/store/engine/place.h"

#include <gtest/gtest.h>

#include "lib/store/engine/engines.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

constexpr std::uint64_t kExt4Magic = 0xef53;
constexpr std::uint64_t kCeph = 0x00c36400;
constexpr std::uint64_t kNfsMagic = 0x6969;
constexpr std::uint64_t kFuseMagic = 0x65735546;

class PlaceKey : public ::testing::Test {
 protected:
  PlaceKey() {
    identity.engine = Engine::journal;
    fs::create_directories(identity.state_directory(directory));
  }
  void mount(const std::string& type, const std::string& source, const std::string& root = "/") {
    disk.tables = MountTables{
        "1 1 0:1 / / rw - ext4 /dev/sda rw\n2 1 0:" + std::to_string(disk.device) + " " + root +
            " " + scratch.path().string() + " rw - " + type + " " + source + " rw\n",
        ""};
  }
  std::string key() {
    const auto place = look_at_place(disk, directory, identity);
    EXPECT_TRUE(place.ok()) << (place.ok() ? "" : place.error().text());
    return place.ok() ? place->key : std::string();
  }

  ScratchDirectory scratch;
  FaultyDisk disk;
  Identity identity;
  Path directory = scratch.path() / "wf.torc";
};

TEST_F(PlaceKey, on_a_network_filesystem_is_the_same_after_a_remount) {
  disk.magic = kNfsMagic;
  disk.device = 51;
  mount("nfs4", "server:/export");
  const std::string before = key();
  disk.device = 52;
  mount("nfs4", "server:/export");
  EXPECT_EQ(key(), before);
}

// Its inodes are those of the living directories.
TEST_F(PlaceKey, of_a_snapshot_that_is_seen_inside_the_same_mount_is_another) {
  disk.magic = kCeph;
  disk.device = 51;
  mount("ceph", "mon:/");
  const std::string living = key();
  disk.device = 70;
  EXPECT_NE(key(), living);
}

TEST_F(PlaceKey, on_a_local_filesystem_is_the_same_after_a_remount) {
  disk.magic = kExt4Magic;
  mount("ext4", "/dev/sdb1");
  disk.device = 51;
  disk.id = 0x1234;
  const std::string before = key();
  disk.device = 52;
  EXPECT_EQ(key(), before);
  disk.id = 0;  // then the device is all there is
  const std::string by_device = key();
  disk.device = 53;
  EXPECT_NE(key(), by_device);
}

TEST_F(PlaceKey, tells_filesystems_apart_that_have_equal_inodes) {
  disk.magic = kNfsMagic;
  mount("nfs4", "server:/export");
  const std::string nfs = key();
  mount("nfs4", "server:/other");
  EXPECT_NE(key(), nfs);
  // A clone of a disk has its number and inodes.
  disk.magic = kExt4Magic;
  disk.id = 0x1234;
  mount("ext4", "/dev/sdb1");
  const std::string local = key();
  mount("ext4", "/dev/mapper/clone");
  EXPECT_NE(key(), local);
  // All that is called tmpfs has the same source.
  mount("tmpfs", "tmpfs");
  const std::string tmpfs = key();
  disk.id = 0x1235;
  EXPECT_NE(key(), tmpfs);
}

TEST_F(PlaceKey, follows_a_store_that_is_renamed_where_inodes_are_stable) {
  disk.magic = kNfsMagic;
  mount("nfs4", "server:/export");
  const std::string before = key();
  fs::rename(directory, scratch.path() / "renamed.torc");
  directory = scratch.path() / "renamed.torc";
  EXPECT_EQ(key(), before);
}

TEST_F(PlaceKey, without_stable_inodes_is_the_path_inside_the_filesystem) {
  disk.magic = kFuseMagic;
  mount("fuse.sshfs", "u@h:/e");
  const std::string whole = key();
  disk.device = 99;
  EXPECT_EQ(key(), whole);
  mount("fuse.sshfs", "u@h:/e", "/below");  // a bind mount of a directory of it
  EXPECT_NE(key(), whole);
}

TEST(Remount, keeps_the_copy_of_a_node) {
  const ScratchDirectory scratch;
  FaultyDisk disk;
  disk.magic = kNfsMagic;
  disk.tables = MountTables{"1 1 0:51 / / rw - nfs4 server:/export rw\n", ""};
  disk.device = 51;
  Node node(scratch.path(), "one", 1, &disk);
  const Path directory = scratch.path() / "wf.torc";
  const auto made = Store::create(node.world(), directory, Engine::journal, quick(), put("a", "1"));
  ASSERT_TRUE(made.ok()) << made.error().text();
  const auto copies = [&] {
    const Path all = node.replicas / ("torc-" + std::to_string(::geteuid()));
    return std::distance(fs::directory_iterator(all), fs::directory_iterator());
  };
  ASSERT_TRUE((*made)->commit(1, put("a", "2")).ok());
  const auto before = copies();
  disk.device = 52;
  disk.tables->mounted = "1 1 0:52 / / rw - nfs4 server:/export rw\n";
  ++disk.remounts;
  ASSERT_TRUE((*made)->commit(1, put("a", "3")).ok());
  EXPECT_EQ(copies(), before);
  EXPECT_EQ(value_of(**made, "a"), "3");
}

}  // namespace
}  // namespace torc::store
