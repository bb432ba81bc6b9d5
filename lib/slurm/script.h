// Batch scripts from a template: the one of scripts/sbatch-templates/, or one of the site or the
// user. Every value that came from a user is validated and quoted.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/spec/language/workflow.h"

namespace torc::slurm {

// The text of a batch script with {{name}} where values go.
struct ScriptTemplate {
  std::string name;  // for messages: its file
  std::string text;
};
// The one that is part of the program.
[[nodiscard]] ScriptTemplate built_in_template();

struct ScriptContext {
  std::string workflow;         // its name
  std::filesystem::path store;  // absolute
  std::filesystem::path torc;   // absolute path of the program
  std::string job_name;  // of the Slurm job; allocations with one name and user follow each other
                         // when the scheduler serializes its allocations
  ScriptTemplate from = built_in_template();
  bool collects = false;  // what the accounting tells of steps is kept when the workers have left
  std::string mpi = {};   // of the srun that starts the workers, as its --mpi takes it; empty: none
};

// The text of <store>/slurm/<scheduler>.sbatch: the template with its placeholders filled.
//
// An option is taken from `scheduler.extra`, else from the scheduler's keys, else from `defaults`
// (slurm_defaults), else from torc (--ntasks-per-node=1, --no-kill). Options that torc manages
// itself are refused in `extra` and `defaults`. The script ends with "$TORC_WORKER_FLAGS", split
// into words: flags for the workers of one submission.
//
// Errors: invalid, naming the key, its value and what to write instead; nothing is silently
// dropped.
Result<std::string> render_script(const ScriptContext& context,
                                  const spec::SlurmScheduler& scheduler,
                                  const std::vector<std::pair<std::string, std::string>>& defaults);

// The text with every {{name}} replaced once; values are not looked at again. A {{ that nothing
// closes on its line stays.
// Errors: invalid, with file and line of a placeholder without a value, and all that have one.
Result<std::string> fill_template(
    const ScriptTemplate& from,
    const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace torc::slurm
