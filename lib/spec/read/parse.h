// From YAML text to a checked Workflow, or to everything that is wrong with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/language/workflow.h"
#include "lib/spec/read/read_file.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

struct Parsed {
  std::optional<Workflow> workflow;     // absent when there was any error
  std::vector<Diagnostic> diagnostics;  // in file order; warnings and notes also beside a workflow
};

// `file` is the name that diagnostics show. Never throws, whatever the bytes.
[[nodiscard]] Parsed parse(std::string_view text, const std::string& file, const ReadFile& read);

class ExistingWorkflow;

// The same for who goes on with what could be read, also when there were errors; the report has
// them. `existing`: null, or the workflow that the text is an addition to. nullopt: nothing could
// be read. `source` is without a byte order mark.
[[nodiscard]] std::optional<Workflow> read_draft(const Source& source, Report& report,
                                                 const ReadFile& read,
                                                 ExistingWorkflow* existing = nullptr);

}  // namespace torc::spec
