#include "lib/store/mount/mount_facts.h"

#include <algorithm>
#include <iterator>

#include "lib/base/number.h"

namespace torc::store {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kUsualRetention{10};
// acregmax and acdirmax, where the mount names no other: nfs(5).
constexpr seconds kLongestNfsFile{60};
constexpr seconds kLongestNfsDirectory{60};
constexpr long long kMostSeconds = 1'000'000;

struct Known {
  MountKind kind;
  std::string_view name;
  Learning learning;
  seconds listing_age;
  seconds heartbeat_age;
  seconds retention;
  Inodes inodes;
  Caches heartbeat_caches;
  seconds least_lease = {};
  std::string_view lease_why = {};
};

constexpr Learning kListing = Learning::listing;
constexpr Inodes kStable = Inodes::stable;
constexpr Inodes kUnstable = Inodes::unknown;
constexpr Caches kTrust = Caches::trust;
constexpr Caches kBypass = Caches::bypass;

// Ages: the longest that was seen, rounded up. NFS: a directory that is opened anew is asked for;
// the rest of the retention is for time stamps of the server's clock. sshfs: its own caches of
// directories and attributes, 20 s each. CephFS: a client that died in somebody's way keeps its
// rights for the session timeout, 60 s where nobody set it.
//
// Inodes: Lustre, GPFS, BeeGFS, CephFS, NFS and MooseFS tell the numbers of their servers,
// GlusterFS makes them from its own ids. sshfs counts what it has in its cache, so a directory gets
// another one when it comes back to it.
//
// Caches: a kernel's own client asks the server when a file is opened. What a FUSE client does, its
// author knows; all that are known take O_DIRECT for "ask".
constexpr Known kKnown[] = {
    {MountKind::local, "local", kListing, 0s, 0s, kUsualRetention, kStable, kTrust},
    {MountKind::nfs, "nfs", kListing, 1s, 1s, kUsualRetention, kStable, kTrust},
    {MountKind::lustre, "lustre", kListing, 0s, 0s, kUsualRetention, kStable, kTrust},
    {MountKind::gpfs, "gpfs", kListing, 0s, 0s, kUsualRetention, kStable, kTrust},
    {MountKind::beegfs, "beegfs", kListing, 1s, 1s, kUsualRetention, kStable, kTrust},
    {MountKind::sshfs, "sshfs", Learning::both, 25s, 21s, 60s, kUnstable, kBypass},
    {MountKind::moosefs, "moosefs", kListing, 1s, 1s, kUsualRetention, kStable, kBypass},
    {MountKind::glusterfs, "glusterfs", Learning::both, 1s, 2s, 15s, kStable, kBypass},
    {MountKind::cephfs, "cephfs", kListing, 1s, 5s, 15s, kStable, kBypass, 180s,
     "the session of a client that died ends only after 60 s, and holds up the others"},
    {MountKind::fuse, "fuse", Learning::both, 25s, 21s, 60s, kUnstable, kBypass},
    {MountKind::unknown, "unknown", Learning::both, 25s, 21s, 60s, kUnstable, kBypass},
};

const Known& known(MountKind kind) {
  for (const Known& k : kKnown) {
    if (k.kind == kind) return k;
  }
  return kKnown[std::size(kKnown) - 1];
}

// MooseFS is of type "fuse"; its client writes the '#' as an escape that proc escapes once more.
bool is_moosefs(const Mount& mount) {
  return mount.type == "fuse.mfs" || mount.type == "fuse.moosefs" ||
         (mount.type == "fuse" &&
          (mount.source.starts_with("mfs#") || mount.source.starts_with("mfs\\043")));
}

std::optional<seconds> seconds_in(const Mount& mount, std::string_view option) {
  const std::string text = mount.value(option);
  const auto value = leading_number<long long>(text);
  if (!value || *value < 0 || *value > kMostSeconds) return std::nullopt;
  return seconds(*value);
}

// More than a listing is old, since there is also the way to it.
void set_listing_age(nanoseconds age, MountFacts& out) {
  out.listing_age = age;
  out.retention = std::max<nanoseconds>(kUsualRetention, 2 * age);
}

// Opening a directory or a file asks the server for it again (close-to-open), however long
// attributes are kept; with nocto it does not.
void apply_nfs_options(const Mount& mount, MountFacts& out) {
  if (!mount.has("nocto") || mount.has("noac")) return;
  const auto kept = seconds_in(mount, "acdirmax");
  set_listing_age(kept.value_or(kLongestNfsDirectory), out);
  out.heartbeat_age += seconds_in(mount, "acregmax").value_or(kLongestNfsFile);
  out.shorter_age = "mount without nocto";
}

// Its options are mostly its own and not told by the mount table; where they are, they count.
void apply_sshfs_options(const Mount& mount, MountFacts& out) {
  if (mount.value("dir_cache") == "no" || mount.value("cache") == "no") {
    set_listing_age(seconds(1), out);
    return;
  }
  if (const auto kept = seconds_in(mount, "dcache_timeout"))
    set_listing_age(*kept + seconds(5), out);
  out.shorter_age = "mount with -o dir_cache=no";
}

}  // namespace

