#include "lib/worker/lease/node_processes.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace torc::worker {
namespace {

// Descriptors that are left to everything else that a worker does.
constexpr rlim_t kSpareDescriptors = 64;

}  // namespace

int SystemProcesses::watch(std::uint64_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0U));
  rlimit most{};
  // The lowest free number is taken, so a high one means that there are few left.
  const bool scarce = fd >= 0 && getrlimit(RLIMIT_NOFILE, &most) == 0 &&
                      static_cast<rlim_t>(fd) + kSpareDescriptors >= most.rlim_cur;
  if (!scarce) return fd;
  close(fd);
  return -1;
}

void SystemProcesses::close(int fd) {
  ::close(fd);
}

exec::Presence SystemProcesses::presence_of(const exec::ProcessIdentity& process) {
  return exec::presence_of(process);
}

exec::Leftovers SystemProcesses::kill_tagged(const std::vector<std::string>& tags,
                                             const exec::Origin& origin) {
  return exec::kill_tagged(tags, origin);
}

}  // namespace torc::worker
