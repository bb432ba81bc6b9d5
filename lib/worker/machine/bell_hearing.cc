#include "lib/worker/machine/bell_hearing.h"

#include <algorithm>
#include <utility>

namespace torc::worker {
namespace {

constexpr std::uint32_t kMostPlaces = 4096;  // more would wait for longer than polls do

}  // namespace

void BellHearing::heard(std::uint64_t commit, std::uint32_t place, BootTime now) {
  ++account_.heard;
  if (commit <= seen_ || commit == rung_) return;
  if (commit > rung_) {
    rung_ = commit;
    looked_ = 0;
  }
  const BootTime at = std::max(now + std::min(place, kMostPlaces) * kBetweenPlaces, not_before_);
  due_ = due_ ? std::min(*due_, at) : at;
}

void BellHearing::saw(std::uint64_t commit) {
  seen_ = std::max(seen_, commit);
  if (rung_ > seen_) return;
  rung_ = 0;
  due_.reset();
}

void BellHearing::looks(BootTime now) {
  for_bell_ = due_ && now >= *due_;
  if (!for_bell_) return;
  ++account_.looks;
  not_before_ = now + kRefill;
  ++looked_;
  due_ = not_before_;  // unless this one sees the commit
}

void BellHearing::found(bool jobs, BootTime now) {
  if (!std::exchange(for_bell_, false)) return;
  if (jobs) {
    not_before_ = now;
    ++account_.found;
  }
  if (looked_ < kMostLooks) return;
  rung_ = 0;
  due_.reset();
}

}  // namespace torc::worker
