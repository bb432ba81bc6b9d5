#include "lib/store/gate.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace torc::store {
namespace {

// Another C library could lay the mutex out differently; its size goes into the magic.
constexpr std::uint64_t kMagic = 0x746f726367617433ULL ^ (sizeof(pthread_mutex_t) << 8);
constexpr std::chrono::nanoseconds kShortestWait = std::chrono::milliseconds(20);

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Result<Gate::Shared*> map_file(int fd, const Path& file) {
  void* at = ::mmap(nullptr, sizeof(Gate::Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return os_error(errno, "cannot map " + file.string());
  return static_cast<Gate::Shared*>(at);
}

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

// Builds the file aside and links it, so that nobody ever maps a mutex that is not initialised.
Result<void> make_file(const Path& file) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string aside =
      file.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(now.tv_nsec);
  const Descriptor made{::open(aside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
  if (made.fd < 0) return os_error(errno, "cannot create " + aside);
  Result<void> done = {};
  // Written, not truncated to size: on a full disk a page without a block would be a SIGBUS later.
  const std::string zeros(sizeof(Gate::Shared), '\0');
  errno = ENOSPC;  // of a write that is short
  if (::write(made.fd, zeros.data(), zeros.size()) != static_cast<ssize_t>(zeros.size())) {
    done = os_error(errno, "cannot create " + aside);
  } else if (Result<Gate::Shared*> shared = map_file(made.fd, aside); !shared.ok()) {
    done = std::move(shared).error();
  } else {
    (*shared)->magic = kMagic;
    const int rc = init_mutex((*shared)->mutex);
    ::munmap(*shared, sizeof(Gate::Shared));
    if (rc != 0) {
      done = os_error(rc, "cannot make a shared mutex in " + aside);
    } else if (::link(aside.c_str(), file.c_str()) < 0 && errno != EEXIST) {
      done = os_error(errno, "cannot make " + file.string());
    }
  }
  ::unlink(aside.c_str());
  return done;
}

// Times are reckoned with without another look.
bool has_possible_times(const Gate::Shared& shared) {
  const auto is_possible = [](std::int64_t time) { return time >= 0; };
  return is_possible(shared.held_since) && is_possible(shared.confirmed) &&
         is_possible(shared.snapshot_begun) && is_possible(shared.seen_at) &&
         std::all_of(shared.marks.begin(), shared.marks.end(),
                     [&](const Gate::Mark& mark) { return is_possible(mark.at); });
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
  for (int tries = 0;; ++tries) {
    const Descriptor opened{::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (opened.fd < 0) {
      if (errno != ENOENT || tries > 0) return os_error(errno, "cannot open " + file.string());
      TORC_TRY(make_file(file));
      continue;
    }
    struct stat st {};
    if (::fstat(opened.fd, &st) < 0) return os_error(errno, "cannot look at " + file.string());
    if (static_cast<std::size_t>(st.st_size) != sizeof(Shared)) {
      return Error{
          ErrorKind::corrupt, file.string() + " is not what this build keeps under that name", {}};
    }
    TORC_ASSIGN(Shared* const shared, map_file(opened.fd, file));
    std::unique_ptr<Gate> gate(new Gate(shared, file));
    if (shared->magic != kMagic || !has_possible_times(*shared)) {
      return Error{
          ErrorKind::corrupt, file.string() + " is not what this build keeps under that name", {}};
    }
    return gate;
  }
}

Gate::~Gate() {
  ::munmap(shared_, sizeof(Shared));
}

Result<void> Gate::enter(Clock& clock, std::chrono::nanoseconds patience) {
  int rc = pthread_mutex_trylock(&shared_->mutex);
  if (rc == EBUSY) {
    // Who comes late to a holder that has been stuck for long does not wait the whole time again.
    const std::chrono::nanoseconds held =
        clock.boot_now() - std::chrono::nanoseconds(shared_->held_since.load());
    const std::chrono::nanoseconds wait =
        std::clamp(patience - held, std::min(kShortestWait, patience), patience);
    rc = lock_within(shared_->mutex, wait);
  }
  if (rc == ETIMEDOUT) return busy();
  // The holder died. What it guards, LMDB, is transactional by itself, so there is nothing to mend.
  if (rc == EOWNERDEAD) rc = pthread_mutex_consistent(&shared_->mutex);
  if (rc != 0) return os_error(rc, "cannot lock " + file_.string());
  shared_->holder = static_cast<std::uint32_t>(::getpid());
  shared_->held_since = clock.boot_now().count();
  return {};
}

void Gate::leave() {
  shared_->holder = 0;
  pthread_mutex_unlock(&shared_->mutex);
}

Error Gate::busy() const {
  const std::uint32_t pid = shared_->holder.load();
  return {ErrorKind::busy,
          file_.string() + " is held by " +
              (pid == 0 ? "a process that just entered" : describe_process(pid)),
          pid == 0 ? "try again"
                   : "let that process go on (kill -CONT " + std::to_string(pid) + ") or end it"};
}

}  // namespace torc::store
