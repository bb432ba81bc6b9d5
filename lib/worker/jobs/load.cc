#include "lib/worker/jobs/load.h"

#include <utility>

#include "lib/worker/jobs/gang_environment.h"

namespace torc::worker {

ClaimedJob claimed(PreparedJob job) {
  ClaimedJob out;
  out.grant = job.grant;
  out.need = job.need;
  const bool recovers = job.handler != nullptr && job.retries.recoveries < job.handler->recoveries;
  out.handler = std::move(job.handler);
  out.retries = std::move(job.retries);
  out.memory_ceiling = job.memory_ceiling;
  out.has_alternatives = job.has_alternatives;
  out.checkpoint_exit_code = job.checkpoint_exit_code;
  out.crash_limit = job.crash_limit;
  out.has_inputs = !job.declared.inputs.empty();
  out.must_make_files = !job.declared.outputs.empty() && !job.declared.may_lack_outputs;
  if (job.need.nodes > 1 && job.launch.on == spec::LaunchOn::all) {
    out.on_each_node = true;
    out.ends_with_first_failure = job.launch.end == spec::LaunchEnd::first_failure;
    out.port = free_port();
  }
  out.load = std::make_shared<Load>();
  out.load->may_be_recovered = recovers;
  out.load->job = std::move(job);
  return out;
}

}  // namespace torc::worker
