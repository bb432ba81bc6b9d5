#include "lib/store/disk/mount_watch.h"

#include <fcntl.h>
#include <poll.h>

namespace torc::store {

std::uint64_t MountWatch::changes() {
  const std::lock_guard<std::mutex> hold(mutex_);
  if (!fd_) {
    fd_ = Descriptor(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    return changes_;
  }
  pollfd watched{fd_.get(), POLLPRI, 0};
  if (::poll(&watched, 1, 0) > 0 && (watched.revents & (POLLPRI | POLLERR)) != 0) ++changes_;
  return changes_;
}

}  // namespace torc::store
