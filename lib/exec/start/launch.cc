#include "lib/exec/start/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

// The child runs on a stack and in a state that sanitizers know nothing of.
#define TORC_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer takes every clone() for a fork() and then refuses further threads; it does not
// know this name.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);  // NOLINT: glibc's
#define TORC_CLONE __clone
#else
#define TORC_CLONE clone
#endif

namespace torc::exec {
namespace {

constexpr std::size_t kStackSize = 256 << 10;
constexpr unsigned kMarkCloseOnExec =
    4;  // CLOSE_RANGE_CLOEXEC, Linux 5.11; older kernels refuse, harmlessly

// Long enough to make a process and execute a program without a break, shorter than any usual turn.
constexpr std::uint64_t kShortTurn = 500'000;

// Of this thread, where turns can be chosen for it.
std::optional<SchedulingTerms> own_terms() {
  SchedulingTerms terms;
  if (syscall(SYS_sched_getattr, 0, &terms, sizeof terms, 0) != 0) return std::nullopt;
  if (terms.policy != SCHED_OTHER || terms.turn == 0) return std::nullopt;
  return terms;
}

bool set_terms(const SchedulingTerms& terms) {
  return syscall(SYS_sched_setattr, 0, &terms, 0) == 0;
}

struct Shared {
  const LaunchPlan* plan;
  int null_fd;
  pid_t parent;
  const int* signals;  // to be reset
  std::size_t signal_count;
  const SchedulingTerms* terms;  // null: none
  volatile int
      os_errno;  // written by the child, read by the parent, which the kernel holds meanwhile
  volatile StartStep failed_at;
};

// What the kernel takes for rt_sigaction, without the C library's refusal of signals 32 and 33.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

constexpr int kLastSignal = 64;
constexpr size_t kKernelMaskBytes = 8;

// Whoever started this process may have ignored real-time signals too.
std::vector<int> unusual_signals() {
  std::vector<int> found;
  for (int signal = 1; signal <= kLastSignal; ++signal) {
    KernelAction now{SIG_DFL, 0, nullptr, 0};
    const long rc = syscall(SYS_rt_sigaction, signal, nullptr, &now, kKernelMaskBytes);
    if (rc == 0 && now.handler != SIG_DFL) found.push_back(signal);
  }
  return found;
}

// Handlers must not run in the child, where they would act on the parent's memory, and ignored
// signals would stay ignored in the program.
TORC_IN_CHILD void reset_signals(const int* signals, std::size_t count) {
  KernelAction standard{SIG_DFL, 0, nullptr, 0};
  for (std::size_t i = 0; i < count; ++i) {
    syscall(SYS_rt_sigaction, signals[i], &standard, nullptr, kKernelMaskBytes);
  }
}

TORC_IN_CHILD bool fail(Shared& shared, StartStep step) {
  shared.failed_at = step;
  shared.os_errno = errno;
  return false;
}

// By the number of the call: the child has a descriptor table of its own, and ThreadSanitizer's
// open() and dup2() would take its descriptors for the parent's.
TORC_IN_CHILD bool put(int fd, int target) {
  return syscall(SYS_dup3, fd, target, 0) >= 0;
}

// As above: ThreadSanitizer's _exit() would look for the parent's threads, and find none.
[[noreturn]] TORC_IN_CHILD void leave() {
  for (;;) syscall(SYS_exit_group, 127);
}

TORC_IN_CHILD bool open_onto(const char* path, int target) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  const long fd = syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
  return fd >= 0 && put(static_cast<int>(fd), target);
}

TORC_IN_CHILD bool arrange_descriptors(Shared& shared) {
  const LaunchPlan& plan = *shared.plan;
  // First all three, so that no later open() returns one of them.
  put(plan.stdin_fd >= 0 ? plan.stdin_fd : shared.null_fd, 0);
  put(plan.stdout_fd >= 0 ? plan.stdout_fd : shared.null_fd, 1);
  put(plan.stderr_fd >= 0 ? plan.stderr_fd : shared.null_fd, 2);
  if (plan.stdout_errno != 0) {
    errno = plan.stdout_errno;
    return fail(shared, StartStep::stdout_file);
  }
  if (plan.stderr_errno != 0) {
    errno = plan.stderr_errno;
    return fail(shared, StartStep::stderr_file);
  }
  if (plan.stdout_path != nullptr && !open_onto(plan.stdout_path, 1)) {
    return fail(shared, StartStep::stdout_file);
  }
  if (plan.join_stderr) {
    put(1, 2);
  } else if (plan.stderr_path != nullptr && !open_onto(plan.stderr_path, 2)) {
    return fail(shared, StartStep::stderr_file);
  }
  syscall(SYS_close_range, 3U, ~0U, kMarkCloseOnExec);
  return true;
}

TORC_IN_CHILD bool permits(const LeasePage::Terms& lease) {
  constexpr std::int64_t kSecond = 1'000'000'000;  // nanoseconds
  timespec now{};
  if (syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now) != 0) return false;
  return LeasePage::permits(*lease.word, *lease.renewed, *lease.pause_after,
                            now.tv_sec * kSecond + now.tv_nsec);
}

