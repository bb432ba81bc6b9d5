#include "lib/exec/step/step_keeper.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "lib/exec/end/watched_lease.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

constexpr auto kToBegin = 60s;        // for the worker to say what is to be run
constexpr auto kLook = 1s;            // at the srun, whether it is stopped
constexpr auto kToDie = 5s;           // for what was killed
constexpr auto kAnyTime = 24h * 365;  // the lease is paused by what is seen alone

// What Slurm sends to all processes of the step (scancel, its own time limit), and what a site's
// prologue may have set. SIGCHLD is the host's.
void mind_no_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  for (const int number :
       {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGXCPU, SIGXFSZ,
        SIGURG, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGVTALRM, SIGPROF, SIGIO, SIGPWR})
    signal(number, SIG_IGN);
}

Error not_wanted() {
  return {ErrorKind::unknown, "the worker that asked for this step does not want it", ""};
}

Result<StepBegin> hear_begin(int socket, std::vector<Descriptor>& files) {
  pollfd one{socket, POLLIN, 0};
  constexpr int kMilliseconds = std::chrono::milliseconds(kToBegin).count();
  if (poll(&one, 1, kMilliseconds) != 1) return not_wanted();
  Received first = receive_message(socket);
  auto begin = decode_begin(first.bytes);
  if (!begin) return not_wanted();
  files = std::move(first.files);
  std::size_t next = 0;
  for (int* fd : {&begin->command.stdout_fd, &begin->command.stderr_fd}) {
    if (*fd < 0) continue;
    if (next >= files.size()) return not_wanted();
    *fd = files[next++].get();
  }
  return *std::move(begin);
}

// nullopt: /proc does not tell.
std::optional<bool> is_stopped(pid_t pid) {
  const auto status = read_status(pid);
  if (!status) return std::nullopt;
  return status->state == 'T' || status->state == 't';
}

int exit_code_of(const Ended& ended) {
  constexpr int kSignals = 128;
  constexpr int kNotExecuted = 126;
  if (ended.how == Ending::not_started) return kNotExecuted;
  return ended.signal != 0 ? kSignals + ended.signal : std::max(ended.exit_code, 0);
}

class Keeper {
 public:
  Keeper(Clock& clock, Descriptor worker, pid_t launcher)
      : clock_(clock),
        worker_(std::move(worker)),
        launcher_(launcher),
        launcher_end_(launcher > 0 ? static_cast<int>(syscall(SYS_pidfd_open, launcher, 0)) : -1),
        unwanted_(launcher > 0 && !launcher_end_ && errno == ESRCH) {
    lease_.hold(clock.boot_now(), kAnyTime);
  }

  Result<int> run(const Command& command) {
    auto code = attend(command);
    if (code || !begun_) return code;
    // What this node cannot do now is told as such: the command has not begun, or is gone with the
    // host.
    Ended none;
    none.how = Ending::not_started;
    none.os_errno = EAGAIN;
    say_end(none);
    return code;
  }

 private:
  static constexpr int kKilled = 137;

  Result<int> attend(const Command& command) {
    TORC_ASSIGN(host_, ProcessHost::create(clock_, &lease_));
    TORC_TRY(host_->watch(worker_.get()));
    if (launcher_end_) TORC_TRY(host_->watch(launcher_end_.get()));
    begun_ = !unwanted_ && say(encode(StepBegun{}));
    if (!begun_) return not_wanted();
    const auto id = start(command);
    if (!id) return id.error();
    std::optional<BootTime> until;  // when what was killed does not die
    for (;;) {
      const BootTime now = clock_.boot_now();
      if (until && now >= *until) return kKilled;
      TORC_ASSIGN(const auto woken, host_->wait(until.value_or(now + kLook)));
      for (const Sample& sample : woken.samples) (void)say(encode(StepSample{sample}));
      for (const Ended& ended : woken.ended) {
        if (ended.id != *id) continue;
        say_end(ended);
        return exit_code_of(ended);
      }
      for (const int fd : woken.readable) hear(fd, *id);
      follow_launcher();
      if (alone_ && !until) {
        host_->kill_all();
        until = clock_.boot_now() + kToDie;
      }
    }
  }

  // What this host cannot do now, it can do soon, or its worker hears that it cannot.
  Result<RunId> start(const Command& command) {
    const BootTime until = clock_.boot_now() + kToDie;
    for (;;) {
      auto id = host_->start(command);
      if (id || clock_.boot_now() >= until) return id;
      clock_.sleep_for(100ms);
    }
  }

  // Figures that the worker has no room for are left out.
  bool say(const std::string& message) { return send_message(worker_.get(), message) == Sent::yes; }

  // The last word, for which a stopped worker may have no room. Nothing runs any more, so there is
  // time, as long as somebody may want to hear it.
  void say_end(const Ended& how) {
    const std::string message = encode(StepEnded{how});
    while (send_message(worker_.get(), message) == Sent::full && !alone_) {
      std::array<pollfd, 2> ends{{{worker_.get(), POLLOUT, 0}, {launcher_end_.get(), POLLIN, 0}}};
      if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) return;
      alone_ = ends[1].revents != 0;
    }
  }

  void hear(int fd, RunId id) {
    if (fd == launcher_end_.get()) return lose();
    if (fd != worker_.get()) return;
    for (;;) {
      const Received next = receive_message(fd);
      if (next.what == Received::What::nothing) return;
      if (next.what == Received::What::end) return lose();
      if (const auto stop = decode_stop(next.bytes)) host_->stop(id, stop->lead);
      if (is_kill(next.bytes)) host_->kill(id);
    }
  }

  void lose() {
    if (std::exchange(alone_, true)) return;
    host_->unwatch(worker_.get());
    if (launcher_end_) host_->unwatch(launcher_end_.get());
  }

  // Whoever stops the jobs of the worker (its watchdog, while its lease is in doubt) stops srun.
  void follow_launcher() {
    if (launcher_ <= 0) return;
    if (!launcher_end_ && is_free(launcher_)) lose();
    // One that could not be looked at is as it was.
    const bool stopped = !alone_ && is_stopped(launcher_).value_or(stopped_);
    if (stopped == std::exchange(stopped_, stopped)) return;
    if (stopped) {
      page_.begin_pause(clock_.boot_now());
    } else {
      page_.go_on(clock_.boot_now());
      if (const auto pause = page_.pause()) (void)lease_.confirm(*pause);
    }
  }

  Clock& clock_;
  Descriptor worker_;
  pid_t launcher_;
  Descriptor launcher_end_;
  bool unwanted_;       // its srun had gone before it was looked at
  bool begun_ = false;  // the worker was told that the command is to begin
  LeasePage page_;
  WatchedLease lease_{page_, -1, -1, this_process()};
  std::unique_ptr<ProcessHost> host_;
  bool stopped_ = false;
  bool alone_ = false;  // nobody waits for the end
};

}  // namespace

Result<int> keep_step(Clock& clock, const std::string& name, StepKey key, char** environment) {
  mind_no_signals();
  TORC_ASSIGN(Descriptor worker, connect_to_worker(name));
  if (send_message(worker.get(), encode(StepHello{key})) != Sent::yes)
    return Error{ErrorKind::unknown, "the worker that asked for this step has gone", ""};
  std::vector<Descriptor> files;
  TORC_ASSIGN(StepBegin begin, hear_begin(worker.get(), files));
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry)
    begin.command.env.emplace_back(*entry);
  Keeper keeper(clock, std::move(worker), begin.launcher);
  return keeper.run(begin.command);
}

}  // namespace torc::exec
