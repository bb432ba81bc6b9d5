#include "lib/exec/run/run.h"

#include <utility>

namespace torc::exec {
namespace {

std::optional<BootTime> deadline_of(std::chrono::nanoseconds time_limit, BootTime now) {
  if (time_limit.count() <= 0) return std::nullopt;
  // A limit of centuries is none; the sum would overflow.
  if (time_limit > BootTime::max() - now) return std::nullopt;
  return now + time_limit;
}

}  // namespace

Run run_of(const Leader& leader, const RunTerms& terms, std::unique_ptr<JobGroup> limits,
           BootTime now) {
  Run run;
  run.group = leader.pid;
  run.started_at = leader.at;
  run.termination_signal = terms.termination_signal;
  run.lead = terms.termination_lead;
  run.deadline = deadline_of(terms.time_limit, leader.since);
  run.sample_every = terms.sample_every;
  run.limits = std::move(limits);
  run.memory = {terms.memory_limit, {}, {}, {}, now, now, now + kFirstLook};
  return run;
}

}  // namespace torc::exec
