#include "lib/store/compact.h"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "lib/store/disk.h"
#include "lib/store/engines.h"
#include "lib/store/environment.h"

namespace torc::store {
namespace {

constexpr std::uint64_t kBlock = 512;  // of st_blocks

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
  if (workers == Workers::none) tuning.retention = std::chrono::nanoseconds(0);
  TORC_ASSIGN(const auto store, open_journal_store(world, directory, meta, tuning));
  TORC_TRY(store->view(Freshness::latest, [](const Reader&) { return Result<void>(); }));
  return store->maintain();
}

// Held from before the copy until the new file has its name. LMDB takes a shared lock on this byte
// of its lock file before it opens the data file, and waits for it: so nobody has the old file open
// now, and whoever comes opens the new one.
class ExclusiveEnvironment {
 public:
  static Result<ExclusiveEnvironment> take(const Path& directory) {
    const Path file = directory / "lock.mdb";
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return os_error(errno, "cannot open " + file.string());
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_len = 1;
    if (::fcntl(fd, F_OFD_SETLK, &range) == 0) return ExclusiveEnvironment(fd);
    const int failed = errno;
    ::close(fd);
    if (failed != EAGAIN && failed != EACCES)
      return os_error(failed, "cannot lock " + file.string());
    return Error{ErrorKind::busy, directory.string() + " is open in another process",
                 "end its workers and other commands on it first"};
  }
  ExclusiveEnvironment(ExclusiveEnvironment&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ExclusiveEnvironment& operator=(ExclusiveEnvironment&&) = delete;
  ~ExclusiveEnvironment() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit ExclusiveEnvironment(int fd) : fd_(fd) {}
  int fd_;
};

Result<void> copy_compacted(const Path& from, const Path& to) {
  MDB_env* env = nullptr;
  int rc = mdb_env_create(&env);
  // Nobody else has it open, so it is read without LMDB's lock file.
  if (rc == 0) rc = mdb_env_open(env, from.c_str(), MDB_RDONLY | MDB_NOLOCK, 0666);
  if (rc == 0) rc = mdb_env_copy2(env, to.c_str(), MDB_CP_COMPACT);
  if (env != nullptr) mdb_env_close(env);
  if (rc != 0) return lmdb_error(rc, "cannot copy " + (from / "data.mdb").string());
  return {};
}

// As it was: a store of a group stays one.
Result<void> take_over_owner(const Path& from, const Path& to) {
  struct stat st {};
  if (::stat(from.c_str(), &st) < 0) return os_error(errno, "cannot look at " + from.string());
  if (::chown(to.c_str(), static_cast<uid_t>(-1), st.st_gid) < 0 ||
      ::chmod(to.c_str(), st.st_mode & 07777) < 0)
    return os_error(errno, "cannot give " + to.string() + " its owner and mode");
  return {};
}

Result<void> compact_lmdb(const World& world, const Path& directory) {
  TORC_ASSIGN(const ExclusiveEnvironment alone, ExclusiveEnvironment::take(directory));
  const Path bench = directory / (".compact-" + std::to_string(world.entropy.next()));
  TORC_TRY(world.disk.make_directory(bench));
  const Path fresh = bench / "data.mdb";
  const auto work = [&]() -> Result<void> {
    TORC_TRY(copy_compacted(directory, bench));
    TORC_TRY(take_over_owner(directory / "data.mdb", fresh));
    TORC_ASSIGN(const FileHandle handle, world.disk.open_update(fresh));
    OpenFile open(world.disk, handle);
    TORC_TRY(world.disk.sync(handle, Sync::all));
    TORC_TRY(open.close());
    TORC_TRY(world.disk.rename(fresh, directory / "data.mdb", Replace::yes));
    return world.disk.sync_directory(directory);
  };
  Result<void> done = work();
  (void)remove_tree(world.disk, bench);
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

Result<void> compact(const World& world, const Path& directory, Workers workers) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  if (meta.identity.engine == Engine::journal)
    return compact_journal(world, directory, meta, workers);
  return compact_lmdb(world, directory);
}

}  // namespace torc::store
