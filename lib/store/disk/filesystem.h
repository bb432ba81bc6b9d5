// What kind of filesystem a path is on, as far as the choice of engine and of durability depends on
// it.
#pragma once

#include <cstdint>
#include <string_view>

namespace torc::store {

enum class Sharing : std::uint8_t {
  local,    // one host sees it: ext4, xfs, btrfs, f2fs, zfs, bcachefs
  scratch,  // one host, and it does not outlive it: tmpfs, ramfs, overlay
  shared  // several hosts may see it, or nobody knows: NFS, Lustre, GPFS, BeeGFS, CephFS, FUSE, 9p,
          // unknown
};

struct FilesystemType {
  std::string_view name;
  Sharing sharing = Sharing::shared;
  // fsync of a file makes its name durable and all names that were given before it (a journal kept
  // in order).
  bool orders_names = false;
  bool names_are_durable = false;  // the server has made a new name durable when it answers (NFS)
};

// From the magic number of statfs(2).
[[nodiscard]] FilesystemType filesystem_type(std::uint64_t magic);

}  // namespace torc::store
