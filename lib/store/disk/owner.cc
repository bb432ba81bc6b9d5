#include "lib/store/disk/owner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/file/beneath.h"

namespace torc::store {

Result<void> take_over_owner(const Path& root, const Path& from, const Path& to) {
  TORC_ASSIGN(const beneath::Entry source, beneath::entry(root, beneath::name_below(root, from)));
  TORC_ASSIGN(const Descriptor target,
              beneath::open_file(root, beneath::name_below(root, to), O_RDONLY));
  struct stat was {};
  struct stat now {};
  if (::fstatat(source.directory.get(), source.name.c_str(), &was, AT_SYMLINK_NOFOLLOW) < 0)
    return os_error(errno, "cannot look at " + from.string());
  if (::fstat(target.get(), &now) < 0) return os_error(errno, "cannot look at " + to.string());
  TORC_ASSIGN(const beneath::Entry named, beneath::entry(root, beneath::name_below(root, to)));
  if (!beneath::has_one_name(named, target.get())) {
    return Error{ErrorKind::corrupt,
                 to.string() + " is not the file that was made, or has a second name",
                 "somebody put it there; try again"};
  }
  constexpr mode_t kMode = 0666;  // of a file that somebody else may have made
  const uid_t owner = ::geteuid() == 0 ? was.st_uid : now.st_uid;
  // Some filesystems refuse even what changes nothing.
  const bool others = owner != now.st_uid || was.st_gid != now.st_gid;
  const bool failed = (others && ::fchown(target.get(), owner, was.st_gid) < 0) ||
                      ((was.st_mode & kMode) != (now.st_mode & 07777) &&
                       ::fchmod(target.get(), was.st_mode & kMode) < 0);
  if (failed) return os_error(errno, "cannot give " + to.string() + " its owner and mode");
  return {};
}

}  // namespace torc::store
