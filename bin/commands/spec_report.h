// What is wrong with a spec, for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "bin/app.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// To stderr, with a closing line that counts errors and says what came of it.
void print_diagnostics(const App& app, const workflow::LoadedSpec& loaded,
                       std::string_view outcome = {});

// A spec with errors, as text or as JSON on stdout: how the command ends.
Exit refuse_spec(const App& app, const workflow::LoadedSpec& loaded, bool json,
                 std::string_view outcome = {});

// {"file", "valid", "runs" (false: this version cannot run all of it), "jobs", "yaml",
// "diagnostics":
// [{"severity", "file", "line", "column", "message", "remedy", "text"}], "slurm": null (not asked)}
[[nodiscard]] nlohmann::ordered_json diagnostics_json(const workflow::LoadedSpec& loaded);

}  // namespace torc::cli
