// How long something took, many times: what a table shows of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace torc::store {

struct Latency {
  std::size_t samples = 0;  // 0: nothing was measured, the rest means nothing
  std::chrono::nanoseconds p50{};
  std::chrono::nanoseconds p90{};
  std::chrono::nanoseconds p99{};
  std::chrono::nanoseconds max{};
};

// Percentiles by nearest rank.
[[nodiscard]] Latency summarize(std::vector<std::chrono::nanoseconds> samples);

// As text for another process: five numbers. A text that is none gives no samples.
[[nodiscard]] std::string to_text(const Latency& latency);
[[nodiscard]] Latency latency_of(std::string_view text);

}  // namespace torc::store
