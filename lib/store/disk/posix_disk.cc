#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "lib/base/file/beneath.h"
#include "lib/store/disk/disk.h"

namespace torc::store {
namespace {

// Runs a system call again as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  decltype(call()) r;
  do {
    r = call();
  } while (r < 0 && errno == EINTR);
  return r;
}

Error failed(const char* verb, const Path& path) {
  return os_error(errno, std::string("cannot ") + verb + " " + path.string());
}

Result<void> checked(int rc, const char* verb, const Path& path) {
  if (rc < 0) return failed(verb, path);
  return {};
}

Result<void> lock_as(FileHandle file, short type, bool& got) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  got = uninterrupted([&] { return ::fcntl(file.fd, F_OFD_SETLK, &range); }) == 0;
  if (!got && errno != EAGAIN && errno != EACCES) return os_error(errno, "cannot lock a file");
  return {};
}

// A regular file, and nothing that one waits for.
Result<FileHandle> open_regular(const ProtectedRoots& roots, const Path& path, int flags,
                                const char* verb) {
  TORC_ASSIGN(Descriptor out, roots.open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, verb));
  TORC_TRY(beneath::check_regular(out.get(), path));
  beneath::make_blocking(out.get());
  return FileHandle{out.release()};
}

// The mode after the owner, which takes the set-group-ID bit away; the kernel does so too, in
// silence, where the caller is no member.
Result<void> give_to_group(const ProtectedRoots& roots, const Path& directory,
                           std::uint32_t group) {
  constexpr mode_t kMode = 02770;
  TORC_ASSIGN(const Descriptor handle, roots.open_directory(directory, "open directory"));
  Result<void> given = {};
  struct stat now {};
  if (::fchown(handle.get(), static_cast<uid_t>(-1), group) < 0 ||
      ::fchmod(handle.get(), kMode) < 0 || ::fstat(handle.get(), &now) < 0) {
    given =
        os_error(errno, "cannot give " + directory.string() + " to group " + std::to_string(group),
                 errno == EPERM ? "be a member of that group (`id` lists yours)" : "");
  } else if (now.st_gid != group || (now.st_mode & 07777) != kMode) {
    given = Error{ErrorKind::unsupported,
                  directory.string() + " does not keep a group and its set-group-ID bit",
                  "make the store on a filesystem with the usual permissions"};
  }
  return given;
}

}  // namespace

void PosixDisk::protect(const Path& root, Root kind) {
  roots_.protect(root, kind == Root::made_here ? O_NOFOLLOW : 0);
}

void PosixDisk::keep(const Path& root) {
  roots_.keep(root);
}

Result<void> PosixDisk::protect_opened(const Path& root, Descriptor opened) {
  return roots_.protect_opened(root, std::move(opened));
}

Result<FileHandle> PosixDisk::open_read(const Path& file) {
  return open_regular(roots_, file, O_RDONLY, "open");
}

// Whoever can make a link here could have a file of somebody else written to: it must have this
// name and no other. That is asked of the name, so that nobody makes it true by removing the other
// one meanwhile; a file that was removed or replaced since it was opened is opened anew.
Result<FileHandle> PosixDisk::open_update(const Path& file) {
  constexpr int kTries = 8;
  for (int tries = 0;; ++tries) {
    TORC_ASSIGN(const FileHandle handle,
                open_regular(roots_, file, O_RDWR | O_CREAT, "open for writing"));
    Descriptor closes(handle.fd);
    TORC_ASSIGN(const ProtectedRoots::Spot at, roots_.spot(file, "look at"));
    struct stat named {};
    struct stat about {};
    const bool there = ::fstatat(at.at(), at.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && errno != ENOENT) return failed("look at", file);
    if (::fstat(handle.fd, &about) != 0) return failed("look at", file);
    if (there && named.st_ino == about.st_ino && named.st_dev == about.st_dev) {
      if (named.st_nlink <= 1) return FileHandle{closes.release()};
      return Error{ErrorKind::corrupt,
                   file.string() + " has a second name (a hard link): nothing was written there",
                   "somebody put it there; look at it with `ls -l`, then remove it"};
    }
    if (tries >= kTries) {
      return Error{ErrorKind::busy, file.string() + " is another file each time it is opened",
                   "who else works there?"};
    }
  }
}

Result<FileHandle> PosixDisk::create(const Path& file) {
  return open_regular(roots_, file, O_WRONLY | O_CREAT | O_EXCL, "create");
}

