#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "lib/exec/machine/machine.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {

namespace {

std::string link_of(const std::string& path) {
  std::array<char, 64> name;
  const ssize_t n = readlink(path.c_str(), name.data(), name.size());
  return n > 0 ? std::string(name.data(), static_cast<std::size_t>(n)) : std::string();
}

// A process can have the /proc of another pid namespace before it: there its number is another.
bool shows_our_numbers(const std::string& proc) {
  return link_of(proc + "/self") == std::to_string(getpid());
}

}  // namespace

ProcessIdentity this_process() {
  const pid_t pid = getpid();
  const auto stat = shows_our_numbers("/proc") ? read_stat(pid) : std::nullopt;
  return {static_cast<std::uint64_t>(pid), stat ? stat->start : 0};
}

std::vector<std::uint64_t> ancestors_of(const ProcessIdentity& process) {
  constexpr std::size_t kLongestLine = 1000;
  if (presence_of(process) != Presence::here) return {};
  std::vector<std::uint64_t> above;
  auto stat = read_stat(static_cast<pid_t>(process.pid));
  while (stat && stat->parent > 0 && above.size() < kLongestLine) {
    above.push_back(static_cast<std::uint64_t>(stat->parent));
    stat = read_stat(stat->parent);
  }
  return stat && stat->parent == 0 ? above : std::vector<std::uint64_t>();
}

Presence presence_of(const ProcessIdentity& process, const std::string& proc) {
  if (process.pid == 0 || process.pid > std::numeric_limits<pid_t>::max()) return Presence::unknown;
  const auto pid = static_cast<pid_t>(process.pid);
  // Needs no descriptor, no /proc and no permission: EPERM is of a process that is there.
  if (::kill(pid, 0) != 0 && errno == ESRCH) return Presence::gone;
  if (process.start == 0 || !shows_our_numbers(proc)) return Presence::unknown;
  const auto stat = read_stat(pid, proc);
  if (!stat) return Presence::unknown;
  return stat->start != process.start || has_ended(*stat) ? Presence::gone : Presence::here;
}

bool is_same(const ProcessSpace& a, const ProcessSpace& b) {
  return !a.boot_id.empty() && !a.pid_namespace.empty() && a.boot_id == b.boot_id &&
         a.pid_namespace == b.pid_namespace;
}

std::string boot_id() {
  std::string id = read_small_file("/proc/sys/kernel/random/boot_id").value_or("");
  id.erase(std::remove(id.begin(), id.end(), '\n'), id.end());
  return id;
}

std::string pid_namespace() {
  return link_of("/proc/self/ns/pid");
}

std::string this_user() {
  const std::string space = link_of("/proc/self/ns/user");
  return space.empty() ? space : std::to_string(geteuid()) + " " + space;
}

}  // namespace torc::exec
