#include "lib/store/disk/open_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <thread>

#include "lib/store/disk/gate.h"

namespace torc::store {
namespace {

constexpr std::chrono::nanoseconds kFirstPause = std::chrono::microseconds(500);
constexpr std::chrono::nanoseconds kLongestPause = std::chrono::milliseconds(50);

// LMDB's lock is the first byte of its lock file; open.lock is locked in the same way. false:
// somebody has it.
Result<bool> try_lock(int fd, const Path& file) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  if (::fcntl(fd, F_OFD_SETLK, &range) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return os_error(errno, "cannot lock " + file.string());
}

// The same name may be another file by now: somebody deleted it.
bool is_still_named(int fd, const Path& file) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::lstat(file.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

std::string pid_namespace() {
  std::array<char, 64> name{};
  const ssize_t n = ::readlink("/proc/self/ns/pid", name.data(), name.size());
  return n > 0 ? std::string(name.data(), static_cast<std::size_t>(n)) : std::string("unknown");
}

// "1234 pid:[4026531836] opening it": for whoever waits. The lock holds without it.
void tell_who_has_it(int fd, std::string_view purpose) {
  const std::string line =
      std::to_string(::getpid()) + " " + pid_namespace() + " " + std::string(purpose) + "\n";
  if (::pwrite(fd, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()))
    (void)!::ftruncate(fd, static_cast<off_t>(line.size()));
}

Error busy(int fd, const Path& file) {
  std::array<char, 256> buffer{};
  const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), 0);
  std::string_view line(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  line = line.substr(0, line.find('\n'));
  std::uint32_t pid = 0;
  const auto number = std::from_chars(line.data(), line.data() + line.size(), pid);
  const std::size_t second = line.find(' ', line.find(' ') + 1);
  if (number.ec != std::errc{} || second == std::string_view::npos)
    return {ErrorKind::busy, file.string() + " is held by another process", "try again"};
  const bool visible = line.substr(0, second).ends_with(" " + pid_namespace());
  const std::string who = visible ? describe_process(pid)
                                  : "process " + std::to_string(pid) + " of another PID namespace";
  return {
      ErrorKind::busy,
      file.string() + " is held by " + who + ", which is " + std::string(line.substr(second + 1)),
      "wait for that process, let it go on (kill -CONT " + std::to_string(pid) + ") or end it"};
}

}  // namespace

Result<OpenLock> OpenLock::take(const Path& directory, std::string_view purpose,
                                std::chrono::nanoseconds patience) {
  using std::chrono::steady_clock;
  const Path file = directory / kOpenLock;
  const steady_clock::time_point until = steady_clock::now() + patience;
  for (std::chrono::nanoseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const int fd =
        ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0) return os_error(errno, "cannot open " + file.string());
    OpenLock lock(fd);
    struct stat about {};
    if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink > 1) {
      return Error{
          ErrorKind::permission,
          file.string() + " is not a regular file with one name: nothing was written there",
          "somebody put it there; look at it with `ls -l`"};
    }
    TORC_ASSIGN(const bool got, try_lock(fd, file));
    if (got && is_still_named(fd, file)) {
      tell_who_has_it(fd, purpose);
      return lock;
    }
    if (!got && steady_clock::now() >= until) return busy(fd, file);
    std::this_thread::sleep_for(pause);
  }
}

Result<ExclusiveEnvironment> ExclusiveEnvironment::take(const Path& directory) {
  const Path file = directory / "lock.mdb";
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return os_error(errno, "cannot open " + file.string());
  ExclusiveEnvironment out(fd);
  TORC_ASSIGN(const bool got, try_lock(fd, file));
  if (got) return out;
  return Error{ErrorKind::busy, directory.string() + " is open in another process",
               "end its workers and other commands on it first"};
}

}  // namespace torc::store
