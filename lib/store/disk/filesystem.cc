#include "lib/store/disk/filesystem.h"

namespace torc::store {
namespace {

struct Known {
  std::uint64_t magic;
  FilesystemType type;
};

// Numbers of linux/magic.h, and of those that live outside the kernel: Lustre, GPFS, BeeGFS, ZFS,
// PanFS.
constexpr Known kKnown[] = {
    {0xef53, {"ext4", Sharing::local, true, false}},
    {0x58465342, {"xfs", Sharing::local, true, false}},
    {0x9123683e, {"btrfs", Sharing::local, false, false}},
    {0xf2f52010, {"f2fs", Sharing::local, false, false}},
    {0xca451a4e, {"bcachefs", Sharing::local, false, false}},
    {0x2fc12fc1, {"zfs", Sharing::local, false, false}},
    {0x01021994, {"tmpfs", Sharing::scratch, false, false}},
    {0x858458f6, {"ramfs", Sharing::scratch, false, false}},
    {0x794c7630, {"overlay", Sharing::scratch, false, false}},
    {0x6969, {"nfs", Sharing::shared, false, true}},
    {0x0bd00bd0, {"lustre", Sharing::shared, false, false}},
    {0x47504653, {"gpfs", Sharing::shared, false, false}},
    {0x19830326, {"beegfs", Sharing::shared, false, false}},
    {0x00c36400, {"ceph", Sharing::shared, false, false}},
    {0x65735546, {"fuse", Sharing::shared, false, false}},
    {0xaad7aaea, {"panfs", Sharing::shared, false, false}},
    {0x01021997, {"9p", Sharing::shared, false, false}},
    {0xff534d42, {"cifs", Sharing::shared, false, false}},
    {0xfe534d42, {"smb2", Sharing::shared, false, false}},
    {0x5346414f, {"afs", Sharing::shared, false, false}},
    {0x01161970, {"gfs2", Sharing::shared, false, false}},
    {0x7461636f, {"ocfs2", Sharing::shared, false, false}},
    {0x20030528, {"orangefs", Sharing::shared, false, false}},
};

}  // namespace

FilesystemType filesystem_type(std::uint64_t magic) {
  for (const Known& known : kKnown) {
    if (known.magic == magic) return known.type;
  }
  return {"unknown", Sharing::shared, false, false};
}

}  // namespace torc::store
