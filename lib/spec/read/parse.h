// From the text of a file to a checked Workflow, and everything that is wrong with it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

// Reads a file that the spec names (parameter lists after '@', tables); relative to the spec's
// directory.
struct ReadFile : std::function<Result<std::string>(const std::string& path)> {
  using std::function<Result<std::string>(const std::string& path)>::function;
  // Files whose paths match, relative to where jobs run, in any order. Null: there are none to be
  // seen.
  std::function<Result<std::vector<std::string>>(const std::string& pattern)> find = nullptr;
  // The values of all parameters of a file, a long text as one for each kBytesOfOne; an entry has
  // its own copy of those that it takes from the workflow. And the bytes of the files that hold
  // values.
  std::uint64_t most_values = 40'000'000;
  std::uint64_t most_bytes = std::uint64_t{2} << 30U;
};

class ExistingWorkflow;

// What could be read, also when there were errors; the report has them. `existing`: null, or the
// workflow that the text is an addition to. nullopt: nothing could be read. `source` is without a
// byte order mark; the ending of its file's name says which form it has, or it is a script
// (lib/spec/script). Never throws, whatever the bytes.
[[nodiscard]] std::optional<Workflow> read_draft(const Source& source, Report& report,
                                                 const ReadFile& read,
                                                 ExistingWorkflow* existing = nullptr);

}  // namespace torc::spec
