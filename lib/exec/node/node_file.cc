#include "lib/exec/node/node_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "lib/base/file/user_directory.h"
#include "lib/exec/machine/machine.h"

namespace torc::exec {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytes = NodeTable::kWords * 8;
constexpr int kSpins = 50;  // a lock is held for microseconds
constexpr int kNaps = 20;   // … unless its holder has lost its CPU
constexpr timespec kNap{0, 500'000};
constexpr int kMostTries = 8;  // a directory that others remove

// Filesystems of one node, on which mappings of all processes are the same memory and flock means
// something. Numbers of statfs(2).
bool is_of_this_node(int directory) {
  struct statfs about {};
  if (fstatfs(directory, &about) != 0) return false;
  switch (static_cast<std::uint64_t>(about.f_type)) {
    case 0x01021994:  // tmpfs
    case 0x858458f6:  // ramfs
    case 0xef53:      // ext2, ext3, ext4
    case 0x58465342:  // xfs
    case 0x9123683e:  // btrfs
    case 0x2fc12fc1:  // zfs
    case 0xf2f52010:  // f2fs
    case 0x794c7630:  // overlay
      return true;
    default:
      return false;
  }
}

// Empty: it is not known which processes would meet there.
std::string ledger_name(const std::string& node) {
  const ProcessSpace space{boot_id(), pid_namespace()};
  if (!is_same(space, space)) return {};
  std::string name = "node-" + space.boot_id + "-";
  for (const char c : space.pid_namespace) {
    if (c >= '0' && c <= '9') name += c;
  }
  return node.empty() ? name : name + "-" + node;
}

Error refused(const fs::path& path, const std::string& why) {
  return {ErrorKind::permission, fmt::format("{} {}", path.string(), why),
          "remove it, or set TORC_NODE_DIR to a directory of this node that is yours"};
}

// nullopt: one of them cannot be looked at.
std::optional<bool> are_same(const Descriptor& one, const Descriptor& other) {
  struct stat a {};
  struct stat b {};
  if (fstat(one.get(), &a) != 0 || fstat(other.get(), &b) != 0) return std::nullopt;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

NodeFile::NodeFile(fs::path path, Descriptor file, Descriptor directory, SharedMapping mapping)
    : path_(std::move(path)),
      file_(std::move(file)),
      directory_(std::move(directory)),
      mapping_(std::move(mapping)) {}

Result<std::unique_ptr<NodeFile>> NodeFile::open(const NodePlace& place, Missing missing) {
  const std::string name = ledger_name(place.node);
  if (name.empty()) {
    return Error{ErrorKind::unsupported, "this system tells neither boots nor namespaces apart",
                 "mount /proc"};
  }
  Error last{ErrorKind::unsupported, "there is no directory for the node ledger",
             "set TORC_NODE_DIR to a directory of this node"};
  for (const fs::path& root : place.roots) {
    auto file = open_in(root, name, missing);
    if (file) return file;
    last = std::move(file).error();
    if (last.kind == ErrorKind::permission) break;  // somebody's doing: not to be got round
  }
  return last;
}

Result<std::unique_ptr<NodeFile>> NodeFile::open_in(const fs::path& root, const std::string& name,
                                                    Missing missing) {
  const Descriptor top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return os_error(errno, "cannot open " + root.string());
  const bool make = missing == Missing::make;
  for (int tries = 0;; ++tries) {
    TORC_ASSIGN(
        user_directory::Found mine,
        user_directory::open(top.get(), root, geteuid(),
                             make ? user_directory::Missing::make : user_directory::Missing::fail));
    const fs::path path = root / mine.name / name;
    if (!is_of_this_node(mine.directory.get())) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} is on a filesystem that other nodes may share",
                               path.parent_path().string()),
                   "set TORC_NODE_DIR to a directory of this node"};
    }
    // Neither a link nor a pipe of the same name is waited for or followed.
    Descriptor file(openat(
        mine.directory.get(), name.c_str(),
        O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (make ? O_CREAT : 0), 0600));
    if (file) return map(path, std::move(file), std::move(mine.directory), missing);
    // Of two directories that were made at once, the one that is not taken is removed.
    if (errno == ENOENT && make && tries < kMostTries) continue;
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO) return refused(path, "is not a file");
    return os_error(errno, "cannot open " + path.string());
  }
}

Result<std::unique_ptr<NodeFile>> NodeFile::map(fs::path path, Descriptor file,
                                                Descriptor directory, Missing missing) {
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return os_error(errno, "cannot look at " + path.string());
  if (!S_ISREG(about.st_mode)) return refused(path, "is not a file");
  if (about.st_uid != geteuid() || (about.st_mode & 077) != 0 || about.st_nlink > 1)
    return refused(path, "is not private to this user");
  // Never smaller again: what a mapping has beyond the end of its file is lost.
  if (static_cast<std::size_t>(about.st_size) < kBytes) {
    if (missing == Missing::fail) return os_error(ENOENT, path.string() + " is not made yet");
    if (ftruncate(file.get(), kBytes) != 0) return os_error(errno, "cannot make " + path.string());
  }
  TORC_ASSIGN(SharedMapping mapping, SharedMapping::map(file.get(), kBytes, path));
  return std::unique_ptr<NodeFile>(
      new NodeFile(std::move(path), std::move(file), std::move(directory), std::move(mapping)));
}

std::uint64_t NodeFile::load(std::size_t word) const {
  auto* words = static_cast<std::uint64_t*>(mapping_.at());
  return std::atomic_ref<std::uint64_t>(words[word]).load(std::memory_order_acquire);
}

void NodeFile::store(std::size_t word, std::uint64_t value) {
  auto* words = static_cast<std::uint64_t*>(mapping_.at());
  std::atomic_ref<std::uint64_t>(words[word]).store(value, std::memory_order_release);
}

bool NodeFile::reserve(std::size_t first, std::size_t words) {
  return posix_fallocate(file_.get(), static_cast<off_t>(first * 8),
                         static_cast<off_t>(words * 8)) == 0;
}

bool NodeFile::lock() {
  for (int tries = 0; tries < kSpins + kNaps; ++tries) {
    if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    if (tries < kSpins) {
      sched_yield();
    } else {
      nanosleep(&kNap, nullptr);
    }
  }
  return false;
}

void NodeFile::unlock() {
  flock(file_.get(), LOCK_UN);
}

bool NodeFile::is_named() const {
  struct stat about {};
  return fstat(file_.get(), &about) == 0 && about.st_nlink > 0;
}

bool NodeFile::is_same(const NodeFile& other) const {
  return are_same(file_, other.file_) == true;
}

bool NodeFile::is_where_others_look() const {
  const fs::path root = path_.parent_path().parent_path();
  const Descriptor top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto found =
      user_directory::open(top.get(), root, geteuid(), user_directory::Missing::fail);
  return !found || are_same(found->directory, directory_).value_or(true);
}

void NodeFile::remove() {
  unlinkat(directory_.get(), path_.filename().c_str(), 0);
}

void NodeFile::ring() {
  const std::uint64_t bell = 1;
  // A store into the mapping is seen by nobody who watches the file; a write is.
  (void)!pwrite(file_.get(), &bell, sizeof bell, NodeTable::kBellWord * 8);
}

}  // namespace torc::exec
