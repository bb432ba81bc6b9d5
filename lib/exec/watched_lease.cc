#include "lib/exec/watched_lease.h"

#include <unistd.h>

#include <thread>

namespace torc::exec {

void LeasePage::hold(BootTime renewed, std::chrono::nanoseconds limit) {
  // First the old lease is put away: nobody may judge it by the numbers of the new one.
  let_go();
  renewed_ = renewed.count();
  limit_ = limit.count();
  const std::uint64_t number = (word_ >> kPhaseBits) + 1;
  word_ = number << kPhaseBits | static_cast<std::uint64_t>(Phase::held);
  // Either the watchdog sees the line above, or this sees that it has begun.
  while (sweeping_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool LeasePage::begin_sweep() {
  sweeping_ = true;
  if (fenced()) return true;
  sweeping_ = false;
  return false;
}

void LeasePage::renew(BootTime at) {
  std::int64_t before = renewed_;
  while (before < at.count() && !renewed_.compare_exchange_weak(before, at.count())) {
  }
}

void LeasePage::lose() {
  std::uint64_t word = word_;
  if (phase_of(word) != Phase::held) return;
  // When it fails, the watchdog has been faster.
  word_.compare_exchange_strong(word, fenced_form(word));
}

void LeasePage::let_go() {
  word_ = word_ >> kPhaseBits << kPhaseBits;
}

bool LeasePage::fenced() const {
  return phase_of(word_) == Phase::fenced;
}

std::optional<BootTime> LeasePage::due() const {
  if (phase_of(word_) != Phase::held) return std::nullopt;
  return BootTime(renewed_) + std::chrono::nanoseconds(limit_);
}

bool LeasePage::fence_if_due(BootTime now) {
  std::uint64_t word = word_;
  if (phase_of(word) != Phase::held) return false;
  if (now < BootTime(renewed_) + std::chrono::nanoseconds(limit_)) return false;
  return word_.compare_exchange_strong(word, fenced_form(word));
}

WatchedLease::WatchedLease()
    : own_(std::make_unique<LeasePage>()), page_(*own_), process_(this_process()) {}

WatchedLease::WatchedLease(LeasePage& page, int wake_fd, ProcessIdentity watchdog)
    : page_(page), wake_fd_(wake_fd), process_(watchdog) {}

WatchedLease::~WatchedLease() {
  page_.let_go();
  if (wake_fd_ >= 0) close(wake_fd_);
}

void WatchedLease::hold(BootTime renewed, std::chrono::nanoseconds limit) {
  page_.hold(renewed, limit);
  const std::uint64_t one = 1;
  if (wake_fd_ >= 0) (void)!write(wake_fd_, &one, sizeof one);  // full only when it is awake
}

}  // namespace torc::exec
