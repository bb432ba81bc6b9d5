// Tells that this process's mount table changed, without asking any filesystem: the kernel marks an
// open /proc/self/mountinfo (proc(5), poll).
#pragma once

#include <cstdint>
#include <mutex>

#include "lib/base/file/descriptor.h"

namespace torc::store {

class MountWatch {
 public:
  // A number that is another one after a change. Stays the same for ever where /proc cannot be
  // read. For any thread.
  std::uint64_t changes();

 private:
  std::mutex mutex_;
  Descriptor fd_;
  std::uint64_t changes_ = 0;
};

}  // namespace torc::store
