#include "lib/store/disk/latency.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace torc::store {

Latency summarize(std::vector<std::chrono::nanoseconds> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](std::size_t percent) {
    return samples[std::max<std::size_t>((samples.size() * percent + 99) / 100, 1) - 1];
  };
  return {samples.size(), at(50), at(90), at(99), samples.back()};
}

std::string to_text(const Latency& l) {
  std::string out = std::to_string(l.samples);
  for (const auto part : {l.p50, l.p90, l.p99, l.max}) out += ' ' + std::to_string(part.count());
  return out;
}

Latency latency_of(std::string_view text) {
  std::array<long long, 5> numbers{};
  for (long long& number : numbers) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0) return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  using std::chrono::nanoseconds;
  return {static_cast<std::size_t>(numbers[0]), nanoseconds(numbers[1]), nanoseconds(numbers[2]),
          nanoseconds(numbers[3]), nanoseconds(numbers[4])};
}

}  // namespace torc::store
