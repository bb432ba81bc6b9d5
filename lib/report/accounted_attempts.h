// What Slurm's accounting told of attempts that were steps of their own (mode slurm): kept beside
// the logs, a file for each allocation, and merged into results where these are shown. Figures
// only: nothing is decided by them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/claim/rules/job.h"
#include "lib/slurm/accounting.h"

namespace torc::report {

struct AccountedAttempt {
  ByteCount max_rss;                 // 0: not told
  std::chrono::seconds cpu_time{0};  // of its task
  std::chrono::seconds elapsed{0};
  std::string state;      // Slurm's word
  std::string node_list;  // as Slurm writes it
  bool operator==(const AccountedAttempt&) const = default;
};
using AttemptNumber = std::pair<JobId, std::uint32_t>;
using AccountedAttempts = std::map<AttemptNumber, AccountedAttempt>;

// Those of the steps that are named as attempts are ("17.1"), and have ended.
[[nodiscard]] AccountedAttempts attempts_among(const std::vector<slurm::Accounted>& steps);

// A line each, and back; what is cut or is no such line is left out.
[[nodiscard]] std::string to_lines(const AccountedAttempts& attempts);
void take_lines(std::string_view text, AccountedAttempts& into);

// logs/sacct/ALLOCATION in the store, beside what was told before: an answer may be half of one.
// Whoever is cut off in the middle leaves what was there before. Error invalid: that is no name of
// an allocation.
Result<void> keep_accounted(const Path& store, const std::string& allocation,
                            const AccountedAttempts& attempts);
struct KeptAttempts {
  AccountedAttempts attempts;
  bool whole = true;  // false: more was kept that cannot be read, or is too much to be read
};
inline constexpr std::string_view kKeptInPart =
    "not all that was kept of sacct's figures (logs/sacct) could be read: without them those of "
    "torc are shown";
// Of all allocations, those of the newest first, at most `most_bytes` of them.
[[nodiscard]] KeptAttempts read_accounted(const Path& store,
                                          std::size_t most_bytes = std::size_t{64} << 20);

// The larger figure of both counts: torc sees a tree between two looks, Slurm once in a while; what
// Slurm tells in whole seconds is no better for a short one. Whether any is Slurm's now.
bool merge(const AccountedAttempt& told, claim::Outcome& into);

}  // namespace torc::report
