#include "lib/store/owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace torc::store {

Result<void> take_over_owner(const Path& from, const Path& to) {
  struct stat was {};
  struct stat now {};
  if (::stat(from.c_str(), &was) < 0) return os_error(errno, "cannot look at " + from.string());
  if (::stat(to.c_str(), &now) < 0) return os_error(errno, "cannot look at " + to.string());
  constexpr mode_t kMode = 07777;
  const uid_t owner = ::geteuid() == 0 ? was.st_uid : now.st_uid;
  // Some filesystems refuse even what changes nothing.
  const bool others = owner != now.st_uid || was.st_gid != now.st_gid;
  const bool failed =
      (others && ::chown(to.c_str(), owner, was.st_gid) < 0) ||
      ((was.st_mode & kMode) != (now.st_mode & kMode) && ::chmod(to.c_str(), was.st_mode & kMode));
  if (failed) return os_error(errno, "cannot give " + to.string() + " its owner and mode");
  return {};
}

}  // namespace torc::store