// Async-signal-safe calls only: other threads of the parent may hold any lock.
TORC_IN_CHILD int child(void* argument) {
  Shared& shared = *static_cast<Shared*>(argument);
  const LaunchPlan& plan = *shared.plan;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != shared.parent) leave();  // it ended before the line above
  // After that: who leads its session may be stopped, see StoppedProcesses.
  setsid();
  // Where that fails it is looked at and killed as without a group.
  if (plan.group_fd >= 0) syscall(SYS_write, plan.group_fd, "0", 1);
  reset_signals(shared.signals, shared.signal_count);
  if (!arrange_descriptors(shared)) leave();
  if (plan.directory != nullptr && chdir(plan.directory) != 0) {
    fail(shared, StartStep::directory);
    leave();
  }
  if (plan.cpus != nullptr && syscall(SYS_sched_setaffinity, 0, plan.cpus_size, plan.cpus) != 0) {
    fail(shared, StartStep::cpus);
    leave();
  }
  if (plan.umask) umask(*plan.umask);
  if (shared.terms != nullptr) syscall(SYS_sched_setattr, 0, shared.terms, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.lease.word != nullptr) {
    if (!permits(plan.lease)) leave();
    shared.os_errno = 0;
  }
  execve(plan.program, plan.words + 1, plan.environment);
  if (errno == ENOEXEC) {
    plan.words[1] = const_cast<char*>(plan.program);
    execve(plan.words[0], plan.words, plan.environment);
  }
  fail(shared, StartStep::execute);
  leave();
}

}  // namespace

Result<std::unique_ptr<Launcher>> Launcher::create() {
  const int low_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (low_fd < 0) return os_error(errno, "cannot open /dev/null");
  const int null_fd = fcntl(low_fd, F_DUPFD_CLOEXEC, 3);
  const int dup_errno = errno;
  close(low_fd);
  if (null_fd < 0) return os_error(dup_errno, "cannot duplicate a descriptor");
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    const int map_errno = errno;
    close(null_fd);
    return os_error(map_errno, "cannot get memory to start processes with");
  }
  return std::unique_ptr<Launcher>(new Launcher(stack, null_fd));
}

Launcher::Launcher(void* stack, int null_fd)
    : stack_(stack), null_fd_(null_fd), unusual_signals_(unusual_signals()) {
  // It has them of the thread that made it.
  std::optional<SchedulingTerms> terms = own_terms();
  if (!terms || terms->turn != kShortTurn) return;
  terms->turn = 0;
  usual_turns_ = terms;
}

Launcher::~Launcher() {
  if (took_turns_) (void)set_terms(*usual_turns_);
  munmap(stack_, kStackSize);
  close(null_fd_);
}

void Launcher::take_short_turns() {
  if (usual_turns_) return;
  const std::optional<SchedulingTerms> found = own_terms();
  if (!found || found->turn <= kShortTurn) return;
  // What somebody has chosen is not what there is without a choice.
  SchedulingTerms usual = *found;
  usual.turn = 0;
  if (!set_terms(usual)) return;
  const std::optional<SchedulingTerms> now = own_terms();
  SchedulingTerms next = *found;
  if (now && now->turn == found->turn) next.turn = kShortTurn;
  took_turns_ = set_terms(next) && next.turn == kShortTurn;
  if (took_turns_) usual_turns_ = usual;
}

Launched Launcher::launch(const LaunchPlan& plan) {
  Shared shared{&plan, null_fd_, getpid(), unusual_signals_.data(), unusual_signals_.size(),
                usual_turns_ ? &*usual_turns_ : nullptr,
                // Until it has looked at the lease: what is killed before has not begun.
                plan.lease.word != nullptr ? kLeaseInDoubt : 0, StartStep::none};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  char* const stack_top = static_cast<char*>(stack_) + kStackSize;
  const pid_t pid = TORC_CLONE(child, stack_top, CLONE_VM | CLONE_VFORK | SIGCHLD, &shared);
  const int clone_errno = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return {0, clone_errno, StartStep::none};
  if (shared.os_errno == 0) return {pid, 0, StartStep::none};
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {0, shared.os_errno, shared.failed_at};
}

}  // namespace torc::exec
