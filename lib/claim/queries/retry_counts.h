// What the failure handler of a job has done for it so far, and what it may give it. For workers
// and reading commands; retry.h changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/claim/rules/handler.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// How often each rule of its handler has let a job be tried again, and how often it was recovered
// (recovery.h), since limits on it began to count.
struct RetryCounts {
  std::uint32_t since = 0;  // Job::forgiven when they began; with another one they are over
  std::vector<std::uint32_t> by_rule;
  std::uint32_t recoveries = 0;  // from ends that no rule is for
  [[nodiscard]] std::uint32_t of(std::size_t rule) const {
    return rule < by_rule.size() ? by_rule[rule] : 0;
  }
};
[[nodiscard]] std::string encode(const RetryCounts& counts);
[[nodiscard]] std::optional<RetryCounts> decode_retries(std::string_view value);

// For workers and reading commands. Nothing where the job's entry names no handler.
[[nodiscard]] std::optional<Handler> read_handler(const Reader& reader, const Template& of);
[[nodiscard]] RetryCounts read_retries(const Reader& reader, JobId id, const Job& job);

// What a job may be given at most by `handler`: what schedulers offer or, where nobody said, what
// the largest live worker has (a look at each of them).
Result<ByteCount> memory_ceiling(const Reader& reader, const Handler& handler);

}  // namespace torc::claim
