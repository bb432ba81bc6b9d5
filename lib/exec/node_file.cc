#include "lib/exec/node_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <boost/interprocess/exceptions.hpp>
#include <cerrno>
#include <utility>

#include "lib/exec/machine.h"

namespace torc::exec {
namespace {

namespace fs = std::filesystem;
namespace ip = boost::interprocess;

constexpr std::size_t kBytes = NodeTable::kWords * 8;
constexpr int kSpins = 50;  // a lock is held for microseconds
constexpr int kNaps = 20;   // … unless its holder has lost its CPU
constexpr timespec kNap{0, 500'000};

// A descriptor that closes itself unless it is let go.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// What Boost maps: a file that was opened, and checked, by its directory. Its own file_mapping
// would follow whatever the name has become.
struct OpenedFile {
  int fd;
  [[nodiscard]] ip::mapping_handle_t get_mapping_handle() const {
    return ip::ipcdetail::mapping_handle_from_file_handle(fd);
  }
  [[nodiscard]] ip::mode_t get_mode() const { return ip::read_write; }
};

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

}  // namespace

NodeFile::NodeFile(fs::path path, int fd, int directory, ip::mapped_region region)
    : path_(std::move(path)), fd_(fd), directory_(directory), region_(std::move(region)) {}

NodeFile::~NodeFile() {
  close(fd_);
  close(directory_);
}

Result<std::unique_ptr<NodeFile>> NodeFile::open(const NodePlace& place, Missing missing) {
  Error last{ErrorKind::unsupported, "there is no directory for the node ledger",
             "set TORC_NODE_DIR to a directory of this node"};
  for (const fs::path& root : place.roots) {
    auto file = open_in(root, place.node, missing);
    if (file) return file;
    last = std::move(file).error();
    if (last.kind == ErrorKind::permission) break;  // somebody's doing: not to be got round
  }
  return last;
}

Result<std::unique_ptr<NodeFile>> NodeFile::open_in(const fs::path& root, const std::string& node,
                                                    Missing missing) {
  const Fd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (top.get() < 0) return os_error(errno, "cannot open " + root.string());
  const fs::path mine = root / fmt::format("torc-{}", geteuid());
  const std::string own = mine.filename().string();
  if (missing == Missing::make && mkdirat(top.get(), own.c_str(), 0700) != 0 && errno != EEXIST)
    return os_error(errno, "cannot make " + mine.string());
  Fd directory(openat(top.get(), own.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.get() < 0) {
    if (errno == ENOTDIR || errno == ELOOP) return refused(mine, "is no directory");
    return os_error(errno, "cannot open " + mine.string());
  }
  struct stat about {};
  if (fstat(directory.get(), &about) != 0)
    return os_error(errno, "cannot look at " + mine.string());
  if (about.st_uid != geteuid()) return refused(mine, "belongs to somebody else");
  if ((about.st_mode & 077) != 0) return refused(mine, "is open to others");
  if (!is_of_this_node(directory.get())) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} is on a filesystem that other nodes may share", mine.string()),
                 "set TORC_NODE_DIR to a directory of this node"};
  }

  const std::string name = ledger_name(node);
  if (name.empty()) {
    return Error{ErrorKind::unsupported, "this system tells neither boots nor namespaces apart",
                 "mount /proc"};
  }
  const fs::path path = mine / name;
  const int make = missing == Missing::make ? O_CREAT : 0;
  // Neither a link nor a pipe of the same name is waited for or followed.
  Fd file(openat(directory.get(), name.c_str(),
                 O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | make, 0600));
  if (file.get() < 0) {
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO) return refused(path, "is no file");
    return os_error(errno, "cannot open " + path.string());
  }
  if (fstat(file.get(), &about) != 0) return os_error(errno, "cannot look at " + path.string());
  if (!S_ISREG(about.st_mode)) return refused(path, "is no file");
  if (about.st_uid != geteuid() || (about.st_mode & 077) != 0 || about.st_nlink > 1)
    return refused(path, "is not private to this user");
  // Never smaller again: a mapping beyond the end of its file kills who touches it.
  if (static_cast<std::size_t>(about.st_size) < kBytes) {
    if (missing == Missing::fail) return os_error(ENOENT, path.string() + " is not made yet");
    if (ftruncate(file.get(), kBytes) != 0) return os_error(errno, "cannot make " + path.string());
  }
  try {
    ip::mapped_region region(OpenedFile{file.get()}, ip::read_write, 0, kBytes);
    return std::unique_ptr<NodeFile>(
        new NodeFile(path, file.release(), directory.release(), std::move(region)));
  } catch (const ip::interprocess_exception& failure) {
    return os_error(failure.get_native_error(), "cannot map " + path.string());
  }
}

std::uint64_t NodeFile::load(std::size_t word) const {
  auto* words = static_cast<std::uint64_t*>(region_.get_address());
  return std::atomic_ref<std::uint64_t>(words[word]).load(std::memory_order_acquire);
}

void NodeFile::store(std::size_t word, std::uint64_t value) {
  auto* words = static_cast<std::uint64_t*>(region_.get_address());
  std::atomic_ref<std::uint64_t>(words[word]).store(value, std::memory_order_release);
}

bool NodeFile::reserve(std::size_t first, std::size_t words) {
  return posix_fallocate(fd_, static_cast<off_t>(first * 8), static_cast<off_t>(words * 8)) == 0;
}

bool NodeFile::lock() {
  for (int tries = 0; tries < kSpins + kNaps; ++tries) {
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return true;
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
  flock(fd_, LOCK_UN);
}

bool NodeFile::is_named() const {
  struct stat about {};
  return fstat(fd_, &about) == 0 && about.st_nlink > 0;
}

void NodeFile::remove() {
  unlinkat(directory_, path_.filename().c_str(), 0);
}

void NodeFile::ring() {
  const std::uint64_t bell = 1;
  // A store into the mapping is seen by nobody who watches the file; a write is.
  (void)!pwrite(fd_, &bell, sizeof bell, NodeTable::kBellWord * 8);
}

}  // namespace torc::exec
