#include "lib/base/file/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>

namespace torc::beneath {
namespace {

constexpr int kAlways = O_CLOEXEC | O_NOFOLLOW;
constexpr int kLowest = 3;  // below are those that a program is given
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

namespace {

struct Which {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t mount = 0;  // 0: not known (before Linux 5.8, or where statx is forbidden)
};

// Without asking a server: of what is open the numbers are known.
std::optional<Which> which(int fd) {
  struct statx about {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &about) == 0) {
    const bool knows_mount = (about.stx_mask & STATX_MNT_ID) != 0;
    return Which{makedev(about.stx_dev_major, about.stx_dev_minor), about.stx_ino,
                 knows_mount ? about.stx_mnt_id : 0};
  }
  struct stat old {};
  if (::fstat(fd, &old) != 0) return std::nullopt;
  return Which{old.st_dev, old.st_ino, 0};
}

}  // namespace

bool is_exchanged(const Error& error) {
  return error.kind == ErrorKind::fenced && error.os_errno == EXDEV;
}

// Both are asked at the same time, and once more where they differ: the numbers of what is open may
// change in between.
Result<void> Root::check(const Descriptor& opened) const {
  constexpr int kLooks = 2;
  const std::lock_guard<std::mutex> guard(mutex_);
  bool remounted = !held_;
  for (int looks = 0; held_ && looks < kLooks; ++looks) {
    const auto now = which(opened.get());
    if (!now) return os_error(errno, "cannot look at " + path_.string());
    const auto before = which(held_.get());
    // Of a filesystem that has gone nothing can be told.
    remounted = !before || (now->mount != 0 && before->mount != 0 ? now->mount != before->mount
                                                                  : now->device != before->device);
    if (remounted) break;
    if (now->device == before->device && now->inode == before->inode) return {};
  }
  if (!remounted) {
    return Error{ErrorKind::fenced,
                 path_.string() + " was replaced by another directory; nothing is done there",
                 "somebody has put one in its place; who else may write in " +
                     path_.parent_path().string() + "?",
                 EXDEV};
  }
  // The first time, or mounted anew.
  held_ = Descriptor(::fcntl(opened.get(), F_DUPFD_CLOEXEC, kLowest));
  if (!held_) return os_error(errno, "cannot keep " + path_.string() + " open");
  return {};
}

Result<Descriptor> Root::open() const {
  Descriptor out(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | links_));
  if (!out) return os_error(errno, "cannot open " + path_.string());
  TORC_TRY(check(out));
  return out;
}

Descriptor Root::let_go() {
  const std::lock_guard<std::mutex> guard(mutex_);
  given_ = false;
  return std::exchange(held_, Descriptor());
}

Result<void> Root::hold(Descriptor fd, Until until) {
  (void)let_go();
  if (!fd) return {};
  given_ = until == Until::the_end;
  return check(fd);
}

Result<Entry> entry(const Root& root, const Path& name) {
  TORC_ASSIGN(Descriptor directory, root.open());
  const Path parent = name.parent_path();
  if (!parent.empty()) {
    Descriptor below(open_at(directory.get(), parent.c_str(), O_PATH | O_DIRECTORY));
    if (!below) return open_error(errno, "open", root.path() / parent);
    directory = std::move(below);
  }
  return Entry{std::move(directory), name.filename().string()};
}

Result<std::vector<std::string>> list(Descriptor directory, const Path& shown) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(directory.get()), ::closedir);
  if (!dir) return os_error(errno, "cannot list " + shown.string());
  (void)directory.release();  // closedir() closes it
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* found = ::readdir(dir.get());
    if (found == nullptr) break;
    const std::string_view name = found->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return os_error(errno, "cannot list " + shown.string());
  return names;
}

