#include "lib/store/maintenance/compact.h"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>

#include "lib/base/file/beneath.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/open_lock.h"
#include "lib/store/disk/owner.h"
#include "lib/store/disk/publisher.h"
#include "lib/store/engine/engines.h"
#include "lib/store/lmdb/environment.h"
#include "lib/store/lmdb/lmdb_file.h"

namespace torc::store {
namespace {

constexpr std::uint64_t kBlock = 512;  // of st_blocks
constexpr std::size_t kLeastCompactMap = 1U << 20U;

void add(const Path& file, StoreSize& size) {
  struct stat st {};
  if (::lstat(file.c_str(), &st) < 0 || !S_ISREG(st.st_mode)) return;
  ++size.files;
  size.bytes = size.bytes + ByteCount{static_cast<std::uint64_t>(st.st_blocks) * kBlock};
}

Result<void> compact_journal(const World& world, const Path& directory, const Meta& meta,
                             Workers workers) {
  Tuning tuning;
  tuning.checkpoint_commits = 1;  // due as soon as a commit is not covered
  // At once, unless some host lists what is old: a command there may be in the middle of a commit.
  // What it asked for must not be hidden by an old listing here.
  const Path state = meta.identity.state_directory(directory);
  const bool fresh =
      Publisher(world.disk, world.entropy, meta.publish, Durable::no).touch(state).ok();
  TORC_ASSIGN(const std::chrono::seconds agreed,
              agreed_retention(world.disk, state, meta.retention));
  if (workers == Workers::none && fresh && agreed <= kRetention)
    tuning.retention = std::chrono::nanoseconds(0);
  TORC_ASSIGN(const auto store, open_journal_store(world, directory, meta, tuning));
  TORC_TRY(store->view(Freshness::latest, [](const Reader&) { return Result<void>(); }));
  return store->maintain();
}

// `to`: a new file, empty, which LMDB reaches by no name.
Result<void> copy_compacted(const Path& from, int to) {
  TORC_TRY(check_environment_files(from));
  TORC_ASSIGN(const LmdbFile file, LmdbFile::open(from));
  TORC_TRY(file.check(file.newest()));  // nobody else has it open, so it does not move on
  MDB_env* env = nullptr;
  int rc = mdb_env_create(&env);
  // Not the map that the file records: under a low RLIMIT_AS that does not fit. LMDB maps at least
  // what the file uses.
  if (rc == 0) rc = mdb_env_set_mapsize(env, kLeastCompactMap);
  // Nobody else has it open, so it is read without LMDB's lock file.
  if (rc == 0) rc = mdb_env_open(env, from.c_str(), MDB_RDONLY | MDB_NOLOCK, 0666);
  if (rc == 0) rc = mdb_env_copyfd2(env, to, MDB_CP_COMPACT);
  if (env != nullptr) mdb_env_close(env);
  if (rc != 0) return lmdb_error(rc, "cannot copy " + (from / "data.mdb").string());
  return {};
}

Result<void> compact_lmdb(const World& world, const Path& directory,
                          std::chrono::nanoseconds patience) {
  // Both are held from before the copy until the new file has its name: by the first nobody comes,
  // and nobody waits inside LMDB for the second; by the second nobody is there.
  TORC_ASSIGN(const OpenLock closed, OpenLock::take(directory, "compacting it", patience));
  if (Environment::is_open_here(directory)) {
    return Error{ErrorKind::busy, directory.string() + " is open in this process",
                 "close it first"};
  }
  TORC_ASSIGN(const ExclusiveEnvironment alone, ExclusiveEnvironment::take(directory));
  const Path bench = ".compact-" + std::to_string(world.entropy.next());
  TORC_TRY(world.disk.make_directory(directory / bench));
  const Path fresh = directory / bench / "data.mdb";
  const auto work = [&]() -> Result<void> {
    TORC_ASSIGN(const Descriptor file,
                beneath::open_fresh(directory, bench / "data.mdb", O_WRONLY));
    TORC_TRY(copy_compacted(directory, file.get()));
    TORC_TRY(take_over_owner(directory, directory / "data.mdb", fresh));
    if (Result<void> synced = world.disk.sync(FileHandle{file.get()}, Sync::all); !synced.ok()) {
      Error error = std::move(synced).error();
      error.what = fresh.string() + ": " + error.what;
      return error;
    }
    TORC_TRY(world.disk.rename(fresh, directory / "data.mdb", Replace::yes));
    return world.disk.sync_directory(directory);
  };
  Result<void> done = work();
  (void)remove_tree(world.disk, directory / bench);
  return done;
}

}  // namespace

Result<StoreSize> size_of_state(const World& world, const Path& directory) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  StoreSize out;
  for (const char* name : {"data.mdb", "lock.mdb"}) add(directory / name, out);
  std::error_code failed;
  const Path state = meta.identity.state_directory(directory);
  for (std::filesystem::recursive_directory_iterator it(state, failed), end; !failed && it != end;
       it.increment(failed))
    add(it->path(), out);
  return out;
}

Result<void> compact(const World& world, const Path& directory, Workers workers,
                     std::chrono::nanoseconds patience) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  if (meta.identity.engine == Engine::journal)
    return compact_journal(world, directory, meta, workers);
  return compact_lmdb(world, directory, patience);
}

}  // namespace torc::store
