#include "lib/store/maintenance/backup.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <vector>

#include "lib/store/disk/disk.h"
#include "lib/store/engine/engines.h"
#include "lib/store/format/snapshot.h"
#include "lib/store/journal/journal_store.h"

namespace torc::store {
namespace {

constexpr int kReadingTries = 4;

// What the store made for itself, or what is no part of its state.
bool is_callers_file(const std::string& name) {
  for (const char* own : {"META", "data.mdb", "lock.mdb", "open.lock", "quarantine"}) {
    if (name == own) return false;
  }
  return !name.starts_with("gate-") && !name.starts_with("state-") && !name.starts_with('.');
}

// The paths of the caller's files inside the store.
Result<void> collect(Disk& disk, const Path& root, const Path& inside, std::vector<Path>& out) {
  TORC_ASSIGN(const std::vector<std::string> names, disk.list(root / inside));
  for (const std::string& name : names) {
    const Path path = inside / name;
    if (inside.empty() && !is_callers_file(name)) continue;
    // What jobs printed is no part of the state, and there may be a million of it; batch scripts
    // need the directory.
    if (inside == "logs" && name != "README") continue;
    TORC_ASSIGN(const FileStatus status, disk.status(root / path));
    if (status.kind == FileKind::directory) {
      TORC_TRY(collect(disk, root, path, out));
    } else if (status.kind == FileKind::regular) {
      out.push_back(path);
    }
  }
  return {};
}

// One after the other: there may be many, and large ones. The caller syncs `to` itself.
Result<void> copy_files(Disk& disk, const Path& from, const std::vector<Path>& files,
                        const Path& to) {
  std::set<Path> made;
  for (const Path& file : files) {
    Path directory = to;
    for (const Path& part : file.parent_path()) {
      directory /= part;
      if (!made.insert(directory).second) continue;
      Result<void> there = disk.make_directory(directory);
      if (!there.ok() && there.error().os_errno != EEXIST) return there;
    }
    TORC_ASSIGN(const std::string content, read_file(disk, from / file));
    TORC_TRY(write_file(disk, to / file, content, Durable::yes));
  }
  for (const Path& directory : made) TORC_TRY(disk.sync_directory(directory));
  return {};
}

// Where LMDB has the state of a store that is open in this process.
Path environment_directory(const Store& store) {
  const auto* journal = dynamic_cast<const JournalStore*>(&store);
  return journal != nullptr ? journal->replica_directory() : store.directory();
}

Result<void> fill_lmdb(const Path& directory, const Txn& from, const Head& head) {
  TORC_ASSIGN(const auto environment, Environment::open(directory, Durable::yes));
  for (;;) {
    TORC_ASSIGN(Txn txn, Txn::begin(environment, Access::write));
    int rc = 0;
    const int scanned = scan_state(from, [&](const Entry& e) {
      rc = put_entry(txn, e.key, e.value);
      return rc == 0;
    });
    if (rc == 0) rc = scanned;
    if (rc == 0) rc = write_head(txn, head);
    if (rc == MDB_MAP_FULL) {
      txn.abort();
      TORC_TRY(environment->grow());
      continue;
    }
    if (rc != 0) return lmdb_error(rc, "cannot write " + (directory / "data.mdb").string());
    return txn.commit();
  }
}

Result<void> fill_journal(const World& world, const Path& directory, const Meta& meta,
                          const Txn& from, Head head) {
  Journal journal(world.disk, directory, meta.identity.id,
                  Publisher(world.disk, world.entropy, meta.publish, Durable::yes));
  TORC_TRY(journal.make_directory_of(head.sequence + 1));
  // The hash of a history is keyed by the store's id; this one begins with the copy.
  head.chain = hash128(meta.identity.id, "copied at " + std::to_string(head.sequence));
  return write_snapshot(journal, from, head);
}

Result<BackedUp> fill(const World& world, const Path& copy, const Txn& from) {
  TORC_ASSIGN(const Meta meta, read_meta(world, copy));
  Head head;
  if (const int rc = read_head(from, head); rc != 0)
    return lmdb_error(rc, "cannot read the state in " + from.directory().string());
  if (head.sequence > 0) {
    TORC_TRY(meta.identity.engine == Engine::journal ? fill_journal(world, copy, meta, from, head)
                                                     : fill_lmdb(copy, from, head));
  }
  return BackedUp{meta.identity, head.sequence};
}

// What a backup reads. nullopt: the node's copy of the state was taken away meanwhile, by whoever
// left a finished workflow, and perhaps made anew by somebody who has not read as far yet.
Result<std::optional<Txn>> begin_reading(Store& store) {
  std::uint64_t newest = 0;
  TORC_TRY(store.view(Freshness::latest, [&](const Reader& reader) {
    newest = reader.sequence();
    return Result<void>();
  }));
  const bool journal = store.identity().engine == Engine::journal;
  Result<std::shared_ptr<Environment>> environment =
      Environment::open(environment_directory(store), journal ? Durable::no : Durable::yes);
  if (!environment.ok() && environment.error().os_errno == ENOENT) return std::optional<Txn>();
  if (!environment.ok()) return std::move(environment).error();
  TORC_ASSIGN(Txn from, Txn::begin(*environment, Access::read));
  Head head;
  if (const int rc = read_head(from, head); rc != 0)
    return lmdb_error(rc, "cannot read the state in " + from.directory().string());
  if (head.sequence < newest) return std::optional<Txn>();
  return std::optional<Txn>(std::move(from));
}

Result<BackedUp> build(const World& world, const Path& source, const Path& copy,
                       const BackupRequest& request) {
  for (int tries = 0; tries < kReadingTries; ++tries) {
    TORC_ASSIGN(const std::unique_ptr<Store> store, Store::open(world, source, Tuning{}));
    TORC_ASSIGN(const std::optional<Txn> from, begin_reading(*store));
    if (!from) continue;
    const Engine engine = request.engine.value_or(store->identity().engine);
    {
      // Layout and META as for any new store, but without a commit.
      TORC_ASSIGN(const auto made, Store::create(world, copy, engine, Tuning{},
                                                 [](Transaction&) { return Result<void>(); }));
      made->forget_copy();
    }
    TORC_TRY(copy_callers_files(world.disk, source, copy));
    return fill(world, copy, *from);
  }
  return Error{ErrorKind::busy, "this node's copy of " + source.string() + " goes again and again",
               "try again"};
}

}  // namespace

Result<void> copy_callers_files(Disk& disk, const Path& from, const Path& to) {
  std::vector<Path> files;
  TORC_TRY(collect(disk, from, {}, files));
  return copy_files(disk, from, files, to);
}

Result<void> make_aside(const World& world, const Path& target,
                        const std::function<Result<void>(const Path& aside)>& fill) {
  if (world.disk.status(target).ok()) {
    return Error{ErrorKind::exists, target.string() + " is there already",
                 "name a directory that does not exist yet"};
  }
  const Path copy = target.string() + ".tmp-" + std::to_string(world.entropy.next());
  world.disk.protect(copy, Root::made_here);
  Result<void> done = fill(copy);
  if (done.ok()) done = world.disk.sync_directory(copy);
  if (done.ok()) done = world.disk.rename(copy, target, Replace::no);
  if (!done.ok()) {
    (void)remove_tree(world.disk, copy);
    return done;
  }
  return world.disk.sync_directory(target.parent_path());
}

Result<BackedUp> backup(const World& world, const Path& source, const BackupRequest& request) {
  BackedUp made;
  TORC_TRY(make_aside(world, request.destination, [&](const Path& aside) -> Result<void> {
    TORC_ASSIGN(made, build(world, source, aside, request));
    return {};
  }));
  return made;
}

}  // namespace torc::store
