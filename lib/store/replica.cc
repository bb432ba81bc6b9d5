#include "lib/store/replica.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "lib/store/filesystem.h"
#include "lib/store/lmdb_transaction.h"
#include "lib/store/open_lock.h"

namespace torc::store {
namespace {

struct Directory {
  int fd = -1;
  explicit Directory(int f) : fd(f) {}
  Directory(Directory&& other) noexcept : fd(other.fd) { other.fd = -1; }
  Directory& operator=(Directory&&) = delete;
  ~Directory() {
    if (fd >= 0) ::close(fd);
  }
};

std::string alphanumeric(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text) {
    if (out.size() < most && std::isalnum(static_cast<unsigned char>(c)) != 0) out.push_back(c);
  }
  return out.empty() ? "0" : out;
}

// "pid:[4026531836]" is named by its number.
std::string namespace_name(std::string_view pid_namespace) {
  const std::size_t open = pid_namespace.find('[');
  return alphanumeric(open == std::string_view::npos ? pid_namespace : pid_namespace.substr(open),
                      20);
}

// A directory in `parent` that is ours alone, made when absent. /tmp is everybody's: whatever has
// the name already must be a directory, no link, belong to this user and be closed to others.
Result<Directory> private_directory(const Directory& parent, const std::string& name,
                                    std::uint32_t uid, const Path& shown) {
  if (::mkdirat(parent.fd, name.c_str(), 0700) < 0 && errno != EEXIST) {
    return os_error(errno, "cannot make " + shown.string());
  }
  Directory out(::openat(parent.fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (out.fd < 0 || ::fstat(out.fd, &st) < 0) {
    if (errno == ENOTDIR || errno == ELOOP) {
      return Error{ErrorKind::permission, shown.string() + " is not a directory of ours",
                   "remove it, or set TMPDIR to a directory of your own", errno};
    }
    return os_error(errno, "cannot open " + shown.string());
  }
  if (st.st_uid != uid || (st.st_mode & 077) != 0) {
    return Error{ErrorKind::permission,
                 shown.string() + " belongs to user " + std::to_string(st.st_uid) +
                     " or is open to others; a replica must be private",
                 "remove it, or set TMPDIR to a directory of your own"};
  }
  return out;
}

void remove_files_of(int parent, const std::string& name) {
  const int fd = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  if (DIR* dir = ::fdopendir(fd); dir != nullptr) {
    while (const dirent* entry = ::readdir(dir)) {
      if (entry->d_name[0] != '.') ::unlinkat(fd, entry->d_name, 0);
    }
    ::closedir(dir);
  } else {
    ::close(fd);
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

// Replicas of this store from earlier boots of this node are of no use to anybody. The root is on a
// local filesystem, so no other machine can be using them.
void remove_old_boots(const Directory& parent, const std::string& store, const std::string& boot) {
  const int fd = ::openat(parent.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (dir == nullptr) {
    if (fd >= 0) ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name.starts_with(store) && !name.starts_with(store + boot))
      remove_files_of(parent.fd, name);
  }
  ::closedir(dir);
}

std::string user_name(const World& world) {
  return "torc-" + std::to_string(world.uid);
}

std::string boot_name(const World& world) {
  return alphanumeric(world.boot_id, 8) + "-";
}

std::string replica_name(const World& world, const StoreId& store, const std::string& place,
                         unsigned generation) {
  const std::string name =
      to_hex(store) + "-" + boot_name(world) + namespace_name(world.pid_namespace) + "-" + place;
  return generation > 0 ? name + "-g" + std::to_string(generation) : name;
}

// false: surely not. Nobody of ours ever used a directory that is somebody else's.
bool perhaps_ours(const Path& path, std::uint32_t uid) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) < 0) return errno != ENOENT && errno != ENOTDIR;
  return S_ISDIR(st.st_mode) && st.st_uid == uid;
}

}  // namespace

Result<Replica> open_replica(const World& world, const Path& root, const StoreId& store,
                             const std::string& place, unsigned generation,
                             std::chrono::nanoseconds patience) {
  const Directory top(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs fs {};
  if (top.fd < 0 || ::fstatfs(top.fd, &fs) < 0)
    return os_error(errno, "cannot open " + root.string());
  const FilesystemType type = filesystem_type(static_cast<std::uint32_t>(fs.f_type));
  if (type.sharing == Sharing::shared) {
    return Error{ErrorKind::unsupported,
                 root.string() + " is on " + std::string(type.name) + ", which other hosts may see",
                 "set TMPDIR to a directory on a local disk"};
  }
  // Where others may rename what is not theirs, a directory of ours could be exchanged for another
  // after we have looked at it. Its owner always may.
  struct stat st {};
  if (::fstat(top.fd, &st) < 0) return os_error(errno, "cannot look at " + root.string());
  if (st.st_uid != 0 && st.st_uid != world.uid) {
    return Error{ErrorKind::permission,
                 root.string() + " belongs to user " + std::to_string(st.st_uid),
                 "set TMPDIR to a directory of your own"};
  }
  if ((st.st_mode & (S_IWOTH | S_IWGRP)) != 0 && (st.st_mode & S_ISVTX) == 0) {
    return Error{ErrorKind::permission,
                 root.string() + " is writable for others and has no sticky bit",
                 "chmod +t it, or set TMPDIR to a directory of your own"};
  }
  const std::string user = user_name(world);
  TORC_ASSIGN(const Directory mine, private_directory(top, user, world.uid, root / user));
  // Of an unknown boot all others look old.
  if (!world.boot_id.empty()) remove_old_boots(mine, to_hex(store) + "-", boot_name(world));
  const std::string name = replica_name(world, store, place, generation);
  TORC_ASSIGN(const Directory directory,
              private_directory(mine, name, world.uid, root / user / name));
  const Path path = root / user / name;
  Replica out;
  TORC_ASSIGN(out.gate, Gate::open(path / "gate"));
  TORC_ASSIGN(out.environment, Environment::open(path, Durable::no, patience));
  // Gate and environment are of one directory, unless it was taken away meanwhile and made anew.
  struct stat held {};
  struct stat named {};
  if (::fstat(directory.fd, &held) != 0 || ::lstat(path.c_str(), &named) != 0 ||
      held.st_ino != named.st_ino || held.st_dev != named.st_dev)
    return os_error(ENOENT, path.string() + " was removed while it was opened");
  return out;
}

void visit_replicas(
    const World& world, const StoreId& store, const std::string& place,
    const std::function<void(const Path&, const std::shared_ptr<Environment>&)>& visit,
    const std::function<void(const Path&, const Error&)>& unusable) {
  for (const Path& root : world.replica_roots) {
    const Path mine = root / user_name(world);
    if (!perhaps_ours(mine, world.uid)) continue;
    for (unsigned generation = 0; generation < kGenerations; ++generation) {
      // Looked for first: opening would make it. A generation is also begun because the one before
      // it is of no use, so none says anything of the next.
      const Path path = mine / replica_name(world, store, place, generation);
      if (!perhaps_ours(path, world.uid)) continue;
      const Result<Replica> copy = open_replica(world, root, store, place, generation);
      if (!copy.ok()) {
        unusable(path, copy.error());
        continue;
      }
      Head head;
      {
        const Result<Txn> txn = Txn::begin(copy->environment, Access::read);
        const int rc = txn.ok() ? read_head(*txn, head) : 0;
        if (!txn.ok() || rc != 0) {
          unusable(path, txn.ok() ? lmdb_error(rc, "cannot read " + path.string()) : txn.error());
          continue;
        }
      }
      if (head.sequence > 0) visit(path, copy->environment);
    }
  }
}

Result<void> remove_replica(Entropy& entropy, const Path& copy, std::chrono::nanoseconds patience) {
  TORC_ASSIGN(const OpenLock lock, OpenLock::take(copy, "removing it", patience));
  Bytes16 words{};
  for (std::size_t i = 0; i < words.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = entropy.next();
    std::memcpy(words.data() + i, &word, sizeof word);
  }
  Path aside = copy;
  aside += ".gone-" + to_hex(words);
  std::error_code failed;
  std::filesystem::rename(copy, aside, failed);
  if (failed) return os_error(failed.value(), "cannot remove " + copy.string());
  std::filesystem::remove_all(aside, failed);
  return {};
}

}  // namespace torc::store
