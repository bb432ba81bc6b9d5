#include "lib/exec/watchdog.h"

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
#include <thread>

#include "lib/exec/kill_tree.h"
#include "lib/exec/watch.h"

namespace torc::exec {
namespace {

// In the worker: ends its jobs and itself when the watchdog dies first. SIGKILL as the death signal
// (PR_SET_PDEATHSIG) would end the worker alone, and what its jobs had started would go on.
void end_with(int watchdog) {
  pollfd gone{watchdog, POLLIN, 0};
  while (poll(&gone, 1, -1) < 0) {
  }
  kill_below(getpid());
  kill(getpid(), SIGKILL);
}

// All signals stay blocked in the thread: they are for others.
void watch_the_watchdog(pid_t watchdog) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, watchdog, 0U));
  if (fd < 0) {  // before Linux 5.3
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  } else {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    std::thread(end_with, fd).detach();
    prctl(PR_SET_PDEATHSIG, SIGCONT);  // a stopped process has no thread that could notice
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (getppid() != watchdog) kill(getpid(), SIGKILL);  // it died before the lines above
}

}  // namespace

Result<Split> split_off_watchdog(Clock& clock) {
  void* memory =
      mmap(nullptr, sizeof(LeasePage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (memory == MAP_FAILED || wake < 0) {
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
  const pid_t worker = fork();
  if (worker < 0) {
    const int fork_errno = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    munmap(memory, sizeof(LeasePage));
    close(wake);
    Error error = os_error(fork_errno, "cannot make a process for the worker",
                           "raise the limit of processes (ulimit -u)");
    error.kind = ErrorKind::busy;
    return error;
  }
  if (worker == 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    watch_the_watchdog(static_cast<pid_t>(watchdog.pid));
    return Split(std::make_unique<WatchedLease>(*page, wake, watchdog));
  }
  Watch watch(clock, *page, worker, wake);
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
