// How far a workflow was at an earlier time, told from what is kept of attempts and changes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/tables/transaction.h"

namespace torc::report {

struct PastState {
  static constexpr std::size_t kFirst = 20;

  std::uint64_t jobs = 0;  // that there were then
  // By the state of then; what had not been started, or was to run again, is all `ready` here:
  // whether something was still in its way nobody remembers.
  claim::Counts counts{};
  std::vector<JobId> running;   // the first of them
  std::uint64_t forgotten = 0;  // of the ready: they had attempts, none of which is kept
  [[nodiscard]] std::uint64_t of(claim::JobState state) const {
    return counts[static_cast<std::size_t>(state)];
  }
};

// By the clocks of the nodes that wrote the attempts. What is not kept any more (past_attempts.h,
// change_record.h) is as if it had not been. Error corrupt.
Result<PastState> state_at(const claim::Reader& reader, WallTime at);

// When something was last written down of what the first `commit` commits did; nullopt: there are
// not so many.
Result<std::optional<WallTime>> time_of_commit(const claim::Reader& reader, std::uint64_t commit);

}  // namespace torc::report
