#include "lib/store/environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace torc::store {
namespace {

constexpr std::size_t kMap = std::size_t{64} << 30;  // address space, not memory and not disk
constexpr std::size_t kSmallestMap = std::size_t{16} << 20;
constexpr unsigned kReaders = 1024;
constexpr int kResizeTries = 8;
constexpr off_t kLockFile = (kReaders + 64) * 64;  // a cache line each, and LMDB's own head
constexpr blkcnt_t kBlock = 512;                   // of st_blocks

using FileKey = std::pair<std::uint64_t, std::uint64_t>;

// The one process-wide table of this library: LMDB's rule is about the process, so the table must
// be too. An entry stays until its environment is really closed, so that nobody opens it again a
// moment too early.
struct OpenEnvironments {
  std::mutex mutex;
  std::condition_variable closed;
  std::map<FileKey, std::weak_ptr<Environment>> by_file;
};
OpenEnvironments& open_environments() {
  static OpenEnvironments table;
  return table;
}

// LMDB writes to its lock file through a map. Where the disk is full, touching a page that the file
// has no block for yet ends the process by SIGBUS, so every block is allocated before; that fails
// with an error. What else is wrong with the file LMDB tells better. Closing the descriptor would
// drop LMDB's own locks on the file: not while the environment is open in this process.
Result<void> allocate_lock_file(const Path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return {};
  struct stat now {};
  Result<void> done = {};
  if (::fstat(fd, &now) == 0) {
    // A file that is in use keeps its size: LMDB derives from it how many readers there can be.
    const off_t size = now.st_size > 0 ? now.st_size : kLockFile;
    if (now.st_blocks * kBlock < size && ::fallocate(fd, 0, 0, size) != 0 &&
        (errno == ENOSPC || errno == EDQUOT)) {
      done = os_error(errno, "cannot make " + file.string());
    }
  }
  ::close(fd);
  return done;
}

std::size_t map_size(MDB_env* env) {
  MDB_envinfo info{};
  mdb_env_info(env, &info);
  return info.me_mapsize;
}

}  // namespace

Error lmdb_error(int rc, const std::string& what) {
  if (rc > 0) return os_error(rc, what);
  const ErrorKind kind =
      rc == MDB_CORRUPTED || rc == MDB_PAGE_NOTFOUND || rc == MDB_INVALID || rc == MDB_PANIC
          ? ErrorKind::corrupt
      : rc == MDB_VERSION_MISMATCH ? ErrorKind::unsupported
      : rc == MDB_READERS_FULL     ? ErrorKind::busy
                                   : ErrorKind::io;
  return {kind, what + ": " + mdb_strerror(rc), {}, rc};
}

Result<std::shared_ptr<Environment>> Environment::open(const Path& directory, Durable durable) {
  struct stat st {};
  if (::stat(directory.c_str(), &st) < 0)
    return os_error(errno, "cannot open " + directory.string());
  OpenEnvironments& table = open_environments();
  const FileKey key{st.st_dev, st.st_ino};
  std::unique_lock<std::mutex> guard(table.mutex);
  for (;;) {
    const auto found = table.by_file.find(key);
    if (found == table.by_file.end()) break;
    if (std::shared_ptr<Environment> open = found->second.lock()) return open;
    table.closed.wait(guard);
  }
  std::shared_ptr<Environment> made(new Environment);
  made->directory_ = directory;
  made->device_ = key.first;
  made->inode_ = key.second;
  TORC_TRY(made->start(durable));
  table.by_file[key] = made;
  return made;
}

Result<void> Environment::start(Durable durable) {
  TORC_TRY(allocate_lock_file(directory_ / "lock.mdb"));
  int rc = 0;
  // Under a low RLIMIT_AS (batch systems set it) the generous map does not fit; take what does.
  for (std::size_t size = kMap; size >= kSmallestMap; size /= 2) {
    TORC_TRY(start_with_map(size, durable, rc));
    if (rc == 0) return {};
  }
  return lmdb_error(rc, "cannot map " + (directory_ / "data.mdb").string());
}

