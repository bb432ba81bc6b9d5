// Which commits there are, as far as listings show it: what comes after the replica's newest
// commit, and whether anything before it is missing. It reads no commit and concludes nothing.
//
// It owns one fact that no listing gives: a number that publishing found to be taken is there,
// listed or not. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "lib/base/clock.h"
#include "lib/store/format/journal.h"
#include "lib/store/journal/known_snapshots.h"
#include "lib/store/journal/location.h"
#include "lib/store/lmdb/lmdb_transaction.h"

namespace torc::store {

struct Extent {
  bool directory = false;     // that of the number after the replica's newest is there
  std::uint64_t highest = 0;  // of all numbers
  bool shows_head = false;    // the replica's newest commit is listed, or belongs in another one
  std::uint64_t hole = 0;     // a number that is not listed though a higher one is, and the replica
                              // has it; 0: none
};

class Survey {
 public:
  // All outlive this.
  Survey(Clock& clock, Journal& journal, const Location& location, const KnownSnapshots& snapshots)
      : clock_(clock), journal_(journal), location_(location), snapshots_(snapshots) {}

  // What the directory of the number after `head` shows of it and of the numbers before it that no
  // snapshot covers. One listing, and opens where listings lag. Error not_found: no such directory.
  // Where a listing may hide something it is made once more, after a change of one's own, a second
  // after the last that showed something new, two seconds, four, and so on.
  Result<Extent> beside(const Head& head);
  // The same, and where that directory is full or gone the newest number of all. A directory that
  // is not there is no error.
  Result<Extent> beyond(const Head& head);
  // Before something is concluded from what listings do not show, in particular that `missing` (0:
  // none) is not there. false: this process may not change anything, and listings may be old.
  bool refresh(std::uint64_t missing);

  // See Store::expect().
  void expect(std::uint64_t sequence) { expected_ = sequence; }

  void note_taken(std::uint64_t sequence) { taken_ = sequence; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }  // 0: none
  // Whoever had it lost it, or it was at another place.
  void forget_taken() { taken_ = 0; }

 private:
  Result<std::vector<std::uint64_t>> numbers_beside(std::uint64_t next);
  [[nodiscard]] Extent extent_of(const std::vector<std::uint64_t>& numbers, const Head& head) const;

  bool is_doubtful(const std::vector<std::uint64_t>& numbers);

  Clock& clock_;
  Journal& journal_;
  const Location& location_;
  const KnownSnapshots& snapshots_;
  std::uint64_t taken_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t newest_listed_ = 0;
  BootTime news_at_{};                // that was listed for the first time
  std::chrono::nanoseconds doubt_{};  // after which a listing without news is doubted
};

}  // namespace torc::store
