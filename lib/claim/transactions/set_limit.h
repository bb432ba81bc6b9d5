// What a person sets of the limits of the workflow while workers run: how much there is of one.
#pragma once

#include <cstdint>

#include "lib/base/result.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

inline constexpr std::uint32_t kMostOfALimit = 0x7fffffff;

struct LimitChange {
  Limit before;
  LimitState after;
  // Of jobs that are ready: those that need more than there is now of this limit.
  std::uint64_t too_large = 0;
  // How much more of it may be taken than before.
  [[nodiscard]] std::uint64_t freed() const;
};

// From now on there is so much of it; 0: nothing that has some of it starts. Jobs that are claimed
// or run keep what they have: where that is more, nothing starts until enough of them have ended.
// What is compared with the workflow file stays what the file said.
// Precondition: `most` is at most kMostOfALimit. Error invalid: there is no such limit.
Result<LimitChange> set_limit(Transaction& tx, std::uint32_t number, std::uint32_t most);

}  // namespace torc::claim
