// NAME=NUMBER as `torc set --limit` takes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::workflow {

struct LimitWord {
  std::string name;
  std::uint32_t most = 0;
};
// The last '=' parts them: names of entries may have others. Error invalid: it says neither.
Result<LimitWord> parse_limit(std::string_view word);

// By which it is named there: `max_parallel` is the workflow's.
[[nodiscard]] std::string limit_name(const claim::Limit& limit);
// The number of the limit that is meant: of the workflow, of an entry, of what jobs name in their
// own limits, in that order. Error invalid: there is none of that name; says which there are.
Result<std::uint32_t> find_limit(const claim::Reader& reader, std::string_view name);

}  // namespace torc::workflow
