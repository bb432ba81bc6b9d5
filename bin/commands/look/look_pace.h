// How often a command looks at a store while it waits for what others do there.
#pragma once

#include <algorithm>
#include <chrono>

namespace torc::cli {

// Nothing tells of news on a network filesystem. The first looks are a second apart, and later ones
// ever less often: what is waited for is seen late by a tenth of the time that it took, and many
// who wait cost the filesystem little.
inline constexpr std::chrono::seconds kShortestPause{1};
inline constexpr std::chrono::seconds kLongestPause{30};

// From this look to the next one, `waited` after the first one.
[[nodiscard]] inline std::chrono::nanoseconds pause_after(std::chrono::nanoseconds waited) {
  constexpr int kShare = 10;
  return std::clamp<std::chrono::nanoseconds>(waited / kShare, kShortestPause, kLongestPause);
}

}  // namespace torc::cli
