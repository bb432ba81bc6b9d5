#include "lib/store/engine/place.h"

#include <fmt/format.h>

#include <cerrno>

#include "lib/store/disk/hash.h"

namespace torc::store {
namespace {

// What names the filesystem, also after it was mounted anew, which gives it another device number
// where that is no number of a disk (network and FUSE filesystems, btrfs, tmpfs). Of a clone of a
// disk that is mounted beside it the source differs.
std::string filesystem_name(Disk& disk, const Path& directory, const Place& place) {
  std::uint64_t number = place.device;
  // Its source tells, but not of a snapshot that is seen inside it (.snap of CephFS), where inodes
  // are those of the living directories.
  if (place.mount && place.facts.type.sharing == Sharing::shared &&
      (place.mount->device == 0 || place.mount->device == place.device))
    number = 0;
  // That of an overlay is one of the disk below.
  if (place.mount && place.facts.inodes == Inodes::stable && number != 0) {
    if (const std::uint64_t id = disk.filesystem_id(directory); id != 0) number = id;
  }
  return (place.mount ? place.mount->type + '\0' + place.mount->source : std::string()) + '\0' +
         fmt::format("{:x}", number);
}

// Where inode numbers come and go with the caches of a client (sshfs), the path has to do: a copy
// has another one.
std::string path_inside(const Place& place, const Path& resolved) {
  if (!place.mount) return resolved.string();
  return (place.mount->root / resolved.lexically_relative(place.mount->point)).string();
}

std::string key_of(Disk& disk, const Path& directory, const Path& resolved, const Place& place) {
  const std::string filesystem = filesystem_name(disk, directory, place);
  const auto digits = [](const std::string& text) {
    return to_hex(hash128({}, text)).substr(0, 16);
  };
  if (place.inode == 0) return "p" + digits(filesystem + '\0' + path_inside(place, resolved));
  return fmt::format("{}-{:x}", digits(filesystem), place.inode);
}

}  // namespace

Result<MountFacts> look_at_mount(Disk& disk, const Path& directory) {
  TORC_ASSIGN(const std::uint64_t magic, disk.filesystem(directory));
  const Path resolved = disk.resolved(directory);
  return mount_facts(magic, mount_of(disk.mount_tables().mounted, resolved));
}

Result<Place> look_at_place(Disk& disk, const Path& directory, const Identity& identity) {
  Place out;
  out.mount_changes = disk.mount_changes();
  TORC_ASSIGN(const std::uint64_t magic, disk.filesystem(directory));
  const Path resolved = disk.resolved(directory);
  out.mount = mount_of(disk.mount_tables().mounted, resolved);
  out.facts = mount_facts(magic, out.mount);
  const Result<FileStatus> state = disk.status(identity.state_directory(directory));
  if (!state.ok() && state.error().os_errno != ENOENT) return state.error();
  out.is_there = state.ok();
  if (state.ok()) out.device = state->device;
  if (state.ok() && out.facts.inodes == Inodes::stable) {
    out.inode = state->inode;
    out.born = state->born;
  }
  out.key = key_of(disk, directory, resolved, out);
  return out;
}

Ground ground_of(Disk& disk, const Path& directory, const Place& was) {
  // The directory may be gone, but not all that is above it.
  Path above = directory.parent_path();
  Result<FileStatus> status = disk.status(above);
  while (!status.ok() && status.error().os_errno == ENOENT && above != above.parent_path()) {
    above = above.parent_path();
    status = disk.status(above);
  }
  if (!status.ok()) return Ground::another;
  if (!was.mount) return status->device == was.device ? Ground::same : Ground::another;
  const auto now = mount_of(disk.mount_tables().mounted,
                            disk.resolved(above) / directory.lexically_relative(above));
  const bool same = now && now->point == was.mount->point && now->type == was.mount->type &&
                    now->source == was.mount->source;
  return same ? Ground::same : Ground::another;
}

}  // namespace torc::store
