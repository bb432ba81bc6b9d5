// Limits that the workflow language states and the store holds to.
#pragma once

#include <cstddef>

namespace torc {

// A value of user data as JSON text, and its name, in bytes.
inline constexpr std::size_t kMaxUserDataBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kMaxUserDataName = 400;

}  // namespace torc
