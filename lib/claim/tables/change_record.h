// What people changed in a workflow that is in a store, and what was there before: kept so that it
// can be told, and taken back (transactions/undo.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Changes of one command, which may be several commits, have the same words and asked_at.
struct KeptChange {
  static constexpr std::uint64_t kMost = 1000;  // so many are told: the newest
  static constexpr std::size_t kMostRanges = 1000;

  std::uint64_t number = 0;    // from 1, in the order of commits
  std::uint64_t sequence = 0;  // of the commit
  WallTime at{};
  WallTime asked_at{};             // when the command began
  std::string by;                  // "user@host"
  std::string words;               // the command as it was typed
  std::uint64_t jobs = 0;          // whose records it changed, and that it added
  std::vector<JobRange> ranges;    // the first of these; sorted, disjoint, as the others
  std::vector<JobRange> lost;      // the first of those that were over, and wait again
  std::vector<JobRange> regained;  // the first of those whose earlier end counts again
  std::uint64_t bytes = 0;         // of what was there before; 0: that is not kept (any more)
  bool is_too_large = false;       // it never was; nor was it counted how many jobs it changed
  WallTime undone_at{};            // 0: it was not taken back
  std::string undone_by;

  [[nodiscard]] bool is_of_the_same_command(const KeptChange& other) const {
    return words == other.words && asked_at == other.asked_at && by == other.by;
  }
};

[[nodiscard]] Key change_key(std::uint64_t number);
// Of what was there before it.
[[nodiscard]] Key before_change_key(std::uint64_t number);

[[nodiscard]] std::string encode(const KeptChange& change);
[[nodiscard]] std::optional<KeptChange> decode_change(std::string_view key, std::string_view value);

// 0: nobody has changed anything.
[[nodiscard]] std::uint64_t newest_change(const Reader& reader);
// nullopt: it is not told any more. Error corrupt: it cannot be read.
Result<std::optional<KeptChange>> read_change(const Reader& reader, std::uint64_t number);
// From the newest on, until `visit` returns false.
Result<void> scan_changes(const Reader& reader,
                          const std::function<bool(const KeptChange&)>& visit);

}  // namespace torc::claim