Result<void> Environment::start_with_map(std::size_t size, Durable durable, int& rc) {
  const std::string what = "cannot open " + (directory_ / "data.mdb").string();
  rc = mdb_env_create(&env_);
  if (rc != 0) return lmdb_error(rc, what);
  mdb_env_set_mapsize(env_, size);
  mdb_env_set_maxreaders(env_, kReaders);
  const unsigned flags = MDB_NOTLS | (durable == Durable::no ? MDB_NOSYNC : 0U);
  rc = mdb_env_open(env_, directory_.c_str(), flags, 0666);
  if (rc == 0) {
    int dead = 0;
    mdb_reader_check(env_, &dead);  // readers that were killed pin pages until somebody looks
    MDB_txn* txn = nullptr;
    rc = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn);
    if (rc == 0) {
      rc = mdb_dbi_open(txn, nullptr, 0, &dbi_);
      mdb_txn_abort(txn);
    }
  }
  if (rc == 0) return {};
  mdb_env_close(env_);
  env_ = nullptr;
  if (rc == ENOMEM) return {};
  return lmdb_error(rc, what);
}

Environment::~Environment() {
  if (env_ == nullptr) return;
  OpenEnvironments& table = open_environments();
  const std::lock_guard<std::mutex> guard(table.mutex);
  mdb_env_close(env_);
  table.by_file.erase({device_, inode_});
  table.closed.notify_all();
}

bool Environment::deleted() const {
  mdb_filehandle_t fd = -1;
  struct stat st {};
  return mdb_env_get_fd(env_, &fd) == 0 && ::fstat(fd, &st) == 0 && st.st_nlink == 0;
}

Result<void> Environment::grow() {
  const std::unique_lock<std::shared_mutex> alone(resizing_);
  const int rc = mdb_env_set_mapsize(env_, 2 * map_size(env_));
  if (rc != 0) {
    return Error{
        ErrorKind::no_space,
        "cannot enlarge the map of " + (directory_ / "data.mdb").string() + ": " + mdb_strerror(rc),
        "raise the limit on address space (ulimit -v)", rc > 0 ? rc : 0};
  }
  return {};
}

Result<Txn> Txn::begin(std::shared_ptr<Environment> environment, Access access) {
  Txn out(std::move(environment));
  Environment& env = *out.environment_;
  const unsigned flags = access == Access::read ? MDB_RDONLY : 0;
  int rc = 0;
  for (int tries = 0; tries < kResizeTries; ++tries) {
    out.open_ = std::shared_lock<std::shared_mutex>(env.resizing_);
    rc = mdb_txn_begin(env.env_, nullptr, flags, &out.txn_);
    if (rc == 0) return out;
    out.open_.unlock();
    if (rc == MDB_MAP_RESIZED) {  // another process enlarged it: adopt its size
      const std::unique_lock<std::shared_mutex> alone(env.resizing_);
      rc = mdb_env_set_mapsize(env.env_, 0);
      if (rc != 0) break;
    } else if (rc == MDB_READERS_FULL) {
      int dead = 0;
      mdb_reader_check(env.env_, &dead);
      if (dead == 0) break;
    } else {
      break;
    }
  }
  return lmdb_error(rc, "cannot begin a transaction on " + (env.directory_ / "data.mdb").string());
}

Txn::Txn(Txn&& other) noexcept
    : environment_(std::move(other.environment_)),
      open_(std::move(other.open_)),
      txn_(std::exchange(other.txn_, nullptr)) {}

Txn::~Txn() {
  abort();
}

Result<void> Txn::commit() {
  const int rc = mdb_txn_commit(std::exchange(txn_, nullptr));
  release();
  if (rc != 0) return lmdb_error(rc, "cannot write " + (directory() / "data.mdb").string());
  return {};
}

void Txn::abort() {
  if (txn_ == nullptr) return;
  mdb_txn_abort(std::exchange(txn_, nullptr));
  release();
}

void Txn::release() {
  if (open_.owns_lock()) open_.unlock();
}

}  // namespace torc::store
