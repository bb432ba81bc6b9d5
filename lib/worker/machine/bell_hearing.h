// When a worker looks because of a bell. A bell is only a hint: whatever comes of the net, no more
// than one look a second follows bells that prove false.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lib/base/clock.h"

namespace torc::worker {

// A value; told what happens and when.
class BellHearing {
 public:
  // Of bells that proved false, by the time that must pass before the next look for one. A token
  // bucket of one token, which a look takes and which comes back after this, or at once when the
  // look found what the bell said.
  static constexpr std::chrono::nanoseconds kRefill = std::chrono::seconds(1);
  // Between the looks of those that are rung for the same commit: so they keep the budget of
  // commits of a shared filesystem, and who finds no job that the others left has looked at less.
  static constexpr std::chrono::nanoseconds kBetweenPlaces = std::chrono::milliseconds(50);
  // For a commit that is not seen yet: a mount may show it late.
  static constexpr int kMostLooks = 3;

  // A bell for this worker, which is the `place`th that is rung for this commit, from 0. One whose
  // commit was seen already is dropped.
  void heard(std::uint64_t commit, std::uint32_t place, BootTime now);
  // This worker saw the state as of that commit, or of a later one.
  void saw(std::uint64_t commit);
  // When to look; nothing: there is no bell to look for.
  [[nodiscard]] std::optional<BootTime> due() const { return due_; }
  // It looks now, whether or not for a bell.
  void looks(BootTime now);
  // What came of that: it got jobs, or not.
  void found(bool jobs, BootTime now);

  // What became of bells so far, for a person.
  struct Account {
    std::uint64_t heard = 0;  // with the right code, whether or not it was news
    std::uint64_t looks = 0;  // for them
    std::uint64_t found = 0;  // looks that got jobs
  };
  [[nodiscard]] const Account& account() const { return account_; }

 private:
  std::uint64_t seen_ = 0;
  std::uint64_t rung_ = 0;  // the newest commit that a bell told and that was not seen
  std::optional<BootTime> due_;
  BootTime not_before_{};
  int looked_ = 0;         // for rung_
  bool for_bell_ = false;  // the look under way is
  Account account_;
};

}  // namespace torc::worker
