#include "tests/torture/events.h"

#include <sys/inotify.h>
#include <unistd.h>

namespace torc::torture {

Events::Events(const Path& record) : fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  inotify_add_watch(fd_, record.c_str(), IN_MODIFY);
}

Events::~Events() {
  close(fd_);
}

void Events::pump() {
  alignas(inotify_event) char buffer[1 << 14];
  for (ssize_t n = 0; (n = read(fd_, buffer, sizeof buffer)) > 0;) {
    for (ssize_t at = 0; at < n; ++count_) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
}

}  // namespace torc::torture
