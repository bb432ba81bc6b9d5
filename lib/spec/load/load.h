// From text to jobs in one go, with everything that is wrong on the way: what the reading
// finds does not hide what expand() would find.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/expand/expand.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/read/parse.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

struct Loaded {
  std::optional<Workflow> workflow;  // both absent when there was any error
  std::optional<Expansion> expansion;
  std::vector<Diagnostic> diagnostics;  // in file order
  std::string yaml;                     // of a script without errors: the same workflow in YAML
};

// A check by others of what could be read, which may be less than a whole workflow.
using ExtraCheck = std::function<void(const Workflow& draft, Report& report)>;

// Never throws, whatever the bytes. `mode`: of jobs for which the file says none, in place of the
// one that follows from how many there are.
[[nodiscard]] Loaded load(std::string_view text, const std::string& file, const ReadFile& read,
                          const ExtraCheck& extra = {}, std::optional<StdioMode> mode = {});

// The same for an addition to a workflow in a store: `jobs`, and what these need of their own
// (files, user data, resource requirements, parameters, variables). Its expansion has the jobs that
// are new.
[[nodiscard]] Loaded load_addition(std::string_view text, const std::string& file,
                                   const ReadFile& read, const Surroundings& around);

}  // namespace torc::spec
