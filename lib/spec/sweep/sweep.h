// The combinations of an entry's parameters, numbered from 0: as a product the last parameter
// varies fastest, and columns of one table advance together; zipped all do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/codec.h"
#include "lib/spec/language/workflow.h"

namespace torc::spec {

// Says where in the parameters' values combination k is. Does not keep the parameters.
class Sweep {
 public:
  // Larger counts saturate at this value.
  static constexpr std::uint64_t kTooMany = std::uint64_t{1} << 62;

  Sweep() = default;  // no parameters: one combination
  // Precondition: have_equal_lengths().
  Sweep(std::span<const Parameter> parameters, ParameterMode mode);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t position(std::size_t parameter, std::uint64_t k) const {
    const Axis& axis = axes_[parameter];
    return k / axis.stride % axis.count;
  }
  // The first of the parameters that advance together with this one.
  [[nodiscard]] std::size_t leader(std::size_t parameter) const { return axes_[parameter].leader; }

  // What uses only the parameters first .. last has the same value for all k of equal
  // (k / period) % modulus.
  struct Cycle {
    std::uint64_t period = 1;
    std::uint64_t modulus = 1;
  };
  [[nodiscard]] Cycle cycle(std::size_t first, std::size_t last) const;

 private:
  struct Axis {
    std::uint64_t stride = 1;
    std::uint64_t count = 1;
    std::size_t leader = 0;
  };
  std::vector<Axis> axes_;
  std::uint64_t count_ = 1;
};

// Whether those that advance together do.
[[nodiscard]] bool have_equal_lengths(std::span<const Parameter> parameters, ParameterMode mode);

// Parameters without the values that only combinations outside of first .. first + count - 1 use.
struct NarrowSweep {
  std::vector<Parameter> parameters;
  std::uint64_t offset = 0;  // of combination `first` among those of `parameters`
};
[[nodiscard]] NarrowSweep narrow(std::span<const Parameter> parameters, ParameterMode mode,
                                 std::uint64_t first, std::uint64_t count);

void encode(Encoder& out, std::span<const Parameter> parameters, ParameterMode mode);
struct DecodedSweep {
  std::vector<Parameter> parameters;
  ParameterMode mode = ParameterMode::product;
};
// Damage shows in in.ok(); a list is never longer than the input. Of the numbers of tables only
// which are equal is kept.
[[nodiscard]] DecodedSweep decode_sweep(Decoder& in);

}  // namespace torc::spec
