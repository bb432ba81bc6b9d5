// How a job of a new version of the workflow file differs from what it was, as far as its result
// depends on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/spec/sweep/recipe.h"

namespace torc::workflow {

// One sentence without its full stop for each thing that differs; none: a result of the one is a
// result of the other. What runs by other resources, with its output kept elsewhere or retried
// otherwise is the same.
[[nodiscard]] std::vector<std::string> redefinitions(const spec::RenderedJob& before,
                                                     const spec::RenderedJob& now);

// Hash of all that redefinitions() looks at. 0: of a job that makes user data, which are not kept.
// `env`: of all jobs of the workflow.
[[nodiscard]] std::uint64_t definition_hash(const spec::RenderedJob& job,
                                            const spec::Environment& env);

}  // namespace torc::workflow
