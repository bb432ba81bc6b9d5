// What is found of a failure: what torc saw of the end, and what lines of the output say; and what
// that means for another attempt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/exec/output/packed_format.h"
#include "lib/report/diagnosis/log_scan.h"

namespace torc::report {

// What the end itself says, without a look at the output. nullopt: nothing but an exit code that
// could mean anything.
[[nodiscard]] std::optional<Cause> cause_of_end(const claim::Outcome& outcome);
// Whether the exit code is one by which shells tell how their command ended: it says less than the
// output does.
[[nodiscard]] bool is_shells_word(const claim::Outcome& outcome);

struct Finding {
  Cause cause{};
  bool by_torc = false;                     // seen by torc; else a line says so
  std::string line = {};                    // of the output
  exec::Stream stream = exec::Stream::out;  // of the line
};
// All that was found of one attempt: the first says most. `end`: null while it runs.
[[nodiscard]] std::vector<Finding> weighed(std::vector<Finding> found, const claim::Outcome* end);

// What helps against it.
[[nodiscard]] claim::Trouble trouble_of(Cause cause);
// The first that says so; what torc saw and could mean anything says nothing.
[[nodiscard]] claim::Trouble said_by(const std::vector<Finding>& findings);

}  // namespace torc::report
