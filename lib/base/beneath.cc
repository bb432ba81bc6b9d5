#include "lib/base/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

namespace torc::beneath {
namespace {

constexpr int kAlways = O_CLOEXEC | O_NOFOLLOW;
constexpr int kTries = 16;  // beside somebody who renames, or puts things in the way

// What openat2(2) refuses beside O_PATH, open(2) passes over.
int with_always(int flags) {
  return flags | kAlways | ((flags & O_PATH) != 0 ? 0 : O_NOCTTY);
}

bool takes_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// Once the kernel has said that it has no such call. (Filters of system calls say EPERM, too; that
// may be the file's answer as well, so it is asked again each time.)
std::atomic<bool> no_openat2{false};

int by_openat2(int root, const char* name, int flags, mode_t mode) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(with_always(flags)));
  how.mode = takes_mode(flags) ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0;; ++tries) {
    const long fd = ::syscall(SYS_openat2, root, name, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    // EAGAIN: something was renamed meanwhile.
    if ((errno != EINTR && errno != EAGAIN) || tries >= kTries) return -1;
  }
}

// A symbolic link where a directory is wanted is told as such.
int not_a_directory(int at, const char* name) noexcept {
  const int before = errno;
  struct stat about {};
  const bool link = before == ENOTDIR && ::fstatat(at, name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISLNK(about.st_mode);
  errno = link ? ELOOP : before;
  return -1;
}

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a fifo";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return "something else";
  }
}

Error not_regular(const char* what, const Path& shown, int os_errno = 0) {
  return {ErrorKind::corrupt, shown.string() + " is " + what + ", not a regular file",
          "somebody put it there; look at it with `ls -l`, then remove it", os_errno};
}

}  // namespace

int walk_at(int root, const char* name, int flags, mode_t mode) noexcept {
  Descriptor at;
  int here = root;
  for (const char* rest = name;;) {
    const char* end = std::strchr(rest, '/');
    const std::size_t length =
        end != nullptr ? static_cast<std::size_t>(end - rest) : std::strlen(rest);
    if (length > NAME_MAX) return errno = ENAMETOOLONG, -1;
    char component[NAME_MAX + 1];
    std::memcpy(component, rest, length);
    component[length] = '\0';
    if (std::strcmp(component, "..") == 0) return errno = EXDEV, -1;
    if (end == nullptr) {
      for (int tries = 0;; ++tries) {
        const char* last = length == 0 ? "." : component;
        const int fd = ::openat(here, last, with_always(flags), mode);
        if (fd >= 0) return fd;
        if (errno != EINTR || tries >= kTries) return not_a_directory(here, last);
      }
    }
    rest = end + 1;
    if (length == 0 || std::strcmp(component, ".") == 0) continue;
    Descriptor next(::openat(here, component, O_PATH | O_DIRECTORY | kAlways));
    if (!next) return not_a_directory(here, component);
    at = std::move(next);
    here = at.get();
  }
}

int open_at(int root, const char* name, int flags, mode_t mode) noexcept {
  if (*name == '\0' || *name == '/') return errno = EXDEV, -1;
  if (!no_openat2) {
    const int fd = by_openat2(root, name, flags, mode);
    if (fd >= 0) return fd;
    if (errno != ENOSYS && errno != EPERM) return not_a_directory(root, name);
    if (errno == ENOSYS) no_openat2 = true;
  }
  return walk_at(root, name, flags, mode);
}

Error open_error(int os_errno, const char* verb, const Path& shown) {
  if (os_errno == ELOOP) {
    return {ErrorKind::corrupt,
            std::string("cannot ") + verb + " " + shown.string() +
                ": it is a symbolic link, or below one, and none is followed here",
            "somebody put it there; look at it with `ls -l`, then remove it", os_errno};
  }
  return os_error(os_errno, std::string("cannot ") + verb + " " + shown.string());
}

Result<Descriptor> open_root(const Path& root, int links) {
  Descriptor out(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | links));
  if (!out) return os_error(errno, "cannot open " + root.string());
  return out;
}

Result<Entry> entry(const Path& root, const Path& name, int links) {
  TORC_ASSIGN(Descriptor directory, open_root(root, links));
  const Path parent = name.parent_path();
  if (!parent.empty()) {
    Descriptor below(open_at(directory.get(), parent.c_str(), O_PATH | O_DIRECTORY));
    if (!below) return open_error(errno, "open", root / parent);
    directory = std::move(below);
  }
  return Entry{std::move(directory), name.filename().string()};
}

