#include "lib/store/disk/gate.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include "lib/base/file/descriptor.h"

namespace torc::store {
namespace {

// Another C library could lay the mutex out differently; its size goes into the magic.
constexpr std::uint64_t kMagic = 0x746f726367617433ULL ^ (sizeof(pthread_mutex_t) << 8);
constexpr int kMostTries = 8;  // others make and remove it
constexpr int kMostLocks = 50;
constexpr std::chrono::nanoseconds kShortestWait = std::chrono::milliseconds(20);

// All of it is there, or nothing of it is.
static_assert(sizeof(Gate::Shared) <= 4096);

int init_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attr;
  int rc = pthread_mutexattr_init(&attr);
  if (rc != 0) return rc;
  pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  rc = pthread_mutex_init(&mutex, &attr);
  pthread_mutexattr_destroy(&attr);
  return rc;
}

int lock_within(pthread_mutex_t& mutex, std::chrono::nanoseconds wait) {
#if defined(__SANITIZE_THREAD__)
  // That of GCC 12 does not know pthread_mutex_clocklock(), and takes the end of the lock for
  // wrong.
  const auto until = std::chrono::steady_clock::now() + wait;
  for (;;) {
    const int rc = pthread_mutex_trylock(&mutex);
    if (rc != EBUSY) return rc;
    if (std::chrono::steady_clock::now() >= until) return ETIMEDOUT;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
#else
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  const std::int64_t ns = until.tv_nsec + wait.count() % 1'000'000'000;
  until.tv_sec += static_cast<time_t>(wait.count() / 1'000'000'000 + ns / 1'000'000'000);
  until.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
#endif
}

Result<void> fill(int fd, const Path& file) {
  // Written, not truncated to size: on a full disk a page without a block would be a SIGBUS later.
  const std::string zeros(sizeof(Gate::Shared), '\0');
  errno = ENOSPC;  // of a write that is short
  if (::write(fd, zeros.data(), zeros.size()) != static_cast<ssize_t>(zeros.size()))
    return os_error(errno, "cannot create " + file.string());
  TORC_ASSIGN(const SharedMapping mapping, SharedMapping::map(fd, sizeof(Gate::Shared), file));
  auto* shared = static_cast<Gate::Shared*>(mapping.at());
  shared->magic = kMagic;
  if (const int rc = init_mutex(shared->mutex); rc != 0)
    return os_error(rc, "cannot make a shared mutex in " + file.string());
  return {};
}

// Builds the file aside and links it, so that nobody ever maps a mutex that is not initialised.
Result<void> make_file(const Path& file) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string aside =
      file.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(now.tv_nsec);
  const Descriptor made(::open(aside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!made) return os_error(errno, "cannot create " + aside);
  Result<void> done = fill(made.get(), aside);
  if (done.ok() && ::link(aside.c_str(), file.c_str()) < 0 && errno != EEXIST)
    done = os_error(errno, "cannot make " + file.string());
  ::unlink(aside.c_str());
  return done;
}

// Times are reckoned with without another look.
bool has_possible_times(const Gate::Shared& shared) {
  const auto is_possible = [](std::int64_t time) { return time >= 0; };
  return is_possible(shared.held_since) && is_possible(shared.confirmed) &&
         is_possible(shared.snapshot_begun) && is_possible(shared.seen_at) &&
         std::all_of(shared.snapshot_notes.begin(), shared.snapshot_notes.end(),
                     [&](const Gate::SnapshotNote& note) { return is_possible(note.at); });
}

// `spoiled`: a gate that somebody cut short, emptied or filled with zeros.
enum class Kind : std::uint8_t { whole, spoiled, other };

Result<Kind> kind_of(int fd, const Path& file) {
  struct stat st {};
  if (::fstat(fd, &st) < 0) return os_error(errno, "cannot look at " + file.string());
  std::uint64_t magic = 0;
  const auto size = static_cast<std::size_t>(st.st_size);
  const ssize_t got = ::pread(fd, &magic, sizeof magic, 0);
  if (!S_ISREG(st.st_mode) || got < 0 || size > sizeof(Gate::Shared)) return Kind::other;
  if (got < static_cast<ssize_t>(sizeof magic)) return size == 0 ? Kind::spoiled : Kind::other;
  if (magic != kMagic && magic != 0) return Kind::other;
  return size == sizeof(Gate::Shared) && magic == kMagic ? Kind::whole : Kind::spoiled;
}

// Of several who find it so, one removes it; the lock is of the file that is removed, so none takes
// away the next one. Error busy: somebody keeps the lock.
Result<void> remove_spoiled(int fd, const Path& file) {
  for (int tries = 0; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries == kMostLocks)
      return Error{ErrorKind::busy, file.string() + " was cut short, and somebody has a lock on it",
                   "remove it"};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  struct stat held {};
  struct stat named {};
  TORC_ASSIGN(const Kind kind, kind_of(fd, file));
  if (kind == Kind::spoiled && ::fstat(fd, &held) == 0 && ::lstat(file.c_str(), &named) == 0 &&
      held.st_ino == named.st_ino && held.st_dev == named.st_dev)
    ::unlink(file.c_str());
  return {};
}

}  // namespace

std::string describe_process(std::uint32_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 2 >= line.size()) {
    return "process " + std::to_string(pid) + " (not visible from here)";
  }
  const char state = line[close + 2];
  const char* doing = state == 'T' || state == 't' ? "stopped"
                      : state == 'D'               ? "waiting for a disk"
                      : state == 'Z'               ? "dead, not yet reaped"
                                                   : "alive";
  return "process " + std::to_string(pid) + " (" + line.substr(open + 1, close - open - 1) + ", " +
         doing + ")";
}

