// Batch scripts from scripts/sbatch-templates/. Every value that came from a user is validated and quoted.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/workflow.h"

namespace torc::slurm {

struct ScriptContext {
  std::string workflow;             // its name
  std::filesystem::path store;      // absolute
  std::filesystem::path torc;       // absolute path of the program
  std::string job_name;             // of the Slurm job
};

// The text of <store>/slurm/<scheduler>.sbatch. `body` is the template's text (see templates.h: compiled in).
Result<std::string> render_script(const ScriptContext& context, const spec::SlurmScheduler& scheduler,
                                  const std::vector<std::pair<std::string, std::string>>& defaults);

// 'text' as one word of a POSIX shell.
[[nodiscard]] std::string shell_quote(std::string_view text);

}  // namespace torc::slurm
