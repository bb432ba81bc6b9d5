// The part of verify_state about user data.
#pragma once

#include <cstdint>

#include "lib/base/result.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// `jobs`: how many there are.
[[nodiscard]] Result<void> verify_user_data(const Reader& reader, std::uint64_t jobs);

}  // namespace torc::claim
