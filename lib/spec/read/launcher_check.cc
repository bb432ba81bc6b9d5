// Keys of schedulers that belong to another batch system than the workflow's: nothing is dropped
// without a word.
#include <fmt/format.h>

#include "lib/base/text/quote.h"
#include "lib/spec/read/readers.h"

namespace torc::spec {
namespace {

void refuse(const Session& session, Place place, std::string_view key, const Workflow& workflow,
            std::string remedy) {
  session.report.error(place,
                       fmt::format("{} is for Slurm, and the launcher is {}", torc::quoted(key),
                                   torc::quoted(workflow.launcher)),
                       std::move(remedy));
}

void check_scheduler(const Session& session, const Workflow& workflow, const SlurmScheduler& s) {
  for (const char* key :
       {"account", "partition", "qos", "mem", "gres", "tmp", "ntasks_per_node", "extra"}) {
    if (!s.places.contains(key)) continue;
    refuse(session, s.place_of(key), key, workflow,
           "write it into 'options', as that system takes it: options: -pe smp 2 -l mem_free=8G");
  }
  if (s.serialize_allocations) {
    refuse(session, s.place_of("serialize_allocations"), "serialize_allocations", workflow,
           "remove it; allocate: {max: 1} lets one allocation be there at a time");
  }
  if (s.nodes > 1) {
    session.report.error(s.place_of("nodes"),
                         fmt::format("an allocation of {} has one node, and 'nodes' is {}",
                                     torc::quoted(workflow.launcher), s.nodes),
                         "remove it: several allocations are asked for as jobs need them");
  }
}

}  // namespace

void check_launcher_keys(const Session& session, const Workflow& workflow) {
  if (workflow.launcher.empty()) {
    for (const SlurmScheduler& s : workflow.slurm_schedulers) {
      if (s.options.empty()) continue;
      session.report.error(s.place_of("options"), "'options' is for other launchers than slurm",
                           "write them into 'extra', as sbatch takes them; or name the launcher: "
                           "launcher: gridengine");
    }
    return;
  }
  for (const SlurmScheduler& s : workflow.slurm_schedulers) check_scheduler(session, workflow, s);
  for (const auto& [option, place] : workflow.slurm_default_places)
    refuse(session, place, "slurm_defaults", workflow, "write it into 'options' of a scheduler");
  if (workflow.execution.mode == ExecutionMode::slurm) {
    refuse(session, workflow.launcher_place, "mode: slurm", workflow,
           "remove 'mode' from execution_config: jobs are started by the workers");
  }
}

}  // namespace torc::spec
