// Who may open an LMDB environment now: one process at a time, and none while `torc compact` writes
// the data file anew.
//
// LMDB has a lock of its own for this, but waits for it without an end, and whoever waits there
// while the data file is replaced goes on with the lock table of the old one: by its transaction
// number it takes the empty first page of the new file for the state, and its next write makes that
// the truth. So whoever opens waits here instead, for a bounded time, and enters LMDB alone.
//
// A lock of the open file description (fcntl(2)): it ends with the process, whatever ends that. The
// wait is for real processes, so it goes by real time, as that for the gate does.
#pragma once

#include <chrono>
#include <string_view>

#include "lib/base/file/descriptor.h"
#include "lib/base/result.h"
#include "lib/store/disk/disk.h"

namespace torc::store {

inline constexpr const char* kOpenLock = "open.lock";  // in the environment's directory

class OpenLock {
 public:
  // Waits at most `patience`. `purpose` is what others are told meanwhile: "opening it". Kind busy:
  // it was not had; the text names the holder and what its process is doing.
  static Result<OpenLock> take(const Path& directory, std::string_view purpose,
                               std::chrono::nanoseconds patience);

 private:
  explicit OpenLock(int fd) : fd_(fd) {}
  Descriptor fd_;
};

// What LMDB itself locks: nobody has the environment open, and nobody can open it, as long as this
// lives. Does not wait. Kind busy: somebody has it open. `directory` must not be open in this
// process: to close the file would drop LMDB's own locks.
class ExclusiveEnvironment {
 public:
  static Result<ExclusiveEnvironment> take(const Path& directory);

 private:
  explicit ExclusiveEnvironment(int fd) : fd_(fd) {}
  Descriptor fd_;
};

}  // namespace torc::store
