// Texts of scripts/sbatch-templates/, compiled into the program when it is configured: torc needs
// no files beside it. `{{name}}` is a placeholder.
#pragma once

#include <string_view>

namespace torc::slurm {

[[nodiscard]] std::string_view worker_template();

}  // namespace torc::slurm
