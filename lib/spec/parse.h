// From YAML text to a checked Workflow, or to everything that is wrong with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/diagnostic.h"
#include "lib/spec/workflow.h"

namespace torc::spec {

// Reads a file that the spec names (parameter lists after '@', tables); relative to the spec's
// directory.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

struct Parsed {
  std::optional<Workflow> workflow;     // absent when there was any error
  std::vector<Diagnostic> diagnostics;  // in file order; warnings and notes also beside a workflow
};

// `file` is the name that diagnostics show. Never throws, whatever the bytes.
[[nodiscard]] Parsed parse(std::string_view text, const std::string& file, const ReadFile& read);

}  // namespace torc::spec
