// Runs of consecutive numbers (of jobs, of files), and maps from an index to such runs.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/codec.h"

namespace torc::spec {

struct Range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t end() const { return first + count; }
  bool operator==(const Range&) const = default;
};

// Appends a number, to the last range where that goes on with it.
void append(std::vector<Range>& ranges, std::uint64_t id);
// Sorts, merges what overlaps or touches, drops what is empty.
void normalise(std::vector<Range>& ranges);
// Takes `id` out of normalised ranges, which stay normalised.
void remove(std::vector<Range>& ranges, std::uint64_t id);
// Precondition: normalised.
[[nodiscard]] std::uint64_t total(const std::vector<Range>& ranges);

// For each index k of an entry some ranges, stored as arithmetic runs: what a sweep of a million
// jobs needs of another one is usually one run. The answer for k is that of position (k / period) %
// modulus, because a reference that uses some of the parameters repeats itself.
class RangeMap {
 public:
  RangeMap() : RangeMap(1, 1) {}
  // Precondition: both > 0. Then push() is called exactly `modulus` times.
  RangeMap(std::uint64_t period, std::uint64_t modulus) : period_(period), modulus_(modulus) {}

  void push(const std::vector<Range>& ranges);  // of the next position
  void append_to(std::vector<Range>& out, std::uint64_t k) const;

  [[nodiscard]] std::uint64_t period() const { return period_; }
  [[nodiscard]] std::uint64_t modulus() const { return modulus_; }
  [[nodiscard]] bool varies() const { return modulus_ > 1; }
  [[nodiscard]] bool is_empty() const { return tracks_.empty(); }

  void encode(Encoder& out) const;
  // What a damaged encoding yields is unspecified but harmless; the decoder's ok() tells.
  static RangeMap decode(Decoder& in);

 private:
  // Positions from .. from + length - 1; the n-th of them has the range of `width` numbers that
  // begins at first + n * step.
  struct Run {
    std::uint64_t from = 0;
    std::uint64_t length = 0;
    std::uint64_t first = 0;
    std::uint64_t step = 0;  // modulo 2^64: it may go down
    std::uint64_t width = 0;
  };
  using Track = std::vector<Run>;  // the n-th range of every position

  static void extend(Track& track, std::uint64_t position, Range range);

  std::uint64_t period_;
  std::uint64_t modulus_;
  std::uint64_t pushed_ = 0;
  std::vector<Track> tracks_;
};

}  // namespace torc::spec