Result<std::vector<std::string>> list(const Root& root, const Path& name) {
  TORC_ASSIGN(const Descriptor at, root.open());
  Descriptor directory(open_at(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
  if (!directory) return open_error(errno, "list", root.path() / name);
  return list(std::move(directory), root.path() / name);
}

Result<void> check_regular(int fd, const Path& shown) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return os_error(errno, "cannot look at " + shown.string());
  if (S_ISREG(about.st_mode)) return {};
  const int why = S_ISFIFO(about.st_mode) ? ESPIPE : S_ISDIR(about.st_mode) ? EISDIR : 0;
  return not_regular(kind_of(about.st_mode), shown, why);
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

Result<Descriptor> open_file(const Root& root, const Path& name, int flags, mode_t mode) {
  constexpr int kLeaseTries = 500;
  TORC_ASSIGN(const Descriptor at, root.open());
  Descriptor out(open_at(at.get(), name.c_str(), flags | O_NONBLOCK, mode));
  for (int tries = 0; !out && errno == EAGAIN && tries < kLeaseTries; ++tries) {
    pause_for_lease();
    out = Descriptor(open_at(at.get(), name.c_str(), flags | O_NONBLOCK, mode));
  }
  const Path shown = root.path() / name;
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

Result<Descriptor> open_fresh(const Root& root, const Path& name, int flags, mode_t mode) {
  TORC_ASSIGN(const Descriptor at, root.open());
  Descriptor out(open_fresh_at(at.get(), name.c_str(), flags, mode));
  if (!out) return open_error(errno, "make", root.path() / name);
  return out;
}

namespace {

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool make_like(int fd, const struct stat& like) {
  constexpr mode_t kAll = 0777;
  struct stat now {};
  if (::fstat(fd, &now) != 0) return false;
  if (like.st_uid != now.st_uid) (void)::fchown(fd, like.st_uid, static_cast<gid_t>(-1));
  const bool has_group =
      like.st_gid == now.st_gid || ::fchown(fd, static_cast<uid_t>(-1), like.st_gid) == 0;
  return ::fchmod(fd, like.st_mode & (has_group ? kAll : kAll & ~static_cast<mode_t>(S_IRWXG))) ==
         0;
}

Result<void> replace(const Root& root, const Path& name, std::string_view bytes, mode_t mode,
                     const struct stat* like) {
  std::uint64_t dice = 0;
  if (::getrandom(&dice, sizeof dice, 0) != sizeof dice)
    return open_error(errno, "make", root.path() / name);
  TORC_ASSIGN(const Entry there, entry(root, name));
  const std::string aside = there.name + ".new-" + std::to_string(dice);
  const int at = there.directory.get();
  const Descriptor file(open_at(at, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL, mode));
  if (!file) return open_error(errno, "make", root.path() / name);
  if ((like == nullptr || make_like(file.get(), *like)) && write_all(file.get(), bytes) &&
      ::fsync(file.get()) == 0 && ::renameat(at, aside.c_str(), at, there.name.c_str()) == 0)
    return {};
  const int os_errno = errno;
  (void)::unlinkat(at, aside.c_str(), 0);
  return open_error(os_errno, "write", root.path() / name);
}

}  // namespace

Result<void> replace_file(const Root& root, const Path& name, std::string_view bytes, mode_t mode) {
  return replace(root, name, bytes, mode, nullptr);
}

Result<void> replace_file(const Root& root, const Path& name, std::string_view bytes,
                          const struct stat& like) {
  return replace(root, name, bytes, 0600, &like);
}

Result<void> make_directories(const Root& root, const Path& name, mode_t mode) {
  TORC_ASSIGN(Descriptor at, root.open());
  Path shown = root.path();
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

Result<Descriptor> open_to_append(const Root& root, const Path& name, mode_t mode) {
  TORC_ASSIGN(Descriptor out, open_file(root, name, O_WRONLY | O_CREAT | O_APPEND, mode));
  TORC_ASSIGN(const Entry at, entry(root, name));
  if (has_one_name(at, out.get())) return out;
  return Error{
      ErrorKind::corrupt,
      (root.path() / name).string() + " has a second name (a hard link): nothing is written there",
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
