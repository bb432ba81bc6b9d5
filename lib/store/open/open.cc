// Making a store, and opening the one that is there.
#include <algorithm>
#include <cerrno>
#include <set>

#include "lib/store/disk/disk.h"
#include "lib/store/disk/hash.h"
#include "lib/store/engine/engines.h"
#include "lib/store/engine/place.h"
#include "lib/store/engine/store.h"
#include "lib/store/format/journal.h"

namespace torc::store {
namespace {

Result<Engine> choose_engine(Engine wanted, const FilesystemType& type, const Path& directory) {
  const bool shared = type.sharing == Sharing::shared;
  if (wanted == Engine::automatic) return shared ? Engine::journal : Engine::lmdb;
  if (wanted == Engine::lmdb && shared) {
    return Error{ErrorKind::unsupported,
                 directory.string() + " is on " + std::string(type.name) +
                     ", where other hosts may be; engine lmdb works on a local filesystem only",
                 "use --engine journal, or another directory"};
  }
  return wanted;
}

Result<void> check_target(Disk& disk, const Path& directory) {
  const Result<FileStatus> there = disk.status(directory);
  if (there.ok()) {
    return Error{ErrorKind::exists, directory.string() + " is there already",
                 "choose another name"};
  }
  if (there.error().os_errno != ENOENT) return there.error();
  if (const Result<FileStatus> parent = disk.status(directory.parent_path()); !parent.ok()) {
    return Error{parent.error().kind,
                 "cannot make " + directory.string() + ": its parent directory is not there",
                 "make " + directory.parent_path().string() + " first"};
  }
  return {};
}

// Writes the caller's files and the directories that they need. `made` collects the directories,
// parents first.
Result<void> write_files(Disk& disk, const Path& root, const std::vector<Store::File>& files,
                         Durable durable, std::set<Path>& made) {
  for (const Store::File& file : files) {
    const Path path = file.path.lexically_normal();
    if (path.empty() || path.is_absolute() || *path.begin() == "..") {
      return Error{ErrorKind::invalid,
                   "a file of a store must be named inside it: " + file.path.string(),
                   {}};
    }
    Path directory = root;
    for (const Path& part : path.parent_path()) {
      directory /= part;
      Result<void> there =
          made.contains(directory) ? Result<void>() : disk.make_directory(directory);
      if (!there.ok() && there.error().os_errno != EEXIST) return there;
      made.insert(directory);
    }
    TORC_TRY(write_file(disk, root / path, file.content, durable));
  }
  return {};
}

// Everything but the first commit, in a directory that nobody knows yet.
Result<void> build(const World& world, const Path& root, Engine engine, const MountFacts& facts,
                   const Tuning& tuning, const std::vector<Store::File>& files) {
  Disk& disk = world.disk;
  const Durable durable = tuning.sync ? Durable::yes : Durable::no;
  Meta meta;
  meta.identity = {random_bytes(world.entropy), engine, world.host, {}, {}};
  if (engine == Engine::lmdb) meta.identity.machine = world.machine;
  meta.identity.instance = meta.identity.id;
  meta.filesystem = facts.type.name;
  meta.retention =
      std::min(kMostRetention, std::chrono::ceil<std::chrono::seconds>(std::max(
                                   tuning.retention.value_or(kRetention), facts.retention)));
  std::set<Path> directories;
  const Path state = meta.identity.state_directory(root);
  std::vector<Path> needed{state, state / "beats"};
  if (engine == Engine::journal) {
    needed.insert(needed.end(), {state / "journal", state / "journal" / number_name(0),
                                 state / "snapshot", state / "segment"});
  }
  for (const Path& directory : needed) {
    TORC_TRY(disk.make_directory(directory));
    directories.insert(directory);
  }
  if (engine == Engine::journal) {
    TORC_ASSIGN(const PublishMethod works, probe_publish(disk, world.entropy, state / "snapshot"));
    meta.names = names_of(works.primitive);
    TORC_TRY(write_file(disk, state / "lock", "", durable));
  }
  // It keeps its inode when the store gets its name.
  TORC_ASSIGN(const Place place, look_at_place(disk, root, meta.identity));
  meta.inode = place.inode;
  meta.born = place.born;
  TORC_TRY(write_files(disk, root, files, durable, directories));
  TORC_TRY(write_file(disk, root / "META", encode_meta(meta), durable));
  if (durable == Durable::yes) {
    for (const Path& directory : directories) TORC_TRY(disk.sync_directory(directory));
    TORC_TRY(disk.sync_directory(root));
  }
  return {};
}

Result<std::unique_ptr<Store>> open_as(const World& world, const Path& directory, const Meta& meta,
                                       const Tuning& tuning) {
  return meta.identity.engine == Engine::journal
             ? open_journal_store(world, directory, meta, tuning)
             : open_lmdb_store(world, directory, meta, tuning);
}

Result<void> fill_and_name(const World& world, const Path& root, const Path& directory,
                           Engine engine, const MountFacts& facts, const Tuning& tuning,
                           const Store::Body& first, const std::vector<Store::File>& files,
                           StoreId& id) {
  TORC_TRY(build(world, root, engine, facts, tuning, files));
  {
    TORC_ASSIGN(const Meta meta, read_meta(world, root));
    id = meta.identity.id;
    TORC_ASSIGN(const std::unique_ptr<Store> store, open_as(world, root, meta, tuning));
    TORC_TRY(store->commit(0, first));
    // The node's copy is known by the path there, which changes now.
    if (facts.inodes == Inodes::unknown) store->forget_copy();
  }
  if (tuning.sync) TORC_TRY(world.disk.sync_directory(root));
  Result<void> named = world.disk.rename(root, directory, Replace::no);
  if (!named.ok()) {
    const int e = named.error().os_errno;
    if (e != EEXIST && e != ENOTEMPTY && e != ENOTDIR) return named;
    return Error{ErrorKind::exists, directory.string() + " is there already",
                 "choose another name"};
  }
  return tuning.sync ? world.disk.sync_directory(directory.parent_path()) : Result<void>();
}

// Looked for before LMDB would make it anew.
Result<void> check_data(const World& world, const Path& directory) {
  const auto there = world.disk.status(directory / "data.mdb");
  if (there.ok()) return {};
  if (there.error().os_errno != ENOENT) return there.error();
  return Error{ErrorKind::corrupt,
               (directory / "data.mdb").string() + " is missing: the store is damaged",
               "restore it from a copy; nothing was changed"};
}

}  // namespace

Result<std::unique_ptr<Store>> Store::create(const World& world, const Path& directory,
                                             Engine engine, const Tuning& tuning, const Body& first,
                                             const std::vector<File>& files) {
  TORC_TRY(check_target(world.disk, directory));
  TORC_ASSIGN(const MountFacts facts, look_at_mount(world.disk, directory.parent_path()));
  TORC_ASSIGN(const Engine chosen, choose_engine(engine, facts.type, directory));
  const auto missing = missing_mount(world.disk.mount_tables(), world.disk.resolved(directory));
  if (missing && world.tell) {
    world.tell("nothing is mounted at " + missing->string() +
               " though /etc/fstab names it: the store is made on the filesystem below, and hidden "
               "once it is mounted");
  }
  const std::string random = to_hex(random_bytes(world.entropy)).substr(0, 16);
  const Path root = directory.string() + ".tmp-" + random;
  TORC_TRY(world.disk.make_directory(root));
  world.disk.protect(root, Root::made_here);
  world.disk.protect(directory);
  StoreId id{};
  Result<void> made =
      fill_and_name(world, root, directory, chosen, facts, tuning, first, files, id);
  if (!made.ok()) {
    (void)remove_tree(world.disk, root);
    return std::move(made).error();
  }
  TORC_ASSIGN(std::unique_ptr<Store> store, open(world, directory, tuning));
  if (store->identity().id == id) return store;
  return Error{ErrorKind::permission,
               directory.string() + " was exchanged for another store as soon as it was made",
               "who else may write in " + directory.parent_path().string() + "?"};
}

Result<std::unique_ptr<Store>> Store::open(const World& world, const Path& directory,
                                           const Tuning& tuning) {
  TORC_ASSIGN(Meta meta, read_meta(world, directory));
  if (meta.identity.engine == Engine::journal && !tuning.retention)
    TORC_TRY(ask_for_retention(world, directory, meta));
  if (meta.identity.engine == Engine::lmdb) TORC_TRY(check_data(world, directory));
  return open_as(world, directory, meta, tuning);
}

}  // namespace torc::store
