// Who waits for whom, collected so that jobs with the same upstream share one set.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/spec/sweep/range.h"

namespace torc::spec {

struct DependencySet {
  std::vector<Range> upstream;  // sorted, disjoint, not empty
  std::vector<Range> members;   // the same; a job is a member of at most one set
};

class DependencySetBuilder {
 public:
  // `members` wait for `upstream` (normalised, not empty). Members must come in ascending order,
  // each job once.
  void add(const std::vector<Range>& upstream, Range members);
  [[nodiscard]] bool is_empty() const { return sets_.empty(); }
  [[nodiscard]] std::vector<DependencySet> take() && { return std::move(sets_); }

 private:
  void grow();

  std::vector<DependencySet> sets_;
  std::vector<std::uint64_t> hashes_;  // of the sets' upstreams
  std::vector<std::uint32_t> slots_;   // open addressing: index of a set + 1; 0: empty
};

}  // namespace torc::spec
