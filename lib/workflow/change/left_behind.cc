#include "lib/workflow/change/left_behind.h"

#include <re2/re2.h>

namespace torc::workflow {

std::optional<LeftBehind> left_behind(const spec::Workflow& workflow,
                                      const std::vector<std::string>& added) {
  for (const spec::JobEntry& entry : workflow.jobs) {
    for (const std::string& text : entry.depends_on_regexes) {
      // With parameters it is another expression for each job: of these nothing is said.
      if (text.find('{') != std::string::npos) continue;
      const re2::RE2 expression(text, re2::RE2::Quiet);
      if (!expression.ok()) continue;
      for (const std::string& name : added) {
        if (re2::RE2::PartialMatch(name, expression)) return LeftBehind{entry.name, text, name};
      }
    }
  }
  return {};
}

}  // namespace torc::workflow
