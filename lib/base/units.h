// Quantities with a type, so that a byte count is never passed where a CPU count is meant.
#pragma once

#include <compare>
#include <cstdint>

namespace torc {

struct ByteCount {
  std::uint64_t value = 0;
  auto operator<=>(const ByteCount&) const = default;
};

constexpr ByteCount operator+(ByteCount a, ByteCount b) {
  return {a.value + b.value};
}
constexpr ByteCount operator-(ByteCount a, ByteCount b) {
  return {a.value - b.value};
}
constexpr ByteCount mebibytes(std::uint64_t n) {
  return {n << 20};
}

// Number of a job in its workflow: 1, 2, 3, … in the order of the spec; jobs added later go on from
// there.
enum class JobId : std::uint64_t {};
constexpr std::uint64_t raw(JobId id) {
  return static_cast<std::uint64_t>(id);
}

}  // namespace torc