Result<std::unique_ptr<Gate>> Gate::open(const Path& file) {
  const Error other{
      ErrorKind::corrupt, file.string() + " is not what this build keeps under that name", {}};
  for (int tries = 0; tries < kMostTries; ++tries) {
    Descriptor opened(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!opened) {
      if (errno != ENOENT) return os_error(errno, "cannot open " + file.string());
      TORC_TRY(make_file(file));
      continue;
    }
    TORC_ASSIGN(const Kind kind, kind_of(opened.get(), file));
    if (kind == Kind::other) return other;
    if (kind == Kind::spoiled) {
      TORC_TRY(remove_spoiled(opened.get(), file));
      continue;
    }
    TORC_ASSIGN(SharedMapping mapping, SharedMapping::map(opened.get(), sizeof(Shared), file));
    std::unique_ptr<Gate> gate(new Gate(std::move(opened), std::move(mapping), file));
    if (gate->spoiled()) continue;
    if (!has_possible_times(gate->shared())) return other;
    return gate;
  }
  return other;
}

Gate::~Gate() {
  if (stays_) mapping_.leave_mapped();
}

// Where the end alone was cut off, the mutex may be zeros, and nothing but the size tells.
bool Gate::spoiled() {
  struct stat st {};
  return std::atomic_ref(shared().magic).load() != kMagic || mapping_.lost() ||
         ::fstat(fd_.get(), &st) != 0 || static_cast<std::size_t>(st.st_size) < sizeof(Shared);
}

Result<void> Gate::enter(Clock& clock, std::chrono::nanoseconds patience) {
  const auto gone = [this] {
    return Error{ErrorKind::corrupt, file_.string() + " was cut short while it was in use", {}};
  };
  if (spoiled()) return gone();
  int rc = pthread_mutex_trylock(&shared().mutex);
  if (rc == EBUSY) {
    // Who comes late to a holder that has been stuck for long does not wait the whole time again.
    const std::chrono::nanoseconds held =
        clock.boot_now() - std::chrono::nanoseconds(shared().held_since.load());
    const std::chrono::nanoseconds wait =
        std::clamp(patience - held, std::min(kShortestWait, patience), patience);
    rc = lock_within(shared().mutex, wait);
  }
  if (spoiled()) {
    stays_ = true;
    return gone();
  }
  if (rc == ETIMEDOUT) return busy();
  // The holder died. What it guards, LMDB, is transactional by itself, so there is nothing to mend.
  if (rc == EOWNERDEAD) rc = pthread_mutex_consistent(&shared().mutex);
  if (rc != 0) return os_error(rc, "cannot lock " + file_.string());
  shared().holder = static_cast<std::uint32_t>(::getpid());
  shared().held_since = clock.boot_now().count();
  return {};
}

// The C library has a list of the mutexes that a thread holds, which leads through them, and it is
// lost where the file was cut short meanwhile: who unlocked would follow it to nowhere. So the
// mutex stays in the list, and its memory mapped; all who had the file make another one.
void Gate::leave() {
  if (spoiled() || shared().holder != static_cast<std::uint32_t>(::getpid())) {
    stays_ = true;
    return;
  }
  shared().holder = 0;
  pthread_mutex_unlock(&shared().mutex);
}

Error Gate::busy() {
  const std::uint32_t pid = shared().holder.load();
  return {ErrorKind::busy,
          file_.string() + " is held by " +
              (pid == 0 ? "a process that just entered" : describe_process(pid)),
          pid == 0 ? "try again"
                   : "let that process go on (kill -CONT " + std::to_string(pid) + ") or end it"};
}

}  // namespace torc::store
