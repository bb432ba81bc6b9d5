// How large a spec may be.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torc::spec {

// Beyond these there is an error that names the limit.
constexpr std::size_t kMaxSpecBytes = 64U << 20U;
constexpr std::size_t kMaxDepth = 64;  // sequences and maps within each other
// With every alias counted as what it repeats, and a long text as one for each kBytesOfOne.
constexpr std::uint64_t kMaxNodes = 5'000'000;
constexpr std::size_t kBytesOfOne = 64;
constexpr std::size_t kMaxTextBytes = 1U << 20U;  // of one value, variables put in

}  // namespace torc::spec
