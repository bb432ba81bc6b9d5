// Results that were thrown away since the workflow file said something else, and that count again
// when it says what it said and nothing has run since.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/retired_record.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Hash of what a job runs by, as its template says now; 0: its result cannot be taken back.
using DefinitionOf = std::function<std::uint64_t(JobId)>;

// What the job waits for has come true by ends that are older than its own claim.
[[nodiscard]] bool is_built_on_the_same(State& state, std::uint64_t id, std::uint64_t claim);

class RetiredResults {
 public:
  RetiredResults(Transaction& tx, const DefinitionOf& definition_of)
      : tx_(tx), definition_of_(definition_of) {}

  // Notes those of `jobs` that have completed. Before anything changes.
  Result<void> note(const std::vector<JobRange>& jobs);
  // Keeps of the noted those that have to run again now. At the end.
  Result<void> keep();
  // Those of `jobs` that nothing speaks against have completed as before: they wait, and have not
  // been claimed since; what they run by and wait for is what it was, has completed, and has not
  // run since. The number of them. What they had spawned comes back with them. After all else has
  // changed.
  Result<std::uint64_t> take_back(const std::vector<JobRange>& jobs, WallTime now);

 private:
  // What these had spawned, and was withdrawn with their results, waits again.
  Result<void> return_spawned(const std::vector<JobRange>& spawners, WallTime now);
  [[nodiscard]] std::optional<Retired> restorable(State& state, std::uint64_t id) const;

  Transaction& tx_;
  const DefinitionOf& definition_of_;
  std::vector<std::pair<std::uint64_t, Retired>> noted_;
};

}  // namespace torc::claim
