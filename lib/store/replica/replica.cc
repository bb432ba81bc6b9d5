#include "lib/store/replica/replica.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "lib/base/file/user_directory.h"
#include "lib/store/disk/filesystem.h"
#include "lib/store/disk/open_lock.h"
#include "lib/store/lmdb/lmdb_transaction.h"

namespace torc::store {
namespace {

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

// The directory of a copy, in one that is ours alone; made when absent.
Result<Descriptor> copy_directory(const Descriptor& parent, const std::string& name,
                                  std::uint32_t uid, const Path& mine) {
  if (::mkdirat(parent.get(), name.c_str(), 0700) < 0 && errno != EEXIST)
    return os_error(errno, "cannot make " + (mine / name).string());
  TORC_ASSIGN(user_directory::Found found,
              user_directory::open_named(parent.get(), mine, name, uid));
  return std::move(found.directory);
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
void remove_old_boots(const Descriptor& parent, const std::string& store, const std::string& boot) {
  const int fd = ::openat(parent.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (dir == nullptr) {
    if (fd >= 0) ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name.starts_with(store) && !name.starts_with(store + boot))
      remove_files_of(parent.get(), name);
  }
  ::closedir(dir);
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

// Where a directory of ours may be: on this node, and where nobody else can rename it.
Result<Descriptor> open_root(const World& world, const Path& root) {
  Descriptor top(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs fs {};
  if (!top || ::fstatfs(top.get(), &fs) < 0) return os_error(errno, "cannot open " + root.string());
  const FilesystemType type = filesystem_type(static_cast<std::uint32_t>(fs.f_type));
  if (type.sharing == Sharing::shared) {
    return Error{ErrorKind::unsupported,
                 root.string() + " is on " + std::string(type.name) + ", which other hosts may see",
                 "set TMPDIR to a directory on a local disk"};
  }
  // Where others may rename what is not theirs, a directory of ours could be exchanged for another
  // after we have looked at it. Its owner always may.
  struct stat st {};
  if (::fstat(top.get(), &st) < 0) return os_error(errno, "cannot look at " + root.string());
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
  return top;
}

// In `mine`, the user's directory at `at`.
Result<Replica> open_copy(const World& world, const Descriptor& mine, const Path& at,
                          const std::string& name, std::chrono::nanoseconds patience) {
  TORC_ASSIGN(const Descriptor directory, copy_directory(mine, name, world.uid, at));
  const Path path = at / name;
  Replica out;
  TORC_ASSIGN(out.gate, Gate::open(path / "gate"));
  TORC_ASSIGN(out.environment, Environment::open(path, Durable::no, patience));
  // Gate and environment are of one directory, unless it was taken away meanwhile and made anew.
  struct stat held {};
  struct stat named {};
  if (::fstat(directory.get(), &held) != 0 || ::lstat(path.c_str(), &named) != 0 ||
      held.st_ino != named.st_ino || held.st_dev != named.st_dev)
    return os_error(ENOENT, path.string() + " was removed while it was opened");
  return out;
}

// One of them, which is there; making it would hide what it lost.
Result<std::shared_ptr<Environment>> open_existing(const World& world, const Path& root,
                                                   const std::string& user,
                                                   const std::string& name) {
  TORC_ASSIGN(const Descriptor top, open_root(world, root));
  TORC_ASSIGN(const user_directory::Found mine,
              user_directory::open_named(top.get(), root, user, world.uid));
  TORC_ASSIGN(Replica copy, open_copy(world, mine.directory, root / user, name, kOpenPatience));
  return std::move(copy.environment);
}

// The user's directories in `root` in which there may be copies. Error: they cannot be told.
Result<std::vector<std::string>> user_directories(const World& world, const Path& root) {
  // A random one is made only where it can be found again: by listing.
  const auto has_none = [](int os_errno) {
    return os_errno == ENOENT || os_errno == ENOTDIR || os_errno == EACCES;
  };
  const Descriptor top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top && !has_none(errno)) return os_error(errno, "cannot open " + root.string());
  Result<std::vector<std::string>> all =
      top ? user_directory::random_names(top.get(), root, world.uid, user_directory::Modes::any)
          : std::vector<std::string>{};
  if (!all.ok()) {
    if (!has_none(all.error().os_errno)) return all;
    all = std::vector<std::string>{};
  }
  const std::string fixed = user_directory::fixed_name(world.uid);
  if (perhaps_ours(root / fixed, world.uid)) all->insert(all->begin(), fixed);
  return all;
}

}  // namespace

Result<Replica> open_replica(const World& world, const Path& root, const StoreId& store,
                             const std::string& place, unsigned generation,
                             std::chrono::nanoseconds patience) {
  TORC_ASSIGN(const Descriptor top, open_root(world, root));
  TORC_ASSIGN(const user_directory::Found mine,
              user_directory::open(top.get(), root, world.uid, user_directory::Missing::make));
  // Of an unknown boot all others look old.
  if (!world.boot_id.empty())
    remove_old_boots(mine.directory, to_hex(store) + "-", boot_name(world));
  return open_copy(world, mine.directory, root / mine.name,
                   replica_name(world, store, place, generation), patience);
}

void visit_replicas(
    const World& world, const StoreId& store, const std::string& place,
    const std::function<void(const Path&, const std::shared_ptr<Environment>&)>& visit,
    const std::function<void(const Path&, const Error&)>& unusable) {
  // Looked for first: opening would make it. A generation is also begun because the one before it
  // is of no use, so none says anything of the next.
  const auto look_at = [&](const Path& root, const std::string& user, unsigned generation) {
    const std::string name = replica_name(world, store, place, generation);
    const Path path = root / user / name;
    if (!perhaps_ours(path, world.uid)) return;
    const Result<std::shared_ptr<Environment>> copy = open_existing(world, root, user, name);
    if (!copy.ok()) return unusable(path, copy.error());
    Head head;
    {
      const Result<Txn> txn = Txn::begin(*copy, Access::read);
      const int rc = txn.ok() ? read_head(*txn, head) : 0;
      if (!txn.ok() || rc != 0)
        return unusable(path,
                        txn.ok() ? lmdb_error(rc, "cannot read " + path.string()) : txn.error());
    }
    if (head.sequence > 0) visit(path, *copy);
  };
  for (const Path& root : world.replica_roots) {
    const Result<std::vector<std::string>> users = user_directories(world, root);
    if (!users.ok()) {
      unusable(root, users.error());
      continue;
    }
    for (const std::string& user : *users) {
      for (unsigned generation = 0; generation < kGenerations; ++generation)
        look_at(root, user, generation);
    }
  }
}

Result<void> remove_replica(Entropy& entropy, const Path& copy, std::chrono::nanoseconds patience) {
  TORC_ASSIGN(const OpenLock lock, OpenLock::take(copy, "removing it", patience));
  Path aside = copy;
  aside += ".gone-" + to_hex(random_bytes(entropy));
  std::error_code failed;
  std::filesystem::rename(copy, aside, failed);
  if (failed) return os_error(failed.value(), "cannot remove " + copy.string());
  std::filesystem::remove_all(aside, failed);
  return {};
}

}  // namespace torc::store
