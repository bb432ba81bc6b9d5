// What a shell offers where a job may stand.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/tables/transaction.h"

namespace torc::cli {

inline constexpr std::size_t kMostCandidates = 100;
// A shell waits for its answer after every key: what is not found by then is not offered.
inline constexpr std::chrono::milliseconds kCompletionTime{40};

// Names of jobs and stages ("stage:align") that begin with `word`. Of an entry of many jobs what
// their names begin with, as long as `word` does not say more. A name that would have to be quoted
// is not offered: a shell puts it into the line as it is, and a store may be another user's.
Result<std::vector<std::string>> job_candidates(const claim::Reader& reader, std::string_view word,
                                                const Clock& clock);

}  // namespace torc::cli
