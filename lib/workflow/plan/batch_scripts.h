// The batch scripts of a workflow: one for each of its slurm_schedulers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/path.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

struct BatchScript {
  std::string scheduler;  // as the workflow calls it
  spec::Place place;      // of the scheduler in the workflow file
  Path file;              // slurm/NAME.sbatch or launcher/NAME.sh, in the store
  std::string text;
};

struct BatchScripts {
  std::vector<BatchScript> all;
  // For these batch scripts sbatch is not asked: their launcher is another one, and this tells of
  // it, see kept_launcher.h. Empty: they are Slurm's.
  std::string definition;
  Path made_of;  // the file of their template; empty: the built-in one, or there are none
};

// A workflow may be called anything; its directory, scripts and batch jobs keep to what every tool
// takes.
[[nodiscard]] std::string file_name_of(std::string_view name);

// The directory a spec's store gets when none is named.
[[nodiscard]] Path default_store(const Context& context, const LoadedSpec& loaded);

// The scripts for a store at `store`; nothing is written. `script_template`: as find_template()
// takes it; of Slurm's alone. Precondition: loaded.workflow. Errors: those of find_template() and
// of slurm::render_script(), or of launcher::render_worker_script().
Result<BatchScripts> render_scripts(const Context& context, const LoadedSpec& loaded,
                                    const Path& store, const std::string& script_template);

}  // namespace torc::workflow