Result<FileHandle> PosixDisk::create_unnamed(const Path& directory) {
  return open_regular(roots_, directory, O_WRONLY | O_TMPFILE, "create a file in");
}

Result<std::string> PosixDisk::read(FileHandle file, std::uint64_t offset, std::size_t size) {
  std::string out;
  // Most files are small and `size` is a limit, so the buffer grows with what is there.
  for (std::size_t step = 1 << 16; out.size() < size; step *= 2) {
    const std::size_t have = out.size();
    const std::size_t want = std::min(step, size - have);
    out.resize(have + want);
    const ssize_t n = uninterrupted([&] {
      return ::pread(file.fd, out.data() + have, want, static_cast<off_t>(offset + have));
    });
    if (n < 0) return os_error(errno, "cannot read a file");
    out.resize(have + static_cast<std::size_t>(n));
    if (n == 0) break;
  }
  return out;
}

// Read in whole blocks into whole blocks, as O_DIRECT demands on many filesystems. Those that
// cannot do it say so in many ways; only that there is no such file is the same without it.
Result<std::string> PosixDisk::read_at(const Path& file, std::uint64_t offset, std::size_t size,
                                       Caches caches) {
  constexpr std::size_t kBlock = 4096;
  if (caches == Caches::trust || offset % kBlock != 0 || size > kBlock)
    return Disk::read_at(file, offset, size, Caches::trust);
  const Result<FileHandle> handle = open_regular(roots_, file, O_RDONLY | O_DIRECT, "open");
  if (!handle.ok()) {
    if (handle.error().os_errno == ENOENT) return handle.error();
    return Disk::read_at(file, offset, size, Caches::trust);
  }
  alignas(kBlock) char block[kBlock];
  const ssize_t n =
      uninterrupted([&] { return ::pread(handle->fd, block, kBlock, static_cast<off_t>(offset)); });
  ::close(handle->fd);
  if (n < 0) return Disk::read_at(file, offset, size, Caches::trust);
  return std::string(block, std::min(size, static_cast<std::size_t>(n)));
}

