// Jobs of a workflow that would wait for jobs that are added, had they stood in its file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/spec/language/workflow.h"

namespace torc::workflow {

struct LeftBehind {
  std::string entry;       // its name as written
  std::string expression;  // of its depends_on_regexes
  std::string found;       // the first of the added jobs that it finds
};

// `added`: names of jobs. The first entry that has an expression for one of them; nullopt: none.
[[nodiscard]] std::optional<LeftBehind> left_behind(const spec::Workflow& workflow,
                                                    const std::vector<std::string>& added);

}  // namespace torc::workflow
