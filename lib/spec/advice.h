// What is allowed and probably not meant: mistakes that people make with resources, launchers,
// schedulers and labels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/expand.h"

namespace torc::spec {

// Warnings in file order, beside those that load() gave. `text` and `file` as load() had them.
[[nodiscard]] std::vector<Diagnostic> advice(const Workflow& workflow, const Expansion& expansion,
                                             std::string_view text, const std::string& file);

// The word of a command that is run: behind assignments and `exec`; empty: none. A view into it.
[[nodiscard]] std::string_view program_of(std::string_view command);
// srun, mpirun or mpiexec, which start tasks on several nodes; by its last path element.
[[nodiscard]] bool is_launcher(std::string_view program);

}  // namespace torc::spec