Result<void> PosixDisk::write(FileHandle file, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted(
        [&] { return ::pwrite(file.fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (n < 0) return os_error(errno, "cannot write to a file");
    if (n == 0) return os_error(EIO, "a write wrote nothing");
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<void> PosixDisk::sync(FileHandle file, Sync what) {
  // Not repeated after EINTR: after any failure the kernel may have dropped the pages and would
  // report success.
  const int rc = what == Sync::data ? ::fdatasync(file.fd) : ::fsync(file.fd);
  if (rc < 0) return os_error(errno, "cannot make a file durable");
  return {};
}

Result<void> PosixDisk::close(FileHandle file) {
  // On Linux the descriptor is free even when close fails; EINTR included.
  if (::close(file.fd) < 0 && errno != EINTR) return os_error(errno, "cannot close a file");
  return {};
}

Result<void> PosixDisk::link(const Path& from, const Path& to) {
  TORC_ASSIGN(const ProtectedRoots::Spot source, roots_.spot(from, "make"));
  TORC_ASSIGN(const ProtectedRoots::Spot target, roots_.spot(to, "make"));
  return checked(::linkat(source.at(), source.name.c_str(), target.at(), target.name.c_str(), 0),
                 "make", to);
}

Result<void> PosixDisk::link_unnamed(FileHandle file, const Path& to) {
  char from[40];
  std::snprintf(from, sizeof from, "/proc/self/fd/%d", file.fd);
  TORC_ASSIGN(const ProtectedRoots::Spot target, roots_.spot(to, "make"));
  return checked(::linkat(AT_FDCWD, from, target.at(), target.name.c_str(), AT_SYMLINK_FOLLOW),
                 "make", to);
}

Result<void> PosixDisk::unlink(const Path& file) {
  TORC_ASSIGN(const ProtectedRoots::Spot at, roots_.spot(file, "delete"));
  return checked(::unlinkat(at.at(), at.name.c_str(), 0), "delete", file);
}

Result<void> PosixDisk::make_directory(const Path& directory) {
  TORC_ASSIGN(const ProtectedRoots::Spot at, roots_.spot(directory, "make directory"));
  TORC_TRY(checked(::mkdirat(at.at(), at.name.c_str(), 0777), "make directory", directory));
  if (!group_) return {};
  Result<void> given = give_to_group(roots_, directory, *group_);
  if (!given.ok()) ::unlinkat(at.at(), at.name.c_str(), AT_REMOVEDIR);
  return given;
}

Result<void> PosixDisk::remove_directory(const Path& directory) {
  TORC_ASSIGN(const ProtectedRoots::Spot at, roots_.spot(directory, "remove directory"));
  TORC_TRY(
      checked(::unlinkat(at.at(), at.name.c_str(), AT_REMOVEDIR), "remove directory", directory));
  roots_.note_removed(directory);
  return {};
}

Result<void> PosixDisk::rename(const Path& from, const Path& to, Replace replace) {
  TORC_ASSIGN(const ProtectedRoots::Spot source, roots_.spot(from, "make"));
  TORC_ASSIGN(const ProtectedRoots::Spot target, roots_.spot(to, "make"));
  const char* old_name = source.name.c_str();
  const char* new_name = target.name.c_str();
  if (replace == Replace::no) {
    if (::renameat2(source.at(), old_name, target.at(), new_name, RENAME_NOREPLACE) == 0) {
      roots_.note_moved(from, to);
      return {};
    }
    if (errno != EINVAL && errno != ENOSYS) return failed("make", to);
  }
  TORC_TRY(checked(::renameat(source.at(), old_name, target.at(), new_name), "make", to));
  roots_.note_moved(from, to);
  return {};
}

Result<void> PosixDisk::sync_directory(const Path& directory) {
  TORC_ASSIGN(const Descriptor handle, roots_.open_directory(directory, "open directory"));
  // Some filesystems have nothing to sync for a directory and say so with EINVAL.
  if (::fsync(handle.get()) < 0 && errno != EINVAL && errno != EOPNOTSUPP)
    return failed("make durable", directory);
  return {};
}

Result<std::vector<std::string>> PosixDisk::list(const Path& directory) {
  // Opening by path makes NFS revalidate the directory, which a kept handle would not.
  TORC_ASSIGN(Descriptor handle, roots_.open_directory(directory, "list"));
  return beneath::list(std::move(handle), directory);
}

Result<FileStatus> PosixDisk::status(const Path& path) {
  struct stat st {};
  TORC_ASSIGN(const ProtectedRoots::Spot at, roots_.spot(path, "look at"));
  if (::fstatat(at.at(), at.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) < 0)
    return failed("look at", path);
  FileStatus out;
  out.kind = S_ISREG(st.st_mode)   ? FileKind::regular
             : S_ISDIR(st.st_mode) ? FileKind::directory
                                   : FileKind::other;
  out.size = {static_cast<std::uint64_t>(st.st_size)};
  out.device = st.st_dev;
  out.inode = st.st_ino;
  // After the attributes are there it asks no server again.
  struct statx more {};
  if (::statx(at.at(), at.name.c_str(), AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_BTIME,
              &more) == 0 &&
      (more.stx_mask & STATX_BTIME) != 0)
    out.born = more.stx_btime.tv_sec * 1'000'000'000 + more.stx_btime.tv_nsec;
  return out;
}

MountTables PosixDisk::mount_tables() {
  const auto text_of = [](const char* file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  return {text_of("/proc/self/mountinfo"), text_of("/etc/fstab")};
}

Path PosixDisk::resolved(const Path& path) {
  std::error_code failed;
  Path out = std::filesystem::weakly_canonical(path, failed);
  return failed ? path.lexically_normal() : out;
}

Result<std::uint64_t> PosixDisk::filesystem(const Path& path) {
  struct statfs fs {};
  if (uninterrupted([&] { return ::statfs(path.c_str(), &fs); }) < 0)
    return failed("look at", path);
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(fs.f_type));
}

std::uint64_t PosixDisk::filesystem_id(const Path& path) {
  struct statfs fs {};
  if (uninterrupted([&] { return ::statfs(path.c_str(), &fs); }) < 0) return 0;
  std::uint64_t id = 0;
  static_assert(sizeof fs.f_fsid == sizeof id);
  std::memcpy(&id, &fs.f_fsid, sizeof id);
  return id;
}

Result<bool> PosixDisk::try_lock(FileHandle file) {
  bool got = false;
  TORC_TRY(lock_as(file, F_WRLCK, got));
  return got;
}

Result<void> PosixDisk::unlock(FileHandle file) {
  bool got = false;
  return lock_as(file, F_UNLCK, got);
}

}  // namespace torc::store
