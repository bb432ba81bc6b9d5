// How a job of a new version of the workflow file differs from what it was, as far as its result
// depends on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/spec/language/rerun_triggers.h"
#include "lib/spec/sweep/recipe.h"

namespace torc::workflow {

struct Redefinition {
  spec::RerunTrigger trigger{};
  std::string what;  // a sentence without its full stop
};
// One for each thing that differs; none: a result of the one is a result of the other. What runs by
// other resources, with its output kept elsewhere or retried otherwise is the same, and so are
// files in another order.
[[nodiscard]] std::vector<Redefinition> redefinitions(const spec::RenderedJob& before,
                                                      const spec::RenderedJob& now);
// Those that count; if there are any.
[[nodiscard]] std::vector<std::string> sentences(const std::vector<Redefinition>& all,
                                                 const spec::RerunTriggers& triggers);

// Without what makes no difference: "a/../b" and "./b" are "b".
[[nodiscard]] std::string plain_path(const std::string& path);
// The same of several, sorted: in what order a job names its files does not count.
[[nodiscard]] std::vector<std::string> file_set(const std::vector<std::string>& paths);

// Hash of all that redefinitions() looks at. 0: of a job that makes user data, which are not kept.
// `env`: of all jobs of the workflow.
[[nodiscard]] std::uint64_t definition_hash(const spec::RenderedJob& job,
                                            const spec::Environment& env);

}  // namespace torc::workflow
