#include "lib/store/disk/watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>

namespace torc::store {

FileWatch::FileWatch(const Path& file) : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (fd_ && inotify_add_watch(fd(), file.c_str(), IN_MODIFY) < 0) fd_.reset();
}

void FileWatch::add(const Path& file) {
  if (fd_) (void)inotify_add_watch(fd(), file.c_str(), IN_MODIFY);
}

void FileWatch::clear() {
  alignas(inotify_event) std::array<char, 4096> events;
  while (fd_ && ::read(fd(), events.data(), events.size()) > 0) {
  }
}

}  // namespace torc::store
