#include "lib/base/clock.h"

#include <sys/random.h>
#include <cerrno>
#include <ctime>

namespace torc {
namespace {

// splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::chrono::nanoseconds read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

BootTime SystemClock::boot_now() const {
  return read_clock(CLOCK_BOOTTIME);
}

WallTime SystemClock::wall_now() const {
  return std::chrono::duration_cast<WallTime>(read_clock(CLOCK_REALTIME));
}

void SystemClock::sleep_for(std::chrono::nanoseconds duration) {
  if (duration.count() <= 0) return;
  timespec t{static_cast<time_t>(duration.count() / 1'000'000'000),
             static_cast<long>(duration.count() % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR) {
  }
}

std::uint64_t SystemEntropy::next() {
  if (left_ == 0) {
    // Up to 256 bytes are given whole and uninterrupted (getrandom(2)).
    if (getrandom(buffer_.data(), sizeof buffer_, 0) != static_cast<ssize_t>(sizeof buffer_)) {
      auto state = static_cast<std::uint64_t>(read_clock(CLOCK_REALTIME).count());
      for (auto& word : buffer_) word = splitmix64(state);
    }
    left_ = buffer_.size();
  }
  return buffer_[--left_];
}

std::uint64_t SeededEntropy::next() {
  return splitmix64(state_);
}

}  // namespace torc