Result<void> check_regular(int fd, const Path& shown) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return os_error(errno, "cannot look at " + shown.string());
  if (S_ISREG(about.st_mode)) return {};
  return not_regular(kind_of(about.st_mode), shown, S_ISFIFO(about.st_mode) ? ESPIPE : 0);
}

bool has_one_name(const Entry& entry, int fd) noexcept {
  struct stat named {};
  struct stat open {};
  return ::fstatat(entry.directory ? entry.directory.get() : AT_FDCWD, entry.name.c_str(), &named,
                   AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(fd, &open) == 0 && named.st_ino == open.st_ino && named.st_dev == open.st_dev &&
         named.st_nlink <= 1;
}

void make_blocking(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) != 0) (void)::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

void pause_for_lease() noexcept {
  constexpr timespec kPause{0, 10'000'000};
  (void)::nanosleep(&kPause, nullptr);
}

Result<Descriptor> open_file(const Path& root, const Path& name, int flags, mode_t mode) {
  constexpr int kLeaseTries = 500;
  TORC_ASSIGN(const Descriptor at, open_root(root));
  Descriptor out(open_at(at.get(), name.c_str(), flags | O_NONBLOCK, mode));
  for (int tries = 0; !out && errno == EAGAIN && tries < kLeaseTries; ++tries) {
    pause_for_lease();
    out = Descriptor(open_at(at.get(), name.c_str(), flags | O_NONBLOCK, mode));
  }
  const Path shown = root / name;
  if (!out) {
    const int e = errno;
    // A fifo without a reader, a socket.
    if (e == ENXIO) return not_regular("a fifo, a socket or a device", shown);
    return open_error(e, (flags & O_CREAT) != 0 ? "make" : "open", shown);
  }
  TORC_TRY(check_regular(out.get(), shown));
  make_blocking(out.get());
  return out;
}

int open_fresh_at(int root, const char* name, int flags, mode_t mode) noexcept {
  for (int tries = 0;; ++tries) {
    const int fd = open_at(root, name, flags | O_CREAT | O_EXCL, mode);
    if (fd >= 0 || errno != EEXIST || tries >= kTries) return fd;
    const char* last = std::strrchr(name, '/');
    Descriptor parent;
    if (last != nullptr) {
      char above[PATH_MAX];
      const auto length = static_cast<std::size_t>(last - name);
      if (length >= sizeof above) return errno = ENAMETOOLONG, -1;
      std::memcpy(above, name, length);
      above[length] = '\0';
      parent = Descriptor(open_at(root, above, O_PATH | O_DIRECTORY));
      if (!parent) return -1;
    }
    if (::unlinkat(parent ? parent.get() : root, last != nullptr ? last + 1 : name, 0) != 0 &&
        errno != ENOENT)
      return -1;
  }
}

Result<Descriptor> open_fresh(const Path& root, const Path& name, int flags, mode_t mode) {
  TORC_ASSIGN(const Descriptor at, open_root(root));
  Descriptor out(open_fresh_at(at.get(), name.c_str(), flags, mode));
  if (!out) return open_error(errno, "make", root / name);
  return out;
}

Result<void> make_directories(const Path& root, const Path& name, mode_t mode) {
  TORC_ASSIGN(Descriptor at, open_root(root));
  Path shown = root;
  for (const Path& component : name) {
    if (component.empty() || component == ".") continue;
    shown /= component;
    if (::mkdirat(at.get(), component.c_str(), mode) != 0 && errno != EEXIST)
      return os_error(errno, "cannot make directory " + shown.string());
    Descriptor next(open_at(at.get(), component.c_str(), O_PATH | O_DIRECTORY));
    if (!next) return open_error(errno, "open", shown);
    at = std::move(next);
  }
  return {};
}

Result<Descriptor> open_to_append(const Path& root, const Path& name, mode_t mode) {
  TORC_ASSIGN(Descriptor out, open_file(root, name, O_WRONLY | O_CREAT | O_APPEND, mode));
  TORC_ASSIGN(const Entry at, entry(root, name));
  if (has_one_name(at, out.get())) return out;
  return Error{
      ErrorKind::corrupt,
      (root / name).string() + " has a second name (a hard link): nothing is written there",
      "somebody put it there; look at it with `ls -l`, then remove it"};
}

Result<Descriptor> open_named(const Path& file, int flags) {
  Descriptor out(::open(file.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
  if (!out) return os_error(errno, "cannot open " + file.string());
  TORC_TRY(check_regular(out.get(), file));
  make_blocking(out.get());
  return out;
}

Path name_below(const Path& root, const Path& path) {
  const Path name = path.lexically_normal().lexically_relative(root.lexically_normal());
  return name.empty() || name == "." || *name.begin() == ".." ? Path() : name;
}

}  // namespace torc::beneath
