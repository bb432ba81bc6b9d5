// The mount that a path lies on, as /proc/self/mountinfo tells it (proc(5)), and what its options
// mean for a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/disk/disk.h"
#include "lib/store/mount/finding.h"

namespace torc::store {

struct Mount {
  Path point;
  Path root;                         // what of the filesystem is shown there: "/", "/exported"
  std::string type;                  // "ext4", "nfs4", "fuse.sshfs"
  std::string source;                // "server:/export", "/dev/sda1"
  std::uint64_t device = 0;          // st_dev of most of what is in it; 0: not known
  std::vector<std::string> options;  // of this mount, then of the filesystem behind it
  // Whether an option is set, with or without a value.
  [[nodiscard]] bool has(std::string_view option) const;
  [[nodiscard]] std::string value(std::string_view option) const;  // of "option=value"; else empty
};

// The mount of `path` (absolute, without symbolic links): of those whose point is above it the
// deepest, of several on one point the newest. nullopt: the text is no mountinfo.
[[nodiscard]] std::optional<Mount> mount_of(std::string_view mountinfo, const Path& path);

// The deepest point above `path`, or at it, where fstab wants something mounted and nothing is, or
// where an automounter has mounted nothing (yet). nullopt: none, as far as the tables tell. Pure.
[[nodiscard]] std::optional<Path> missing_mount(const MountTables& tables, const Path& path);

// What is to be said of a store on this mount. Pure.
[[nodiscard]] std::vector<Finding> judge_mount(const Mount& mount);

}  // namespace torc::store
