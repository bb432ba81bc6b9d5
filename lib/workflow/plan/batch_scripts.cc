#include "lib/workflow/plan/batch_scripts.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/launcher/worker_script.h"
#include "lib/slurm/script.h"
#include "lib/workflow/plan/kept_launcher.h"
#include "lib/workflow/plan/plan_schedulers.h"
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

namespace {

Result<BatchScripts> render_for_launcher(const Context& context, const LoadedSpec& loaded,
                                         const Path& store) {
  const spec::Workflow& workflow = *loaded.workflow;
  BatchScripts scripts;
  scripts.definition = loaded.launcher;
  TORC_ASSIGN(const auto definition, parse_definition(loaded.launcher, workflow.launcher));
  const auto names = script_names(workflow);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const spec::SlurmScheduler& scheduler = workflow.slurm_schedulers[i];
    launcher::WorkerScript script{store, context.program, scheduler.options, scheduler.name};
    if (const auto limit = parse_walltime(scheduler.walltime);
        !scheduler.walltime.empty() && limit.ok())
      script.walltime = *limit;
    TORC_ASSIGN(std::string text, launcher::render_worker_script(definition, script));
    scripts.all.push_back({scheduler.name, scheduler.place,
                           Path(kLauncherFolder) / (names[i] + ".sh"), std::move(text)});
  }
  return scripts;
}

}  // namespace

Result<BatchScripts> render_scripts(const Context& context, const LoadedSpec& loaded,
                                    const Path& store, const std::string& script_template) {
  const spec::Workflow& workflow = *loaded.workflow;
  BatchScripts scripts;
  if (workflow.slurm_schedulers.empty()) return scripts;
  if (!workflow.launcher.empty()) {
    if (!script_template.empty())
      return invalid(fmt::format("--template is for batch scripts of Slurm, and the launcher is {}",
                                 torc::quoted(workflow.launcher)),
                     "leave it out");
    return render_for_launcher(context, loaded, store);
  }
  TORC_ASSIGN(FoundTemplate from, find_template(context, script_template));
  scripts.made_of = from.file;
  const auto names = script_names(workflow);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const spec::SlurmScheduler& scheduler = workflow.slurm_schedulers[i];
    const std::string& name = names[i];
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
