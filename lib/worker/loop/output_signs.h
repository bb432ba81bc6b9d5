// What the output of a job that has just failed says of the reason: by the patterns of
// `torc logs --diagnose`, read where it was written.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/claim/rules/job.h"
#include "lib/exec/output/output_disk.h"
#include "lib/exec/run/process_host.h"
#include "lib/report/diagnosis/findings.h"
#include "lib/worker/jobs/load.h"

namespace torc::worker {

class OutputSigns {
 public:
  // Of each stream no more is read at either end: the worker has others to see to.
  static constexpr std::uint64_t kMostRead = 1 << 20;

  // unknown: of an end that says enough by itself or is no failure; and where nothing can be read.
  // Of a job of several nodes that of the head alone counts. `load`: with its output still open.
  [[nodiscard]] claim::Trouble said_by(const exec::Ended& how, const Load& load,
                                       const exec::OutputRoot& root);

 private:
  std::unique_ptr<report::LogScan> scan_;  // made for the first failure
};

}  // namespace torc::worker
