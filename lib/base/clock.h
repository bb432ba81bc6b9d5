// Time and randomness, as everything below bin/ sees them: passed in, never asked of the system, so
// that tests move the clock instead of sleeping and replay a seed instead of hoping.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace torc {

// Time since this machine booted, suspended time included (CLOCK_BOOTTIME). The only time that
// decisions use. Never compare it between machines.
using BootTime = std::chrono::nanoseconds;

// Microseconds since 1970 (UTC), for people to read. Nothing is decided by it: wall clocks jump and
// differ.
using WallTime = std::chrono::microseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual BootTime boot_now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
  // Blocks the calling thread (a test clock advances instead).
  virtual void sleep_for(std::chrono::nanoseconds duration) = 0;
};

class Entropy {
 public:
  virtual ~Entropy() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;  // uniform over all 64-bit values
};

// The real ones. SystemEntropy reads getrandom(2) through a buffer; use one per thread.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] BootTime boot_now() const override;
  [[nodiscard]] WallTime wall_now() const override;
  void sleep_for(std::chrono::nanoseconds duration) override;
};

class SystemEntropy final : public Entropy {
 public:
  [[nodiscard]] std::uint64_t next() override;

 private:
  std::array<std::uint64_t, 32> buffer_{};
  std::size_t left_ = 0;
};

// For tests and simulations: time stands still unless moved; the random numbers follow from the
// seed.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] BootTime boot_now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override {
    return std::chrono::duration_cast<WallTime>(now_) + wall_offset_;
  }
  void sleep_for(std::chrono::nanoseconds duration) override { now_ += duration; }
  void advance(std::chrono::nanoseconds duration) { now_ += duration; }
  void jump_wall(WallTime by) { wall_offset_ += by; }

 private:
  BootTime now_{std::chrono::hours(1)};
  WallTime wall_offset_{std::chrono::hours(24 * 365 * 50)};
};

class SeededEntropy final : public Entropy {
 public:
  explicit SeededEntropy(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

}  // namespace torc
