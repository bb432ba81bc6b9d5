#include "lib/store/mount/lock_probe.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace torc::store {
namespace {

int set_lock(int fd, LockKind kind, short type) {
  if (kind == LockKind::flock) return ::flock(fd, type == F_UNLCK ? LOCK_UN : LOCK_EX | LOCK_NB);
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return ::fcntl(fd, kind == LockKind::ofd ? F_OFD_SETLK : F_SETLK, &range);
}

bool means_held(int os_errno) {
  return os_errno == EAGAIN || os_errno == EACCES || os_errno == EWOULDBLOCK;
}

constexpr int kRefused = 254;

// What another process of this node is told: 0 it gets the lock, kRefused, or an errno.
int ask_in_child(LockKind kind, int root, const char* file) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    const int fd = beneath::open_at(root, file, O_RDWR | O_NONBLOCK);
    int answer = fd < 0 ? errno : 0;
    if (fd >= 0 && set_lock(fd, kind, F_WRLCK) < 0) answer = means_held(errno) ? kRefused : errno;
    ::_exit(answer);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

}  // namespace

std::string_view to_string(LockKind kind) {
  return kind == LockKind::fcntl ? "fcntl" : kind == LockKind::ofd ? "ofd" : "flock";
}

std::string_view to_string(LockVerdict verdict) {
  static constexpr std::string_view kNames[] = {"exclusive", "given-to-all", "fails", "stuck"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Result<int> PosixLocks::descriptor(const Path& file) {
  if (const auto found = open_.find(file); found != open_.end()) return found->second.get();
  TORC_ASSIGN(Descriptor opened,
              beneath::open_file(root_, beneath::name_below(root_.path(), file), O_RDWR | O_CREAT));
  return open_.emplace(file, std::move(opened)).first->second.get();
}

Result<bool> PosixLocks::try_lock(LockKind kind, const Path& file) {
  TORC_ASSIGN(const int fd, descriptor(file));
  if (set_lock(fd, kind, F_WRLCK) == 0) return true;
  if (means_held(errno)) return false;
  return os_error(errno, "cannot lock " + file.string());
}

Result<void> PosixLocks::unlock(LockKind kind, const Path& file) {
  TORC_ASSIGN(const int fd, descriptor(file));
  if (set_lock(fd, kind, F_UNLCK) < 0) return os_error(errno, "cannot unlock " + file.string());
  return {};
}

Result<LockOutcome> probe_lock(LockKind kind, const Path& root, const Path& file) {
  PosixLocks locks(root);
  TORC_ASSIGN(const Descriptor at, beneath::Root(root).open());
  const std::string name = beneath::name_below(root, file).string();
  const Result<bool> got = locks.try_lock(kind, file);
  if (!got.ok() && got.error().os_errno == 0) return got.error();
  if (!got.ok()) return LockOutcome{kind, LockVerdict::fails, got.error().os_errno};
  if (!*got) return LockOutcome{kind, LockVerdict::stuck, 0};  // nobody else knows this file
  const int while_held = ask_in_child(kind, at.get(), name.c_str());
  if (while_held == 0) return LockOutcome{kind, LockVerdict::given_to_all, 0};
  if (while_held != kRefused) return LockOutcome{kind, LockVerdict::fails, while_held};
  if (const Result<void> released = locks.unlock(kind, file); !released.ok())
    return LockOutcome{kind, LockVerdict::fails, released.error().os_errno};
  const int afterwards = ask_in_child(kind, at.get(), name.c_str());
  if (afterwards == kRefused) return LockOutcome{kind, LockVerdict::stuck, 0};
  if (afterwards != 0) return LockOutcome{kind, LockVerdict::fails, afterwards};
  return LockOutcome{kind, LockVerdict::exclusive, 0};
}

}  // namespace torc::store
