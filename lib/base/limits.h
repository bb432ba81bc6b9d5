// Limits that the workflow language states and the store holds to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torc {

// Jobs of one workflow, those included that were added or taken out of its file since.
inline constexpr std::uint64_t kMaxJobs = 20'000'000;

// A value of user data as JSON text, and its name, in bytes.
inline constexpr std::size_t kMaxUserDataBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kMaxUserDataName = 400;

}  // namespace torc
