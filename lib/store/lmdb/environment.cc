#include "lib/store/lmdb/environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/base/pages.h"
#include "lib/store/disk/gate.h"
#include "lib/store/lmdb/lmdb_file.h"

namespace torc::store {
namespace {

using FileKey = Environment::FileKey;
constexpr std::size_t kMap = std::size_t{64} << 30;  // address space, not memory and not disk
constexpr std::size_t kSmallestMap = std::size_t{16} << 20;
constexpr unsigned kReaders = 1024;
constexpr int kResizeTries = 8;
constexpr off_t kLockFile = (kReaders + 64L) * 64;  // a cache line each, and LMDB's own head
constexpr blkcnt_t kBlock = 512;                    // of st_blocks
constexpr std::chrono::nanoseconds kReaderCheck = std::chrono::seconds(1);
constexpr std::chrono::nanoseconds kFirstPause = std::chrono::microseconds(500);
constexpr std::chrono::nanoseconds kLongestPause = std::chrono::milliseconds(50);

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
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
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

MDB_envinfo info_of(MDB_env* env) {
  MDB_envinfo info{};
  mdb_env_info(env, &info);
  return info;
}

Result<FileKey> key_of(const Path& directory) {
  struct stat st {};
  if (::stat(directory.c_str(), &st) < 0)
    return os_error(errno, "cannot open " + directory.string());
  return FileKey{st.st_dev, st.st_ino};
}

// Whether LMDB would have to wait, and it would wait for ever: some other program has its lock.
// Closing the descriptor would drop LMDB's own locks, as above.
Result<void> lmdb_may_enter(const Path& directory) {
  const Path file = directory / "lock.mdb";
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return {};  // LMDB makes it, or tells what is wrong with it
  struct flock range {};
  range.l_type = F_RDLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  const int rc = ::fcntl(fd, F_OFD_GETLK, &range);
  ::close(fd);
  if (rc != 0 || range.l_type == F_UNLCK) return {};
  return Error{ErrorKind::busy,
               file.string() + " is locked by " +
                   (range.l_pid > 0 ? describe_process(static_cast<std::uint32_t>(range.l_pid))
                                    : std::string("another process")),
               "wait for that process, or end it"};
}

// Begins a transaction. LMDB takes the number of the newest state from its lock table and chooses
// by it between the two head pages of the file. With a table that is of another file the choice is
// wrong: an empty or an old state would be read and, when written, made the newest. Between commits
// the two are equal; while one is being made, or after its maker died, the file may be one ahead,
// but not for who may write.
int begin_on(MDB_env* env, unsigned flags, MDB_txn** txn, std::atomic<bool>& foreign) {
  const std::size_t before = info_of(env).me_last_txnid;
  const int rc = mdb_txn_begin(env, nullptr, flags, txn);
  if (rc != 0) return rc;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::size_t after = info_of(env).me_last_txnid;
  const std::size_t number = mdb_txn_id(*txn);
  const bool reads = (flags & MDB_RDONLY) != 0;
  if (reads ? number + 1 >= before && number <= after : number == after + 1) return 0;
  mdb_txn_abort(std::exchange(*txn, nullptr));
  foreign = true;
  return MDB_BAD_TXN;
}

// LMDB marks a process in its table of readers by a lock on the byte of the process's number.
bool is_taken_number(int rc) {
  return rc == EAGAIN || rc == EACCES;
}
Error number_taken(const Path& directory) {
  return {ErrorKind::busy,
          "a process with the same number as this one, " + std::to_string(::getpid()) + ", has " +
              directory.string() +
              " open in another PID namespace (a container); one number can read it but once",
          "run both in the same PID namespace (docker and podman: --pid=host), or start this one "
          "again: it will have another number"};
}

LastOpened newest;

// Whose files of an environment may be: the user's, root's, the owner's of the directory; in one
// that a group may write in, what belongs to that group (a member may have compacted it).
bool may_own(const struct stat& file, const struct stat& directory) {
  const bool shared = (directory.st_mode & S_IWGRP) != 0;
  return file.st_uid == ::geteuid() || file.st_uid == 0 || file.st_uid == directory.st_uid ||
         (shared && file.st_gid == directory.st_gid);
}

}  // namespace

const LastOpened& last_opened() {
  return newest;
}

Result<void> check_environment_files(const Path& directory) {
  TORC_ASSIGN(const Descriptor at, beneath::Root(directory).open());
  struct stat above {};
  if (::fstat(at.get(), &above) != 0)
    return os_error(errno, "cannot look at " + directory.string());
  for (const char* name : {"data.mdb", "lock.mdb"}) {
    const std::string file = (directory / name).string();
    struct stat about {};
    if (::fstatat(at.get(), name, &about, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return os_error(errno, "cannot look at " + file);
    }
    const char* wrong = !S_ISREG(about.st_mode)  ? " is not a regular file"
                        : about.st_nlink > 1     ? " has a second name (a hard link)"
                        : !may_own(about, above) ? " belongs to another user"
                                                 : nullptr;
    if (wrong != nullptr) {
      return Error{ErrorKind::permission, file + wrong + ": nothing was read or written there",
                   "somebody put it there; look at it with `ls -l`. Of a copy of your own, make it "
                   "yours: `cp` it to another name and rename that"};
    }
  }
  return {};
}

Error lmdb_error(int rc, const std::string& what) {
  if (rc > 0) return os_error(rc, what);
  const ErrorKind kind = rc == MDB_CORRUPTED || rc == MDB_PAGE_NOTFOUND || rc == MDB_INVALID ||
                                 rc == MDB_PANIC || rc == MDB_CURSOR_FULL || rc == MDB_PAGE_FULL
                             ? ErrorKind::corrupt
                         : rc == MDB_VERSION_MISMATCH ? ErrorKind::unsupported
                         : rc == MDB_READERS_FULL     ? ErrorKind::busy
                                                      : ErrorKind::io;
  const char* remedy =
      kind == ErrorKind::corrupt
          ? "its file is damaged: `torc verify` looks at every page; keep a copy of "
            "the store directory before anything else"
          : "";
  return {kind, what + ": " + mdb_strerror(rc), remedy, rc};
}

// nullptr: this process does not have it open, and until the guard is released nobody in it opens
// it.
Result<std::shared_ptr<Environment>> Environment::find(const FileKey& key,
                                                       std::unique_lock<std::mutex>& guard) {
  OpenEnvironments& table = open_environments();
  for (;;) {
    const auto found = table.by_file.find(key);
    if (found == table.by_file.end()) return std::shared_ptr<Environment>();
    if (std::shared_ptr<Environment> open = found->second.lock()) {
      if (!open->foreign() && !open->deleted()) return open;
      Error error{ErrorKind::busy,
                  "another part of this process still has the file open that " +
                      (open->directory_ / "data.mdb").string() + " was before",
                  "try again"};
      guard.unlock();  // this may be the last reference, whose end takes the mutex
      open.reset();
      guard.lock();
      return error;
    }
    table.closed.wait(guard);
  }
}

Result<std::shared_ptr<Environment>> Environment::open(const Path& directory, Durable durable,
                                                       std::chrono::nanoseconds patience) {
  TORC_ASSIGN(const FileKey key, key_of(directory));
  {
    std::unique_lock<std::mutex> guard(open_environments().mutex);
    if (auto open = find(key, guard); open.ok() && *open) return open;
  }
  TORC_ASSIGN(const OpenLock alone, OpenLock::take(directory, "opening it", patience));
  return open_alone(alone, directory, durable, patience);
}

Result<std::shared_ptr<Environment>> Environment::open_alone(const OpenLock&, const Path& directory,
                                                             Durable durable,
                                                             std::chrono::nanoseconds patience) {
  using std::chrono::steady_clock;
  TORC_ASSIGN(const FileKey key, key_of(directory));
  const steady_clock::time_point until = steady_clock::now() + patience;
  for (std::chrono::nanoseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    bool again = false;
    Result<std::shared_ptr<Environment>> opened = try_open(directory, key, durable, again);
    if (opened.ok() || !again || steady_clock::now() >= until) return opened;
    std::this_thread::sleep_for(pause);
  }
}

// `again`: it may go once another process has gone on.
Result<std::shared_ptr<Environment>> Environment::try_open(const Path& directory,
                                                           const FileKey& key, Durable durable,
                                                           bool& again) {
  OpenEnvironments& table = open_environments();
  std::unique_lock<std::mutex> guard(table.mutex);
  again = true;
  TORC_ASSIGN(std::shared_ptr<Environment> open, find(key, guard));
  if (open) return open;
  TORC_TRY(lmdb_may_enter(directory));
  std::shared_ptr<Environment> made(new Environment);
  made->directory_ = directory;
  made->device_ = key.first;
  made->inode_ = key.second;
  newest.is_copy = durable == Durable::no;
  directory.native().copy(newest.directory, sizeof newest.directory - 1);
  newest.directory[std::min(directory.native().size(), sizeof newest.directory - 1)] = '\0';
  Result<void> started = made->start(durable);
  again = made->foreign();
  TORC_TRY(std::move(started));
  table.by_file[key] = made;
  return made;
}

bool Environment::is_open_here(const Path& directory) {
  const Result<FileKey> key = key_of(directory);
  const std::lock_guard<std::mutex> guard(open_environments().mutex);
  return key.ok() && open_environments().by_file.contains(*key);
}

Result<void> Environment::start(Durable durable) {
  TORC_TRY(check_environment_files(directory_));
  TORC_TRY(check_lmdb_head(directory_));
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
  // Else it prints a line of its source first.
  mdb_env_set_assert(env_, [](MDB_env*, const char*) { std::abort(); });
  const unsigned flags = MDB_NOTLS | (durable == Durable::no ? MDB_NOSYNC : 0U);
  rc = mdb_env_open(env_, directory_.c_str(), flags, 0666);
  if (rc == 0) {
    int dead = 0;
    mdb_reader_check(env_, &dead);
    MDB_txn* txn = nullptr;
    rc = begin_on(env_, MDB_RDONLY, &txn, foreign_);
    if (rc == 0) {
      rc = mdb_dbi_open(txn, nullptr, 0, &dbi_);
      mdb_txn_abort(txn);
    }
  }
  if (rc == 0) return {};
  mdb_env_close(env_);
  env_ = nullptr;
  if (foreign_) return foreign_table();
  if (rc == ENOMEM) return {};
  if (is_taken_number(rc)) return number_taken(directory_);
  return lmdb_error(rc, what);
}

Error Environment::foreign_table() const {
  return {ErrorKind::busy,
          "another process still has the file open that " + (directory_ / "data.mdb").string() +
              " was before it was replaced; nothing was read or changed",
          "end the workers and other commands on it that were there before, then try again"};
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
  int dead = 0;
  if (mdb_reader_check(env_, &dead) == 0 && dead > 0) return {};
  const std::unique_lock<std::shared_mutex> alone(resizing_);
  const int rc = mdb_env_set_mapsize(env_, 2 * info_of(env_).me_mapsize);
  if (rc != 0) {
    return Error{
        ErrorKind::no_space,
        "cannot enlarge the map of " + (directory_ / "data.mdb").string() + ": " + mdb_strerror(rc),
        "raise the limit on address space (ulimit -v)", rc > 0 ? rc : 0};
  }
  return {};
}

void Environment::forget_dead_readers(BootTime now) {
  std::int64_t last = readers_checked_;
  if (last != 0 && now.count() - last < kReaderCheck.count()) return;
  if (!readers_checked_.compare_exchange_strong(last, now.count())) return;
  int dead = 0;
  mdb_reader_check(env_, &dead);
}

Result<Txn> Txn::begin(std::shared_ptr<Environment> environment, Access access) {
  Txn out(std::move(environment), access);
  Environment& env = *out.environment_;
  const unsigned flags = access == Access::read ? MDB_RDONLY : 0;
  int rc = 0;
  for (int tries = 0; tries < kResizeTries; ++tries) {
    out.open_ = std::shared_lock<std::shared_mutex>(env.resizing_);
    rc = begin_on(env.env_, flags, &out.txn_, env.foreign_);
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
  if (env.foreign()) return env.foreign_table();
  return lmdb_error(rc, "cannot begin a transaction on " + (env.directory_ / "data.mdb").string());
}

Txn::Txn(Txn&& other) noexcept
    : environment_(std::move(other.environment_)),
      access_(other.access_),
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

void Txn::have_read(std::string_view value) const {
  if (access_ == Access::read && value.size() >= kManyPages) give_back_pages(value);
}

void Txn::release() {
  if (open_.owns_lock()) open_.unlock();
}

}  // namespace torc::store
