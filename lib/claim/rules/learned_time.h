// How long the jobs of one template ran, as counts of whole seconds in buckets: what is expected of
// the next ones (`learn_runtimes`). Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace torc::claim {

// What fewer jobs say counts for nothing.
inline constexpr std::uint64_t kEnoughTimes = 20;

// Times up to 15 s have a bucket for each second, longer ones 16 for each doubling: there are at
// most kMostTimeBuckets, and no time is taken for one that is more than a sixteenth longer.
inline constexpr std::uint32_t kMostTimeBuckets = 512;

class LearnedTime {
 public:
  void add(std::chrono::microseconds ran);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Within which 19 of 20 of them ended: the true figure in whole seconds, or up to a sixteenth
  // more. nullopt: fewer than kEnoughTimes.
  [[nodiscard]] std::optional<std::chrono::seconds> expectation() const;

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<LearnedTime> decode(std::string_view bytes);

 private:
  std::map<std::uint32_t, std::uint64_t> buckets_;  // jobs by bucket
  std::uint64_t count_ = 0;
};

// The expectation that such bytes begin with, without the rest. nullopt: not yet, or no such bytes.
[[nodiscard]] std::optional<std::chrono::seconds> expectation_in(std::string_view bytes);

}  // namespace torc::claim
