#include <unistd.h>

#include <algorithm>
#include <array>

#include "lib/exec/machine.h"
#include "lib/exec/procfs.h"

namespace torc::exec {

ProcessIdentity this_process() {
  const pid_t pid = getpid();
  const auto stat = read_stat(pid);
  return {static_cast<std::uint64_t>(pid), stat ? stat->start : 0};
}

bool exists(const ProcessIdentity& process) {
  const auto stat = read_stat(static_cast<pid_t>(process.pid));
  return stat && stat->start == process.start && stat->state != 'Z' && stat->state != 'X';
}

std::string boot_id() {
  std::string id = read_small_file("/proc/sys/kernel/random/boot_id").value_or("");
  id.erase(std::remove(id.begin(), id.end(), '\n'), id.end());
  return id;
}

std::string pid_namespace() {
  std::array<char, 64> name;
  const ssize_t n = readlink("/proc/self/ns/pid", name.data(), name.size());
  return n > 0 ? std::string(name.data(), static_cast<std::size_t>(n)) : std::string();
}

GpuPool::GpuPool(std::vector<std::string> ids) : free_(std::move(ids)) {}

std::optional<std::vector<std::string>> GpuPool::take(std::uint32_t count) {
  if (count > free_.size()) return std::nullopt;
  const auto end = free_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<std::string> taken(free_.begin(), end);
  free_.erase(free_.begin(), end);
  return taken;
}

void GpuPool::give_back(const std::vector<std::string>& ids) {
  free_.insert(free_.end(), ids.begin(), ids.end());
}

std::size_t GpuPool::free() const {
  return free_.size();
}

}  // namespace torc::exec