MountKind mount_kind(const std::optional<Mount>& mount, std::uint64_t magic) {
  if (mount) {
    const std::string& type = mount->type;
    if (type == "nfs" || type == "nfs4") return MountKind::nfs;
    if (type == "lustre") return MountKind::lustre;
    if (type == "gpfs") return MountKind::gpfs;
    if (type == "beegfs" || type == "fhgfs") return MountKind::beegfs;
    if (type == "fuse.sshfs") return MountKind::sshfs;
    if (type == "fuse.glusterfs") return MountKind::glusterfs;
    if (type == "ceph" || type == "fuse.ceph-fuse" || type == "fuse.ceph") return MountKind::cephfs;
    if (is_moosefs(*mount)) return MountKind::moosefs;
    if (type.starts_with("fuse") && type != "fuseblk") return MountKind::fuse;
  }
  const FilesystemType type = filesystem_type(magic);
  if (type.sharing != Sharing::shared) return MountKind::local;
  for (const Known& k : kKnown) {
    if (k.name == type.name) return k.kind;  // of FUSE the magic number tells no more
  }
  return type.name == "ceph" ? MountKind::cephfs : MountKind::unknown;
}

MountFacts mount_facts(MountKind kind) {
  const Known& k = known(kind);
  MountFacts out;
  out.kind = k.kind;
  out.learning = k.learning;
  out.listing_age = k.listing_age;
  out.heartbeat_age = k.heartbeat_age;
  out.retention = k.retention;
  out.least_lease = k.least_lease;
  out.lease_why = k.lease_why;
  out.inodes = k.inodes;
  return out;
}

Caches heartbeat_caches(MountKind kind) {
  return known(kind).heartbeat_caches;
}

std::string_view to_string(MountKind kind) {
  return known(kind).name;
}

std::string_view to_string(Learning learning) {
  static constexpr std::string_view kNames[] = {"listing", "next-number", "both"};
  return kNames[static_cast<std::size_t>(learning)];
}

MountFacts mount_facts(std::uint64_t magic, const std::optional<Mount>& mount) {
  MountFacts out = mount_facts(mount_kind(mount, magic));
  out.type = filesystem_type(magic);
  if (out.kind == MountKind::local && out.type.name == "overlay") out.inodes = Inodes::unknown;
  if (!mount) return out;
  if (out.kind == MountKind::nfs) apply_nfs_options(*mount, out);
  if (out.kind == MountKind::sshfs) apply_sshfs_options(*mount, out);
  return out;
}

MountFacts facts_of(Disk& disk, const Path& path) {
  const Path real = disk.resolved(path);
  const Result<std::uint64_t> magic = disk.filesystem(real);
  return mount_facts(magic.ok() ? *magic : 0, mount_of(disk.mount_tables().mounted, real));
}

}  // namespace torc::store
