#include "lib/store/engine/store.h"

#include <algorithm>
#include <cerrno>

#include "lib/store/disk/disk.h"
#include "lib/store/disk/hash.h"
#include "lib/store/engine/engines.h"
#include "lib/store/engine/place.h"

namespace torc::store {
namespace {

std::string what_is_there(Disk& disk, const Path& directory) {
  const Result<std::vector<std::string>> names = disk.list(directory);
  if (!names.ok()) return {};
  if (names->empty()) return " (it is empty)";
  std::string out = " (it contains ";
  for (std::size_t i = 0; i < names->size() && i < 4; ++i) out += (i > 0 ? ", " : "") + (*names)[i];
  return out + (names->size() > 4 ? ", …)" : ")");
}

// A directory without META is no store only where everything is mounted that should be.
Error no_meta(Disk& disk, const Path& directory) {
  if (const auto missing = missing_mount(disk.mount_tables(), disk.resolved(directory))) {
    return {ErrorKind::io,
            directory.string() + " cannot be seen: nothing is mounted at " + missing->string() +
                ", where something should be (/etc/fstab, automounter)",
            "mount it, or wait until it is"};
  }
  const Result<FileStatus> there = disk.status(directory);
  if (!there.ok() && there.error().os_errno != ENOENT && there.error().os_errno != ENOTDIR)
    return there.error();
  if (!there.ok())
    return {ErrorKind::not_found, "there is no store " + directory.string(),
            "make one with `torc init`"};
  return {
      ErrorKind::not_found,
      directory.string() + " is not a torc store: it has no META" + what_is_there(disk, directory),
      "name the directory that `torc init` made; an empty directory may be a mount point whose "
      "filesystem is not mounted"};
}

Error unmounted(const Path& directory, const Place& place) {
  const std::string what =
      place.mount ? place.mount->source + " (" + place.mount->type + ")" : "its filesystem";
  return {ErrorKind::io,
          directory.string() + " cannot be seen: " + what + " is not mounted" +
              (place.mount ? " at " + place.mount->point.string() : "") + " now",
          "mount it again; what was going on goes on then"};
}

// No call on a filesystem gives it, so that no name that is not there is taken for that. It stays
// with the error of a commit whose outcome is unknown.
constexpr int kGone = EIDRM;

// Whether the directory of `file` lists it; false also when that is not there itself, which its own
// directory must show. What a client remembers of a name is not asked.
Result<bool> is_listed(Disk& disk, const Path& file) {
  const Path directory = file.parent_path();
  const Result<std::vector<std::string>> names = list_directory(disk, directory);
  if (names.ok()) return std::find(names->begin(), names->end(), file.filename()) != names->end();
  if (names.error().os_errno != ENOENT && names.error().os_errno != ENOTDIR) return names.error();
  if (directory == directory.parent_path()) return false;
  return is_listed(disk, directory);
}

}  // namespace

std::string Identity::id_hex() const {
  return to_hex(id);
}

Path Identity::state_directory(const Path& store) const {
  return store / ("state-" + id_hex().substr(0, 8));
}

std::string Identity::instance_hex() const {
  return to_hex(instance);
}

Result<Meta> look_at_meta(const World& world, const Path& directory) {
  world.disk.protect(directory);
  const Path file = directory / "META";
  Result<std::string> text = read_file(world.disk, file);
  if (!text.ok()) {
    if (text.error().kind != ErrorKind::not_found) return std::move(text).error();
    return no_meta(world.disk, directory);
  }
  TORC_ASSIGN(Meta meta, decode_meta(*text, file));
  TORC_ASSIGN(meta.place, look_at_place(world.disk, directory, meta.identity));
  meta.publish = method_for(meta.names, meta.place.facts.type);
  if (meta.identity.engine == Engine::lmdb && meta.place.facts.type.sharing == Sharing::shared) {
    return Error{ErrorKind::unsupported,
                 directory.string() + " has engine lmdb but is on " +
                     std::string(meta.place.facts.type.name) + " now",
                 "move it back to a local disk, or make the store with --engine journal"};
  }
  return meta;
}

Result<Meta> read_meta(const World& world, const Path& directory) {
  TORC_ASSIGN(Meta meta, look_at_meta(world, directory));
  if (meta.identity.engine == Engine::lmdb) TORC_TRY(check_home(world, directory, meta));
  return meta;
}

bool is_gone(const Error& error) {
  const bool ends = error.kind == ErrorKind::fenced || error.kind == ErrorKind::unknown;
  return ends && error.os_errno == kGone;
}

Result<void> check_still_there(const World& world, const Path& directory, const Identity& identity,
                               const Place& place) {
  const Path file = directory / "META";
  const std::string was = directory.string() + " (store " + identity.id_hex() + ")";
  const Result<std::string> text = read_file(world.disk, file);
  if (text.ok()) {
    TORC_ASSIGN(const Meta meta, decode_meta(*text, file));
    if (meta.identity.id == identity.id) return {};
    if (ground_of(world.disk, directory, place) != Ground::same) return unmounted(directory, place);
    return Error{ErrorKind::fenced,
                 was + " was replaced by another store, " + meta.identity.id_hex() +
                     "; nothing is written to that one",
                 "start a worker anew to work on the new one", kGone};
  }
  if (text.error().kind != ErrorKind::not_found) return text.error();
  if (ground_of(world.disk, directory, place) != Ground::same) return unmounted(directory, place);
  TORC_ASSIGN(const bool listed, is_listed(world.disk, file));
  if (listed) {
    return Error{ErrorKind::io,
                 was + " is listed and cannot be opened: its filesystem is in trouble",
                 "try again"};
  }
  return Error{ErrorKind::fenced, was + " is not there any more: it was deleted or moved",
               "jobs that ran were ended; if it was moved, go on with it at its new place: torc "
               "worker PLACE",
               kGone};
}

Result<LastSeen> LastSeen::of(const World& world, const Store& store) {
  TORC_ASSIGN(const Place place, look_at_place(world.disk, store.directory(), store.identity()));
  return LastSeen([world, directory = store.directory(), identity = store.identity(), place] {
    return store::check_still_there(world, directory, identity, place);
  });
}

}  // namespace torc::store
