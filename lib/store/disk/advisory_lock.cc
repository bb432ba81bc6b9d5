#include "lib/store/disk/advisory_lock.h"

#include <algorithm>

namespace torc::store {
namespace {

constexpr std::chrono::nanoseconds kMemory = std::chrono::seconds(30);
constexpr std::chrono::nanoseconds kFirstLockPause = std::chrono::milliseconds(2);
constexpr std::chrono::nanoseconds kLongestLockPause = std::chrono::milliseconds(100);
// Who waits asks for half a percent of the time.
constexpr int kPausesPerTry = 200;

}  // namespace

bool AdvisoryLock::contended() const {
  return conflict_at_ && clock_->boot_now() - *conflict_at_ < kMemory;
}

void AdvisoryLock::acquire(std::chrono::nanoseconds patience) {
  if (held_ || !contended()) return;
  if (failed_at_ && clock_->boot_now() - *failed_at_ < kMemory) return;
  if (!open_) {
    Result<FileHandle> handle = disk_->open_update(file_);
    if (!handle.ok()) return give_up();
    open_.emplace(*disk_, *handle, file_);
  }
  const BootTime until = clock_->boot_now() + patience;
  for (std::chrono::nanoseconds pause = kFirstLockPause; open_ && !try_once();) {
    if (!open_ || clock_->boot_now() >= until) return give_up();
    // Jitter of half the pause, so that waiting hosts do not ask in step.
    clock_->sleep_for(
        pause / 2 +
        std::chrono::nanoseconds(entropy_->next() % static_cast<std::uint64_t>(pause.count())));
    pause = std::min(2 * pause, longest_pause());
  }
}

std::chrono::nanoseconds AdvisoryLock::longest_pause() const {
  return std::clamp(kPausesPerTry * cheapest_try_, kFirstLockPause, kLongestLockPause);
}

bool AdvisoryLock::try_once() {
  const BootTime asked = clock_->boot_now();
  const Result<bool> got = disk_->try_lock(open_->handle());
  cheapest_try_ = std::min(cheapest_try_, clock_->boot_now() - asked);
  if (!got.ok()) {
    open_.reset();
    give_up();
    return false;
  }
  held_ = *got;
  return held_;
}

void AdvisoryLock::give_up() {
  failed_at_ = clock_->boot_now();
}

void AdvisoryLock::release() {
  if (!held_) return;
  held_ = false;
  if (!disk_->unlock(open_->handle()).ok()) open_.reset();  // closing releases it too
}

}  // namespace torc::store
