#include "lib/store/mount/mount_facts.h"

#include <gtest/gtest.h>

namespace torc::store {
namespace {

constexpr std::uint64_t kFuseType = 0x65735546;
constexpr std::uint64_t kExt4Type = 0xef53;

MountKind kind_of(const std::string& line, std::uint64_t magic = kFuseType) {
  return mount_kind(mount_of("1 1 0:1 / / " + line, "/x"), magic);
}

// All of them have the magic number of FUSE; lines as two real clients of each had them.
TEST(MountFacts, know_fuse_filesystems_by_type_and_source) {
  EXPECT_EQ(kind_of("rw,relatime - fuse.sshfs root@10.0.0.1:/e rw,user_id=0"), MountKind::sshfs);
  EXPECT_EQ(kind_of(R"(rw,relatime - fuse mfs\043host:9421 rw)"), MountKind::moosefs);
  EXPECT_EQ(kind_of(R"(rw,relatime - fuse mfs\134043host:9421 rw)"), MountKind::moosefs);
  EXPECT_EQ(kind_of("rw,relatime - fuse.glusterfs 10.0.0.1:lab rw"), MountKind::glusterfs);
  EXPECT_EQ(kind_of("rw,relatime - fuse.ceph-fuse ceph-fuse rw"), MountKind::cephfs);
  EXPECT_EQ(kind_of("rw,relatime - fuse.bindfs /a rw"), MountKind::fuse);
}

TEST(MountFacts, of_a_mount_that_is_not_found_go_by_the_magic_number) {
  EXPECT_EQ(mount_kind(std::nullopt, kExt4Type), MountKind::local);
  EXPECT_EQ(mount_kind(std::nullopt, 0x6969), MountKind::nfs);
  EXPECT_EQ(mount_kind(std::nullopt, 0x00c36400), MountKind::cephfs);
  EXPECT_EQ(mount_kind(std::nullopt, kFuseType), MountKind::fuse);
  EXPECT_EQ(mount_kind(std::nullopt, 0), MountKind::unknown);
}

TEST(MountFacts, of_what_is_not_known_are_the_careful_ones) {
  for (const MountKind kind : {MountKind::local, MountKind::nfs, MountKind::lustre, MountKind::gpfs,
                               MountKind::beegfs, MountKind::sshfs, MountKind::moosefs,
                               MountKind::glusterfs, MountKind::cephfs, MountKind::fuse}) {
    const MountFacts facts = mount_facts(kind);
    const MountFacts unknown = mount_facts(MountKind::unknown);
    EXPECT_LE(facts.listing_age, unknown.listing_age) << to_string(kind);
    EXPECT_LE(facts.heartbeat_age, unknown.heartbeat_age) << to_string(kind);
    EXPECT_LE(facts.retention, unknown.retention) << to_string(kind);
    EXPECT_GE(facts.retention, 2 * facts.listing_age) << to_string(kind);
  }
}

MountFacts facts_with(const std::string& line, std::uint64_t magic) {
  return mount_facts(magic, mount_of("1 1 0:1 / / " + line, "/x"));
}

TEST(MountFacts, count_the_options_that_are_told) {
  constexpr std::uint64_t kNfsType = 0x6969;
  EXPECT_EQ(facts_with("rw - nfs4 s:/x rw,vers=4.2,acdirmax=600", kNfsType).retention,
            std::chrono::seconds(10))
      << "a directory that is opened is asked for again";
  EXPECT_EQ(facts_with("rw - nfs4 s:/x rw,nocto", kNfsType).retention, std::chrono::seconds(120));
  EXPECT_EQ(facts_with("rw - nfs4 s:/x rw,nocto,acdirmax=30", kNfsType).retention,
            std::chrono::seconds(60));
  EXPECT_EQ(facts_with("rw - nfs4 s:/x rw,nocto,noac", kNfsType).retention,
            std::chrono::seconds(10));
  // Opened again, a file that was read lately is not asked for again either.
  EXPECT_EQ(facts_with("rw - nfs4 s:/x rw,acregmax=600", kNfsType).heartbeat_age,
            std::chrono::seconds(1));
  EXPECT_GE(facts_with("rw - nfs4 s:/x rw,nocto", kNfsType).heartbeat_age,
            std::chrono::seconds(60));
  EXPECT_GE(facts_with("rw - nfs4 s:/x rw,nocto,acregmax=600", kNfsType).heartbeat_age,
            std::chrono::seconds(600));
  EXPECT_EQ(facts_with("rw - nfs4 s:/x rw,nocto,noac", kNfsType).heartbeat_age,
            std::chrono::seconds(1));
  EXPECT_GT(facts_with("rw - fuse.sshfs u@h:/ rw", kFuseType).retention, std::chrono::seconds(21));
  EXPECT_EQ(facts_with("rw - fuse.sshfs u@h:/ rw,dir_cache=no", kFuseType).retention,
            std::chrono::seconds(10));
  EXPECT_GE(facts_with("rw - fuse.sshfs u@h:/ rw,dcache_timeout=100", kFuseType).retention,
            std::chrono::seconds(200));
}

TEST(MountFacts, say_where_inode_numbers_mean_something) {
  EXPECT_EQ(facts_with("rw - ext4 /dev/sda rw", kExt4Type).inodes, Inodes::stable);
  EXPECT_EQ(facts_with("rw - nfs4 s:/x rw", 0x6969).inodes, Inodes::stable);
  EXPECT_EQ(facts_with("rw - fuse.sshfs u@h:/ rw", kFuseType).inodes, Inodes::unknown);
  EXPECT_EQ(facts_with("rw - overlay overlay rw", 0x794c7630).inodes, Inodes::unknown);
}

}  // namespace
}  // namespace torc::store
