#include "lib/workflow/plan/batch_scripts.h"

#include <cctype>
#include <set>
#include <utility>

#include "lib/slurm/script.h"
#include "lib/workflow/plan/script_template.h"

namespace torc::workflow {

std::string file_name_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    out.push_back(plain ? c : '_');
  }
  if (out.empty() || out.front() == '.' || out.front() == '-') out.insert(0, "w");
  return out;
}

Path default_store(const Context& context, const LoadedSpec& loaded) {
  return context.directory / (file_name_of(loaded.workflow->name) + ".torc");
}

Result<BatchScripts> render_scripts(const Context& context, const LoadedSpec& loaded,
                                    const Path& store, const std::string& script_template) {
  const spec::Workflow& workflow = *loaded.workflow;
  BatchScripts scripts;
  if (workflow.slurm_schedulers.empty()) return scripts;
  TORC_ASSIGN(FoundTemplate from, find_template(context, script_template));
  scripts.made_of = from.file;
  std::set<std::string> taken;
  for (const spec::SlurmScheduler& scheduler : workflow.slurm_schedulers) {
    std::string name = file_name_of(scheduler.name);
    while (!taken.insert(name).second) name += '_';  // "a b" and "a_b"
    const slurm::ScriptContext script{workflow.name,
                                      store,
                                      context.program,
                                      file_name_of(workflow.name) + "-" + name,
                                      from.text,
                                      workflow.execution.mode == spec::ExecutionMode::slurm,
                                      workflow.execution.srun_mpi};
    TORC_ASSIGN(std::string text, slurm::render_script(script, scheduler, workflow.slurm_defaults));
    scripts.all.push_back(
        {scheduler.name, scheduler.place, Path("slurm") / (name + ".sbatch"), std::move(text)});
  }
  return scripts;
}

}  // namespace torc::workflow
