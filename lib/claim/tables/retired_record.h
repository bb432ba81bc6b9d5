// How a result that was thrown away is kept (transactions/retired.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

struct Retired {
  Job job;                       // as it was: completed
  std::uint64_t definition = 0;  // hash of what it ran by, by whoever knows recipes
  std::uint64_t upstream = 0;    // hash of what it waited for
};
[[nodiscard]] std::string encode(const Retired& retired);
[[nodiscard]] std::optional<Retired> decode_retired(std::string_view value);
// nullopt: none. Error corrupt: it cannot be read.
Result<std::optional<Retired>> read_retired(const Reader& reader, JobId id);

}  // namespace torc::claim
