// The file META, and what hosts add to it.

#include "lib/base/number.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/hash.h"
#include "lib/store/disk/owner.h"
#include "lib/store/engine/engines.h"

namespace torc::store {
namespace {

constexpr std::string_view kRetentionFile = "retention-";

std::string random_name(Entropy& entropy) {
  return std::string(Publisher::kTemporary) + std::to_string(entropy.next());
}

// Engine journal collects temporary files of the dead in some directories only.
Path bench_of(const Path& directory, const Identity& identity) {
  const Path state = identity.state_directory(directory);
  return identity.engine == Engine::journal ? state / "snapshot" : state;
}

std::optional<std::chrono::seconds> retention_of(std::string_view name) {
  if (!name.starts_with(kRetentionFile)) return std::nullopt;
  name.remove_prefix(kRetentionFile.size());
  const auto seconds = whole_number<std::int64_t>(name);
  if (!seconds || *seconds < 0 || *seconds > kMostRetention.count()) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

// Durable. Root, or a member of the group, shall not lock the owner out.
Result<void> keep_owner(Disk& disk, const Path& root, const Path& file, const Path& fresh) {
  TORC_TRY(take_over_owner(root, file, fresh));
  TORC_ASSIGN(const FileHandle handle, disk.open_read(fresh));
  OpenFile open(disk, handle, fresh);
  TORC_TRY(open.sync(Sync::all));
  return open.close();
}

std::string owner_of(const Meta& meta) {
  return meta.identity.host.empty() ? std::string("another machine")
                                    : "machine " + meta.identity.host;
}

}  // namespace

Result<void> check_home(const World& world, const Path& directory, const Meta& meta) {
  const Whereabouts made = meta.made();
  const Whereabouts now = meta.now(world);
  const std::string adopt =
      "work there, make the store with --engine journal to use it from several, or, when nobody "
      "works on it there any more, `torc adopt " +
      directory.string() + "`";
  const std::string what = directory.string() + " has engine lmdb and belongs to " +
                           owner_of(meta) + "; this is " + world.host;
  switch (judge_home(made, now)) {
    case Home::here:
    case Home::moved:
      return {};
    case Home::other_machine:
      return Error{ErrorKind::unsupported, what + ", another machine by its machine id", adopt};
    case Home::unknown:
      break;
  }
  const std::string why =
      made.machine.empty() && now.machine.empty()
          ? "neither had a machine id (/etc/machine-id), and the names differ"
      : now.machine.empty()  ? "there is no machine id here (/etc/machine-id)"
      : made.machine.empty() ? "that one had no machine id (/etc/machine-id)"
                             : "the machine ids are the same, as those of cloned machines are, but "
                               "the names differ, and the directory is not known to be the same";
  return Error{ErrorKind::unsupported,
               what + "; whether that is the same machine is not known: " + why, adopt};
}

Result<void> replace_meta(const World& world, const Path& directory, const Meta& changed) {
  const std::string text = encode_meta(changed);
  const Path aside = bench_of(directory, changed.identity) / random_name(world.entropy);
  TORC_TRY(write_file(world.disk, aside, text, Durable::no));
  if (Result<void> theirs = keep_owner(world.disk, directory, directory / "META", aside);
      !theirs.ok()) {
    (void)world.disk.unlink(aside);
    return theirs;
  }
  const Result<void> named = world.disk.rename(aside, directory / "META", Replace::yes);
  if (!named.ok()) {
    // The reply may be what was lost, or that of a request which was sent twice.
    const Result<std::string> there = read_file(world.disk, directory / "META");
    if (!there.ok() || *there != text) {
      (void)world.disk.unlink(aside);
      return named;
    }
  }
  return world.disk.sync_directory(directory);
}

Meta with_own_instance(Meta meta) {
  meta.identity.instance = hash128(meta.identity.id, "copy of " + meta.identity.instance_hex() +
                                                         " at " + std::to_string(meta.place.inode) +
                                                         " " + std::to_string(meta.place.born));
  meta.inode = meta.place.inode;
  meta.born = meta.place.born;
  return meta;
}

Result<void> adopt_copy(const World& world, const Path& directory, Identity& identity) {
  TORC_ASSIGN(Meta meta, read_meta(world, directory));
  const bool copy = meta.is_copy();
  if (copy) {
    meta = with_own_instance(std::move(meta));
    TORC_TRY(replace_meta(world, directory, meta));
  }
  identity.instance = meta.identity.instance;
  if (copy && world.tell) {
    world.tell(directory.string() +
               " is a copy of another store: from now on it goes its own way, as " +
               identity.instance_hex());
  }
  return {};
}

Result<std::chrono::seconds> agreed_retention(Disk& disk, const Path& state,
                                              std::chrono::seconds least) {
  TORC_ASSIGN(const std::vector<std::string> names, list_directory(disk, state));
  std::chrono::seconds out = least;
  for (const std::string& name : names) out = std::max(out, retention_of(name).value_or(out));
  return out;
}

Result<void> ask_for_retention(const World& world, const Path& directory, const Meta& meta) {
  const auto needed =
      std::min(kMostRetention, std::chrono::ceil<std::chrono::seconds>(meta.place.facts.retention));
  if (meta.retention >= needed) return {};
  const Path state = meta.identity.state_directory(directory);
  TORC_ASSIGN(const std::chrono::seconds agreed,
              agreed_retention(world.disk, state, meta.retention));
  if (agreed >= needed) return {};
  const Path file = state / (std::string(kRetentionFile) + std::to_string(needed.count()));
  const Result<FileHandle> made = world.disk.open_update(file);
  if (made.ok()) {
    (void)world.disk.close(*made);
    return world.disk.sync_directory(state);
  }
  if (made.error().kind == ErrorKind::permission || made.error().kind == ErrorKind::no_space)
    return {};
  return made.error();
}

}  // namespace torc::store
