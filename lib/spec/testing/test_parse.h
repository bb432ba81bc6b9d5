// For tests: what the reading of a file alone finds, before its jobs are worked out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/text/utf8.h"
#include "lib/spec/read/parse.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {

struct Parsed {
  std::optional<Workflow> workflow;     // absent when there was any error
  std::vector<Diagnostic> diagnostics;  // in file order; warnings and notes also beside a workflow
};

inline Parsed parse(std::string_view text, const std::string& file, const ReadFile& read) {
  const Source source(without_bom(text), file);
  Report report(source);
  std::optional<Workflow> workflow = read_draft(source, report, read);
  Parsed parsed;
  if (!report.has_error()) parsed.workflow = std::move(workflow);
  parsed.diagnostics = std::move(report).sorted();
  return parsed;
}

}  // namespace torc::spec
