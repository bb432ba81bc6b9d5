// What a job took and made, as it looked then: by it `torc reinit` finds what became stale. Kept
// beside the job when an attempt that counts is over; only for jobs with files or user data.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// How one file looked. Enough to see that it is another one now.
struct FileFingerprint {
  bool exists = false;
  std::uint64_t size = 0;  // bytes; of a directory 0
  std::int64_t mtime = 0;  // nanoseconds since 1970 by the clock of its filesystem
  std::uint64_t sum = 0;   // hash of the content; 0: not taken
  auto operator<=>(const FileFingerprint&) const = default;
};

// The same bytes as far as the fingerprints tell: where both have a sum, the sums decide.
[[nodiscard]] bool looks_alike(const FileFingerprint& a, const FileFingerprint& b);

struct Signature {
  // Files of one side of a job: more than so many are remembered as one.
  static constexpr std::size_t kMostFiles = 64;

  std::vector<FileFingerprint> inputs;   // before its start, in the order of the job's recipe
  std::vector<FileFingerprint> outputs;  // at its end
  // Hash of each value of user data that it takes, when it was claimed; 0: nothing.
  std::vector<std::uint64_t> user_data;

  [[nodiscard]] bool is_empty() const {
    return inputs.empty() && outputs.empty() && user_data.empty();
  }
  bool operator==(const Signature&) const = default;
};

// As they are kept: themselves, or of more than kMostFiles one fingerprint that stands for all of
// them.
[[nodiscard]] std::vector<FileFingerprint> folded(std::vector<FileFingerprint> fingerprints);

// Folds both sides.
[[nodiscard]] std::string encode(Signature signature);
[[nodiscard]] std::optional<Signature> decode_signature(std::string_view bytes);

// What the newest attempt of the job that is over left; nullopt: nothing. Error corrupt: it cannot
// be read.
Result<std::optional<Signature>> read_signature(const Reader& reader, JobId id);

}  // namespace torc::claim
