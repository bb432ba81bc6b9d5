#include "lib/workflow/plan/plan_schedulers.h"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "lib/slurm/asked.h"
#include "lib/workflow/plan/batch_scripts.h"
#include "lib/workflow/plan/kept_launcher.h"

namespace torc::workflow {
namespace {

// The number of GPUs of each node that "gpu:a100:4" asks for; 0: none, or not understood.
std::uint32_t gpus_in(std::string_view gres) {
  constexpr std::string_view kGpu = "gpu";
  if (!gres.starts_with(kGpu) || gres.find(',') != std::string_view::npos) return 0;
  const auto colon = gres.rfind(':');
  if (colon == std::string_view::npos) return 1;
  const std::string_view last = gres.substr(colon + 1);
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), count);
  if (error != std::errc()) return 1;  // "gpu:a100"
  return end == last.data() + last.size() ? count : 0;
}

}  // namespace

std::vector<std::string> script_names(const spec::Workflow& workflow) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const spec::SlurmScheduler& scheduler : workflow.slurm_schedulers) {
    std::string name = file_name_of(scheduler.name);
    while (!taken.insert(name).second) name += '_';  // "a b" and "a_b"
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<claim::Scheduler> plan_schedulers(const spec::Workflow& workflow) {
  std::vector<claim::Scheduler> all;
  const auto names = script_names(workflow);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const spec::SlurmScheduler& from = workflow.slurm_schedulers[i];
    claim::Scheduler scheduler;
    scheduler.name = from.name;
    const bool is_slurms = workflow.launcher.empty();
    scheduler.script = is_slurms ? "slurm/" + names[i] + ".sbatch"
                                 : fmt::format("{}/{}.sh", kLauncherFolder, names[i]);
    scheduler.job_name = file_name_of(workflow.name) + "-" + names[i];
    scheduler.serialize = from.serialize_allocations;
    scheduler.nodes = from.nodes;
    const slurm::Asked asked = slurm::asked_by(from, workflow.slurm_defaults);
    scheduler.walltime = asked.walltime.value_or(std::chrono::seconds{0});
    // What is not said is learned from its first worker.
    if (is_slurms && asked.cpus && !asked.cpus_by_default && asked.memory) {
      scheduler.node.cpus = *asked.cpus;
      scheduler.node.memory = *asked.memory;
      scheduler.node.gpus = gpus_in(from.gres);
    }
    scheduler.terms = from.allocate.value_or(AllocateTerms{});
    scheduler.is_managed = from.allocate.has_value();
    scheduler.from_login = from.submit_from_login;
    all.push_back(std::move(scheduler));
  }
  return all;
}

}  // namespace torc::workflow
