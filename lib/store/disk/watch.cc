#include "lib/store/disk/watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>

namespace torc::store {

FileWatch::FileWatch(const Path& file) : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (fd_ >= 0 && inotify_add_watch(fd_, file.c_str(), IN_MODIFY) < 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

void FileWatch::add(const Path& file) {
  if (fd_ >= 0) (void)inotify_add_watch(fd_, file.c_str(), IN_MODIFY);
}

FileWatch::~FileWatch() {
  if (fd_ >= 0) ::close(fd_);
}

void FileWatch::clear() {
  alignas(inotify_event) std::array<char, 4096> events;
  while (fd_ >= 0 && ::read(fd_, events.data(), events.size()) > 0) {
  }
}

}  // namespace torc::store
