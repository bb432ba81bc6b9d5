// The jobs of a new workflow file by the numbers that they have in a store which was made from an
// older one: those that are there by the numbers there, further ones from the next number on.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/claim/rules/plan.h"

namespace torc::workflow {

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

}  // namespace torc::workflow
