// From a checked Workflow to its jobs and their dependencies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/expand/expansion.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

struct Expanded {
  std::optional<Expansion> expansion;   // absent when there was any error
  std::vector<Diagnostic> diagnostics;  // in file order; warnings also beside an expansion
};

// What the texts of the spec mean:
// - `{i}` and `{i:03d}` stand for the parameters of the entry that they are in (placeholder.h says
//   what a placeholder is, format.h what a format does); what names no parameter is text.
// - A name in depends_on, input_files or output_files is the expanded name of one job or file.
//   When, filled in, it still holds placeholders of another entry, it stands for all of their
//   values: `work_{g}_{i}` in an entry with parameter g alone means all i of that g, in an entry
//   without parameters all of `work_{g}_{i}`.
// - An expression (depends_on_regexes, input_file_regexes, …) has RE2's syntax and means every name
//   in which it matches somewhere; anchor it with ^ and $. Values of parameters in it mean
//   themselves. It never means the job itself.
// - A job that outputs a file precedes those that input it. A file that no job outputs is there
//   already. `${files.input.NAME}` and `${files.output.NAME}` in a command become the file's path
//   and count as input and output. A job may input what it outputs. `${user_data.input.NAME}` and
//   `${user_data.output.NAME}` become the name, as `torc data` takes it, and count likewise.
//
// `text` is the spec's source, for the lines that diagnostics show.
[[nodiscard]] Expanded expand(const Workflow& workflow, std::string_view text,
                              const std::string& file);

// The same for what could be read of a workflow with errors: entries that are not sound have no
// jobs, and what may refer to them is not reported. Precondition: Report::end_pass() was called.
// The result means nothing when the report has an error. `mode`: as load() has it.
[[nodiscard]] Expansion expand(const Workflow& draft, Report& report,
                               std::optional<StdioMode> mode = {});

class ExistingWorkflow;

// What an addition is made to.
struct Surroundings {
  ExistingWorkflow& existing;
  std::uint64_t after = 0;         // a job that all added ones wait for; 0: none
  ResourceRequirements resources;  // of jobs that name none
};

// The same for an addition to a workflow in a store. Jobs are numbered on from those there are;
// names that are nowhere in the addition are looked for in the workflow; jobs that it has already
// are left out, and reported when anything about them differs.
[[nodiscard]] Expansion expand_addition(const Workflow& draft, const Surroundings& around,
                                        Report& report);

}  // namespace torc::spec
