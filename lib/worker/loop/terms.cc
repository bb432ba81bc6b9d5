#include "lib/worker/loop/terms.h"

#include <algorithm>

#include "lib/workflow/plan/plan_actions.h"

namespace torc::worker {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

Terms terms_of(const Registration& registration, const WorkerSetup& setup,
               const exec::NodeLedger* ledger, const Clock& clock, BootTime begun) {
  const spec::RunSettings& run = registration.settings.run;
  Terms t;
  t.self = registration.self;
  t.machine = {setup.machine.cpus, setup.machine.memory, setup.machine.gpus, {}};
  if (ledger != nullptr)
    t.machine.ledger_gpus = static_cast<std::uint32_t>(ledger->member().gpus.size());
  t.machine.gpu_kinds = setup.machine.gpu_kinds;
  t.machine.gpu_groups = setup.machine.gpu_groups;
  t.machine.pieces = setup.machine.pieces;
  t.machine.sums = setup.machine.sums;
  t.max_parallel_jobs = setup.max_parallel_jobs;
  t.in_allocation = !setup.allocation.empty();
  t.most_nodes = setup.most_nodes;
  t.scheduler = setup.scheduler;
  t.labels = setup.labels;
  t.also_unlabelled = setup.also_unlabelled;
  t.any_scheduler = setup.any_scheduler;
  t.only = setup.only;
  t.begun = begun;
  if (setup.ends_at)
    t.ends_at = clock.boot_now() + std::max<nanoseconds>(*setup.ends_at - clock.wall_now(), 0ns);
  t.idle_timeout = setup.idle_timeout;
  t.workers_idle = setup.workers_idle;
  t.leaves_alone = setup.node_is_shared || setup.allocation.empty();
  t.grace = setup.grace;
  t.reserve = setup.reserve;
  t.lease_ttl = setup.lease_ttl;
  t.stays = setup.stays;
  t.starts_one_by_one = setup.starts_one_by_one || setup.numbers_slots;
  t.sigterm_lead = run.execution.sigterm_lead;
  t.signal_is_warning = !run.execution.srun_termination_signal.empty();
  t.wait_for_new_jobs = run.wait_for_new_jobs;
  t.timeout_exit_code = run.execution.timeout_exit_code;
  t.oom_exit_code = run.execution.oom_exit_code;
  t.use_pending_failed = run.use_pending_failed;
  for (const claim::Action& action : registration.actions) {
    const auto commands = workflow::decode_commands(action.recipe);
    t.actions.push_back({action.trigger, commands ? commands->size() : 0});
  }
  return t;
}

Result<exec::CpuPool> cpus_to_bind(const WorkerSetup& setup, const exec::NodeLedger* ledger) {
  TORC_ASSIGN(std::vector<exec::CpuPlace> cpus, exec::find_cpus());
  if (ledger == nullptr && cpus.size() > setup.machine.cpus) {
    const auto mine = exec::CpuPool(cpus).take(setup.machine.cpus).value_or(exec::CpuList{});
    std::erase_if(cpus, [&](const exec::CpuPlace& place) {
      return std::find(mine.begin(), mine.end(), place.cpu) == mine.end();
    });
  }
  return exec::CpuPool(cpus);
}

}  // namespace torc::worker
