// Wakes when a process of this node wrote to a file (inotify). Best effort: fd() is -1 where the
// user has no inotify instance left. The descriptor stays the same when another file is watched.
#pragma once

#include "lib/store/disk/disk.h"

namespace torc::store {

class FileWatch {
 public:
  explicit FileWatch(const Path& file);
  void add(const Path& file);
  [[nodiscard]] int fd() const { return fd_.get(); }
  void clear();

 private:
  Descriptor fd_;
};

}  // namespace torc::store
