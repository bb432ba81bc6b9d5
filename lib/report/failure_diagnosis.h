// Why jobs failed: what torc saw of their ends, and what patterns say of their output, of the
// newest attempt. Reads only.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/report/diagnosis/findings.h"
#include "lib/report/job_output.h"

namespace torc::report {

struct DiagnosedJob {
  JobNow now;
  std::vector<Finding> findings;  // the first says most; none: nothing is known
  bool in_part = false;           // its output is so large that the middle was not read
  std::string unread = {};        // why its output could not be read; empty: it could
};

inline constexpr std::uint64_t kMostScanned = 4 << 20;   // bytes at each end of a stream
inline constexpr std::uint64_t kMostDiagnosed = 10'000;  // jobs whose output is read
inline constexpr std::uint32_t kMostRanks = 16;          // nodes of one job

// Looks at one job after the other; each output is read once.
class Diagnostician {
 public:
  // `reads`: output, too; else only what torc saw.
  [[nodiscard]] DiagnosedJob look_at(JobNow now, bool reads = true);

 private:
  void scan(DiagnosedJob& job, const AttemptOutput& output, exec::Stream stream);

  LogScan scan_;
  OutputReader reader_;
};

// Those that went wrong, in the order of their numbers; and those of `jobs`, whatever their state.
// Errors: corrupt (of one the recipe cannot be read: it may have failed as well).
Result<std::vector<JobNow>> troubled_jobs(const claim::Reader& reader, const Path& store);
Result<std::vector<JobNow>> jobs_now(const claim::Reader& reader, const Path& store,
                                     const std::vector<claim::JobRange>& jobs);

struct Diagnosis {
  std::vector<DiagnosedJob> jobs;
  std::uint64_t not_read = 0;  // of them, beyond kMostDiagnosed
};
[[nodiscard]] Diagnosis diagnose(std::vector<JobNow> jobs);

// By cause: how many jobs, which, a line, the remedy.
[[nodiscard]] std::string diagnosis_text(const Diagnosis& diagnosis);
[[nodiscard]] nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace torc::report
