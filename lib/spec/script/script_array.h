// --array, as sbatch takes it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace torc::spec {

struct ScriptArray {
  // One range, `first` to `last` in steps; or, where `numbers` has any, these.
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 1;
  std::vector<std::int64_t> numbers;  // growing
  std::uint32_t at_once = 0;          // %N; 0: no limit
  [[nodiscard]] std::int64_t count() const;
};

// 1-100, 0-99:3, 1,4,7-9, each with %10 behind it. Error invalid, with what to write.
[[nodiscard]] Result<ScriptArray> parse_array(std::string_view text);

}  // namespace torc::spec
