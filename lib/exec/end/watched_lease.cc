#include "lib/exec/end/watched_lease.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>

namespace torc::exec {

std::chrono::nanoseconds patience_in_time(std::chrono::nanoseconds limit) {
  return limit / 2;  // 0.3 of a whole lease, which is 0.9 of it since the renewal
}

std::chrono::nanoseconds patience_too_late(std::chrono::nanoseconds limit) {
  return limit / 3 * 5;
}

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

bool is_in_time(BootTime now, BootTime due, std::chrono::nanoseconds limit) {
  return now <= due + limit / 6;
}

}  // namespace

void LeasePage::raise(std::atomic<std::int64_t>& value, std::int64_t to) {
  std::int64_t before = value;
  while (before < to && !value.compare_exchange_weak(before, to)) {
  }
}

void LeasePage::hold(BootTime renewed, std::chrono::nanoseconds limit) {
  // First the old lease is put away: nobody may judge it by the numbers of the new one.
  let_go();
  renewed_ = renewed.count();
  limit_ = limit.count();
  pause_after_ = limit.count();
  paused_since_ = answer_by_ = 0;
  word_ = next(word_, Phase::held);
  // Either the watchdog sees the line above, or this sees that it has begun.
  while (sweeping_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool LeasePage::begin_sweep(Phase phase) {
  sweeping_ = true;
  if (phase_of(word_) == phase) return true;
  sweeping_ = false;
  return false;
}

void LeasePage::renew(BootTime at) {
  raise(renewed_, at.count());
}

void LeasePage::lose() {
  std::uint64_t word = word_;
  while (phase_of(word) == Phase::held || phase_of(word) == Phase::paused) {
    if (word_.compare_exchange_weak(word, same(word, Phase::fenced))) return;
  }
}

bool LeasePage::pause_early(std::chrono::nanoseconds by) {
  const std::int64_t after = std::max<std::int64_t>(limit_ - by.count(), 1);
  return pause_after_.exchange(after) != after;
}

void LeasePage::let_go() {
  word_ = same(word_, Phase::none);
}

std::optional<BootTime> LeasePage::due() const {
  switch (phase_of(word_)) {
    case Phase::held:
      return BootTime(renewed_) + std::chrono::nanoseconds(pause_after_);
    case Phase::paused:
      return BootTime(answer_by_);
    case Phase::none:
    case Phase::fenced:
      break;
  }
  return std::nullopt;
}

// What the new phase goes by is written before it: the numbers only grow, and count in that phase
// alone, so that it does no harm when somebody else was faster.
LeasePage::Phase LeasePage::look(BootTime now) {
  std::uint64_t word = word_;
  const std::chrono::nanoseconds limit(limit_);
  if (phase_of(word) == Phase::held) {
    if (now < BootTime(renewed_) + std::chrono::nanoseconds(pause_after_)) return Phase::held;
    const BootTime due = BootTime(renewed_) + limit;
    const bool in_time = is_in_time(now, due, limit);
    raise(paused_since_, now.count());
    raise(answer_by_,
          (in_time ? std::max(now, due) + patience_in_time(limit) : now + patience_too_late(limit))
              .count());
    word_.compare_exchange_strong(word, next(word, Phase::paused));
  } else if (phase_of(word) == Phase::paused && now >= BootTime(answer_by_)) {
    word_.compare_exchange_strong(word, same(word, Phase::fenced));
  }
  return phase_of(word_);
}

std::optional<Pause> LeasePage::pause() const {
  const std::uint64_t word = word_;
  if (phase_of(word) != Phase::paused) return std::nullopt;
  return Pause{word};
}

bool LeasePage::confirm(Pause asked) {
  auto word = static_cast<std::uint64_t>(asked);
  return word_.compare_exchange_strong(word, same(word, Phase::held));
}

bool LeasePage::begin_pause(BootTime now) {
  std::uint64_t word = word_;
  while (phase_of(word) == Phase::held || phase_of(word) == Phase::paused) {
    if (phase_of(word) == Phase::held) raise(paused_since_, now.count());
    answer_by_ = kNever;  // the worker may be continued first, and shall not judge by the old time
    if (word_.compare_exchange_weak(word, next(word, Phase::paused))) return true;
  }
  return false;
}

void LeasePage::go_on(BootTime now) {
  const std::int64_t answer_by =
      (now + patience_too_late(std::chrono::nanoseconds(limit_))).count();
  std::uint64_t word = word_;
  while (phase_of(word) == Phase::paused) {
    answer_by_ = answer_by;
    if (word_.compare_exchange_weak(word, next(word, Phase::paused))) return;
  }
  // The worker was faster, and is held or fenced: the next pause must not last for ever.
  std::int64_t never = kNever;
  answer_by_.compare_exchange_strong(never, answer_by);
}

WatchedLease::WatchedLease()
    : own_(std::make_unique<LeasePage>()), page_(*own_), process_(this_process()) {}

WatchedLease::WatchedLease(LeasePage& page, int wake_fd, int news_fd, ProcessIdentity watchdog)
    : page_(page), wake_fd_(wake_fd), news_fd_(news_fd), process_(watchdog) {}

WatchedLease::~WatchedLease() {
  page_.let_go();
  for (const int fd : {wake_fd_, news_fd_}) {
    if (fd >= 0) close(fd);
  }
}

void WatchedLease::wake() {
  const std::uint64_t one = 1;
  if (wake_fd_ >= 0) (void)!write(wake_fd_, &one, sizeof one);  // full only when it is awake
}

void WatchedLease::clear_news() {
  std::uint64_t ignored = 0;
  if (news_fd_ >= 0) (void)!read(news_fd_, &ignored, sizeof ignored);
}

void WatchedLease::look(BootTime now) {
  const LeasePage::Phase before = page_.phase();
  if (page_.look(now) != before) wake();
}

bool WatchedLease::confirm(Pause asked) {
  if (!page_.confirm(asked)) return false;
  wake();
  return true;
}

void WatchedLease::lose() {
  page_.lose();
  wake();
}

bool WatchedLease::stands() {
  if (wake_fd_ >= 0 && getppid() != static_cast<pid_t>(process_.pid)) page_.lose();
  return !page_.fenced();
}

void WatchedLease::hold(BootTime renewed, std::chrono::nanoseconds limit) {
  page_.hold(renewed, limit);
  wake();
}

void WatchedLease::pause_early(std::chrono::nanoseconds by) {
  if (page_.pause_early(by)) wake();
}

}  // namespace torc::exec
