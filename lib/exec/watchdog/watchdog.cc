#include "lib/exec/watchdog/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/exec/end/kill_tree.h"
#include "lib/exec/watchdog/watch.h"

namespace torc::exec {
namespace {

constexpr const char* kRaise = "raise the limit of processes (ulimit -u)";

// In the worker: ends its jobs and itself when the watchdog dies first. SIGKILL as the death signal
// (PR_SET_PDEATHSIG) would end the worker alone, and what its jobs had started would go on. The
// lease is marked lost before: other threads see the ends of the jobs while this one goes on, and
// must not take them for the jobs' own.
void end_with(int watchdog, LeasePage& page, const std::function<void()>& between_kills) {
  pollfd gone{watchdog, POLLIN, 0};
  while (poll(&gone, 1, -1) < 0) {
  }
  page.lose();
  kill_below(getpid());
  if (between_kills) between_kills();
  kill(getpid(), SIGKILL);
}

// All signals stay blocked in the thread: they are for others.
Result<void> watch_the_watchdog(pid_t watchdog, LeasePage& page,
                                std::function<void()> between_kills) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, watchdog, 0U));
  if (fd < 0) {  // before Linux 5.3
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  } else {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
      std::thread(end_with, fd, std::ref(page), std::move(between_kills)).detach();
    } catch (const std::system_error& failure) {
      close(fd);
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      Error error = os_error(failure.code().value(), "cannot make a thread for the worker", kRaise);
      error.kind = ErrorKind::busy;
      return error;
    }
    prctl(PR_SET_PDEATHSIG, SIGCONT);  // a stopped process has no thread that could notice
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (getppid() != watchdog) kill(getpid(), SIGKILL);  // it died before the lines above
  return {};
}

}  // namespace

Result<Split> split_off_watchdog(Clock& clock, std::function<void()> between_kills) {
  void* memory =
      mmap(nullptr, sizeof(LeasePage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int ready[2] = {-1, -1};
  if (memory == MAP_FAILED || wake < 0 || news < 0 || pipe2(ready, O_CLOEXEC) != 0) {
    return Error{ErrorKind::busy, "no memory or descriptors for a watchdog",
                 "raise the limits of this shell (ulimit -n, ulimit -v)", errno};
  }
  auto* page = new (memory) LeasePage;
  signal(SIGCHLD, SIG_DFL);  // it may have been ignored: the worker's end would not be told
  // Before the fork: what arrives from now on waits for the watchdog, who passes it on.
  sigset_t before;
  const sigset_t watched = watched_signals();
  pthread_sigmask(SIG_BLOCK, &watched, &before);
  const ProcessIdentity watchdog = this_process();
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // before anything can be left behind
  const pid_t worker = fork();
  if (worker < 0) {
    const int fork_errno = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    munmap(memory, sizeof(LeasePage));
    for (const int fd : {wake, news, ready[0], ready[1]}) close(fd);
    Error error = os_error(fork_errno, "cannot make a process for the worker", kRaise);
    error.kind = ErrorKind::busy;
    return error;
  }
  if (worker == 0) {
    close(ready[0]);
    const Result<void> watches =
        watch_the_watchdog(static_cast<pid_t>(watchdog.pid), *page, std::move(between_kills));
    close(ready[1]);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!watches) return watches.error();
    return Split(std::make_unique<WatchedLease>(*page, wake, news, watchdog));
  }
  // Until it would end with this process, or has ended: were it stopped before, by this process or
  // by what is sent to both, and this one killed, it would be stopped for ever.
  close(ready[1]);
  char none = 0;
  while (read(ready[0], &none, 1) < 0 && errno == EINTR) {
  }
  close(ready[0]);
  Watch watch(clock, *page, worker, wake, news);
  return Split(watch.run());
}

void die_of(int number) {
  prctl(PR_SET_DUMPABLE, 0);
  signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(number);
  _exit(128 + number);  // a signal that ends nobody
}

}  // namespace torc::exec
