#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "lib/exec/process/host.h"

namespace torc::exec {
namespace {

// What slots of the lane have done is taken in so often, unless one of them waits for something.
constexpr std::chrono::nanoseconds kLaneLook = std::chrono::milliseconds(10);
// While commands run this process wakes so often at least: how long it stood still is known to
// that.
constexpr std::chrono::nanoseconds kTick = std::chrono::seconds(2);

std::optional<BootTime> earlier(std::optional<BootTime> a, std::optional<BootTime> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// What does not fit makes the descriptor readable again.
void empty(int fd) {
  std::array<char, 4 * sizeof(signalfd_siginfo)> buffer;
  [[maybe_unused]] const ssize_t n = read(fd, buffer.data(), buffer.size());
}

}  // namespace

// Sets the timer only when the next deadline is another one: in a busy worker most waits end long
// before.
Result<void> Host::arm(std::optional<BootTime> deadline) {
  if (deadline == armed_) return {};
  itimerspec when{};
  if (deadline) {
    const auto left = std::max(*deadline - clock_.boot_now(), BootTime(1));
    when.it_value.tv_sec = static_cast<time_t>(left / std::chrono::seconds(1));
    when.it_value.tv_nsec = static_cast<long>((left % std::chrono::seconds(1)).count());
  }
  if (timerfd_settime(timer_, 0, &when, nullptr) != 0) {
    return os_error(errno, "cannot set the timer of time limits");
  }
  armed_ = deadline;
  return {};
}

Result<void> Host::sleep_for_events(bool at_once, Wakeup& wakeup) {
  std::array<epoll_event, 64> events;
  const int n = epoll_wait(epoll_, events.data(), events.size(), at_once ? 0 : -1);
  if (n < 0 && errno != EINTR) return os_error(errno, "cannot wait for commands");
  for (int i = 0; i < n; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (lane_ != nullptr && fd == lane_->fd()) {
      lane_->clear_fd();
    } else if (fd == child_signals_) {
      empty(fd);
      look_after_children();
    } else if (fd == timer_) {
      empty(fd);
      armed_.reset();
    } else {
      wakeup.readable.push_back(fd);
    }
  }
  return {};
}

void Host::look_after_children() {
  const bool reaped = reap();
  if (leaderless_.empty() || !(reaped || unsettled_)) return;
  unsettled_ = false;
  adopt();
  settle();
}

void Host::expire_deadlines() {
  const BootTime now = clock_.boot_now();
  while (const auto key = runs_.due(now)) {
    Run& run = *runs_.find(*key);
    if (run.phase == Phase::running && has_ended(run)) {
      runs_.set_deadline(*key, std::nullopt);
    } else if (run.phase == Phase::running) {
      terminate(*key, Ending::timed_out, run.lead);
    } else {
      kill_run(*key);
    }
  }
}

// Of a busy worker one moment serves many waits.
std::optional<BootTime> Host::tick() {
  if (runs_.all().empty() || paused_) return std::nullopt;
  const BootTime now = clock_.boot_now();
  if (now >= next_tick_) next_tick_ = now + kTick;
  return next_tick_;
}

Result<ProcessHost::Wakeup> Host::wait(std::optional<BootTime> deadline) {
  Wakeup wakeup;
  adopted_ = false;
  for (;;) {
    if (unsettled_) look_after_children();
    const bool late = deadline && clock_.boot_now() >= *deadline;
    std::optional<BootTime> next = deadline;
    if (muted_) next = earlier(next, clock_.boot_now() + kLaneLook);
    next = earlier(next, tick());
    next = earlier(next, paused_ ? next_stop_ : earlier(runs_.next_deadline(), next_look_));
    const bool at_once = late || !ended_.empty() || (next && clock_.boot_now() >= *next);
    if (!at_once) TORC_TRY(arm(next));
    TORC_TRY(sleep_for_events(at_once, wakeup));
    look_at_lane();
    const bool lease_changed = follow_lease();
    if (!at_once) note_lost_time(next);
    // After the children: a command that ended just in time has not timed out.
    if (!paused_) {
      expire_deadlines();
      look_at_memory();
    }
    if (unsettled_) look_after_children();
    const bool news = !begun_.empty() || !declined_.empty() || !ended_.empty();
    if (late || lease_changed || news || stood_still_.count() > 0 || !samples_.empty() ||
        !wakeup.readable.empty()) {
      wakeup.begun = std::exchange(begun_, {});
      wakeup.declined = std::exchange(declined_, {});
      wakeup.ended = std::exchange(ended_, {});
      wakeup.samples = std::exchange(samples_, {});
      wakeup.stood_still = std::exchange(stood_still_, {});
      return wakeup;
    }
  }
}

}  // namespace torc::exec
