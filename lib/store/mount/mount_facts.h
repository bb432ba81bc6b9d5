// What is known of a filesystem before anything is tried on it, by what the mount table calls it:
// how a worker learns of the commits of other hosts there, and how old what it sees may be. The
// numbers were measured with two clients of each (docs/user/filesystems.md); of a filesystem
// that is not in the table the careful ones are taken.
//
// They belong to one mount on one host: two hosts may mount the same filesystem differently, and
// after a mount anew they are asked for again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/store/disk/filesystem.h"
#include "lib/store/mount/mount.h"

namespace torc::store {

enum class MountKind : std::uint8_t {
  local,  // one host sees it, scratch filesystems included
  nfs,
  lustre,
  gpfs,
  beegfs,
  sshfs,
  moosefs,
  glusterfs,
  cephfs,
  fuse,  // a FUSE filesystem that is not known
  unknown
};

// How the commits of other hosts are found.
enum class Learning : std::uint8_t {
  listing,      // opening a name too early makes it absent for long: only listed names are opened
  next_number,  // listings are old for long, while opening a name asks the server
  both          // either may be late; what one of them shows is there
};

// Whether the inode number of a directory is the same after it was mounted anew, and on all hosts.
enum class Inodes : std::uint8_t { stable, unknown };

struct MountFacts {
  MountKind kind = MountKind::unknown;
  Learning learning = Learning::listing;
  std::chrono::nanoseconds listing_age{};    // so old may a listing be
  std::chrono::nanoseconds heartbeat_age{};  // so late may a heartbeat be seen that is read anew
  // Collected files and everything else that a listing decides wait at least so long.
  std::chrono::nanoseconds retention{};
  // A lease that is shorter ends although its worker lives, when another client dies or is cut off;
  // 0: the usual one is long enough.
  std::chrono::seconds least_lease{};
  std::string_view lease_why;  // what takes so long; a part of a sentence
  Inodes inodes = Inodes::unknown;
  FilesystemType type;             // by the magic number
  std::string_view shorter_age{};  // what would make listings younger; empty: nothing is known
};

// `mount`: nullopt when it could not be found. `magic`: of statfs(2), for filesystems whose type in
// the mount table says nothing. Pure.
[[nodiscard]] MountKind mount_kind(const std::optional<Mount>& mount, std::uint64_t magic);
[[nodiscard]] MountFacts mount_facts(MountKind kind);
// The same with what the options of the mount change.
[[nodiscard]] MountFacts mount_facts(std::uint64_t magic, const std::optional<Mount>& mount);
// How heartbeats are read there.
[[nodiscard]] Caches heartbeat_caches(MountKind kind);
[[nodiscard]] std::string_view to_string(MountKind kind);
[[nodiscard]] std::string_view to_string(Learning learning);

// The facts of the mount that `path` lies on now. What cannot be found out
// is taken as `unknown`, with its careful numbers.
[[nodiscard]] MountFacts facts_of(Disk& disk, const Path& path);

}  // namespace torc::store
