// The three ways in which programs lock files, and whether they exclude anybody. The store uses one
// of them as a hint and needs none; jobs and other programs may rely on them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include "lib/base/file/beneath.h"
#include "lib/store/disk/disk.h"

namespace torc::store {

enum class LockKind : std::uint8_t {
  fcntl,  // F_SETLK: belongs to a process
  ofd,    // F_OFD_SETLK: belongs to an open file description
  flock   // flock(2)
};
inline constexpr std::array kLockKinds = {LockKind::fcntl, LockKind::ofd, LockKind::flock};
[[nodiscard]] std::string_view to_string(LockKind kind);

enum class LockVerdict : std::uint8_t {
  exclusive,     // one holds it, the other is refused and gets it afterwards
  given_to_all,  // both hold it at once
  fails,         // the call answers an error
  stuck          // refused, and still refused after the holder let go
};
[[nodiscard]] std::string_view to_string(LockVerdict verdict);

struct LockOutcome {
  LockKind kind = LockKind::fcntl;
  LockVerdict verdict = LockVerdict::fails;
  int os_errno = 0;  // of `fails`
};

// What a participant of a lock test does. Replaced in tests by one that lies.
class Locks {
 public:
  virtual ~Locks() = default;
  // An exclusive lock on `file` (made when absent) without waiting; false: somebody has it.
  virtual Result<bool> try_lock(LockKind kind, const Path& file) = 0;
  virtual Result<void> unlock(LockKind kind, const Path& file) = 0;
};

// The real ones, of this process. Each file stays open until the end, since closing any descriptor
// of a file drops all fcntl locks that the process has on it.
class PosixLocks final : public Locks {
 public:
  // Of files below `root`, where no link is followed.
  explicit PosixLocks(const Path& root) : root_(root) {}
  Result<bool> try_lock(LockKind kind, const Path& file) override;
  Result<void> unlock(LockKind kind, const Path& file) override;

 private:
  Result<int> descriptor(const Path& file);
  beneath::Root root_;
  std::map<Path, Descriptor> open_;
};

// Two processes of this node: this one and a child (fork; the child makes system calls only). Says
// nothing of other nodes.
Result<LockOutcome> probe_lock(LockKind kind, const Path& root, const Path& file);

}  // namespace torc::store
