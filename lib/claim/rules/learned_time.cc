#include "lib/claim/rules/learned_time.h"

#include <algorithm>
#include <bit>

#include "lib/base/codec.h"
#include "lib/base/limits.h"
#include "lib/base/resources.h"

namespace torc::claim {
namespace {

constexpr unsigned kBits = 4;
constexpr std::uint64_t kEachDoubling = 1U << kBits;

std::uint32_t bucket_of(std::uint64_t seconds) {
  if (seconds < kEachDoubling) return static_cast<std::uint32_t>(seconds);
  const auto shift = static_cast<unsigned>(std::bit_width(seconds)) - 1 - kBits;
  return static_cast<std::uint32_t>(kEachDoubling * shift + (seconds >> shift));
}

// The longest time of a bucket.
std::uint64_t longest_of(std::uint32_t bucket) {
  if (bucket < kEachDoubling) return bucket;
  const std::uint64_t shift = bucket / kEachDoubling - 1;
  return ((bucket - kEachDoubling * shift + 1) << shift) - 1;
}

}  // namespace

void LearnedTime::add(std::chrono::microseconds ran) {
  const std::int64_t seconds =
      std::chrono::ceil<std::chrono::seconds>(std::max(ran, std::chrono::microseconds(1))).count();
  const auto known = seconds_in_reach(static_cast<std::uint64_t>(seconds));
  std::uint64_t& jobs = buckets_[bucket_of(static_cast<std::uint64_t>(known.count()))];
  if (jobs == kMaxJobs) return;  // jobs that are run again and again; decode() takes no more
  ++jobs;
  ++count_;
}

std::optional<std::chrono::seconds> LearnedTime::expectation() const {
  if (count_ < kEnoughTimes) return std::nullopt;
  const std::uint64_t within = count_ - count_ / 20;
  std::uint64_t so_far = 0;
  for (const auto& [bucket, jobs] : buckets_) {
    so_far += jobs;
    if (so_far >= within) return std::chrono::seconds(longest_of(bucket));
  }
  return std::nullopt;
}

std::string LearnedTime::encode() const {
  Encoder out;
  out.varint(static_cast<std::uint64_t>(expectation().value_or(std::chrono::seconds(0)).count()));
  std::uint32_t above = 0;
  for (const auto& [bucket, jobs] : buckets_) {
    out.varint(bucket - above).varint(jobs);
    above = bucket;
  }
  return std::move(out).bytes();
}

std::optional<LearnedTime> LearnedTime::decode(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint64_t expectation = in.varint();
  LearnedTime time;
  std::uint64_t bucket = 0;
  while (in.ok() && !in.at_end()) {
    const std::uint64_t further = in.up_to(kMostTimeBuckets);
    const std::uint64_t jobs = in.up_to(kMaxJobs);
    bucket += further;
    if (further == 0 || jobs == 0 || bucket >= kMostTimeBuckets) return std::nullopt;
    time.buckets_.emplace_hint(time.buckets_.end(), static_cast<std::uint32_t>(bucket), jobs);
    time.count_ += jobs;
  }
  const auto is = time.expectation().value_or(std::chrono::seconds(0));
  if (static_cast<std::uint64_t>(is.count()) != expectation) return std::nullopt;
  return in.whole(std::move(time));
}

std::optional<std::chrono::seconds> expectation_in(std::string_view bytes) {
  Decoder in(bytes);
  const auto time = seconds_in_reach(in.varint());
  return in.ok() && time.count() > 0 ? std::optional(time) : std::nullopt;
}

}  // namespace torc::claim
