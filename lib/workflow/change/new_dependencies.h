// Who waits for whom in a new workflow file, against the store that was made from an older one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::workflow {

// The jobs of the file by the numbers that they have in the store: those that are there by the
// numbers there, further ones from the next number on.
class JobNumberMap {
 public:
  struct Entry {
    std::uint64_t here = 0;  // number of its first job in the file
    std::uint64_t count = 0;
    std::uint64_t there = 0;  // in the store
    bool is_new = false;
  };
  // Part of one entry, by the numbers of the store.
  struct Piece {
    claim::JobRange jobs;
    bool is_new = false;
  };

  void add(const Entry& entry) { entries_.push_back(entry); }  // in the order of the file
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<Piece> pieces(const claim::JobRange& here) const;
  // Sorted, those that follow each other joined.
  [[nodiscard]] std::vector<claim::JobRange> numbers_of(
      const std::vector<claim::JobRange>& here) const;
  // 0: none.
  [[nodiscard]] JobId number_of(JobId here) const;

 private:
  std::vector<Entry> entries_;
};

// Sorted by first job, neighbours joined.
[[nodiscard]] std::vector<claim::JobRange> joined(std::vector<claim::JobRange> ranges);

// Jobs that are there, sorted.
struct DifferingDependencies {
  // That wait for other jobs there than in the file, or on other conditions, or are canceled
  // otherwise when these fail.
  std::vector<claim::JobRange> all;
  std::vector<claim::JobRange> only_cancels;  // of these, those of which only the last is true
};
// Costs what the dependencies cost, not what the jobs do.
Result<DifferingDependencies> differing_dependencies(const claim::Reader& reader,
                                                     const claim::Plan& plan,
                                                     const JobNumberMap& numbers);

// The number of the first action that other jobs set off there than in the file; nullopt: none.
// Looks at all that jobs and actions wait for.
Result<std::optional<std::uint32_t>> differing_action(const claim::Reader& reader,
                                                      const claim::Plan& plan,
                                                      const JobNumberMap& numbers);

// What the jobs that are new wait for, and those of `rewired`, which are there; by the numbers of
// the store.
[[nodiscard]] std::vector<claim::DependencySet> dependencies_of(
    const claim::Plan& plan, const JobNumberMap& numbers,
    const std::vector<claim::JobRange>& rewired);

}  // namespace torc::workflow
