#include "bin/commands/run/worker_flags.h"

#include <cstdint>

#include "lib/base/quantities.h"

namespace torc::cli {

void add_worker_flags(Command& c, worker::WorkerOptions& o) {
  constexpr std::uint64_t kMostCpus = 1 << 20;
  c.option("--num-cpus", o.cpus, "CPUs to use instead of those granted")
      .value("N")
      .between(std::uint64_t{1}, kMostCpus);
  c.option("--memory", o.memory, parse_bytes, "memory to use, e.g. 16g").value("SIZE");
  c.option("--num-gpus", o.gpus, "GPUs to use, at most those found").value("N");
  c.option("--max-parallel-jobs", o.max_parallel_jobs,
           "run at most N jobs at a time and ignore what they need")
      .value("N")
      .at_least_one();
  c.flag("--overcommit", o.overcommit,
         "take no notice of other workers on this node, which take none of this one");
  c.option("--scheduler", o.scheduler, "serve jobs bound to this scheduler (and unbound ones)")
      .value("NAME");
  c.option("--label", o.label, "serve jobs with this label (and those without)").value("NAME");
  c.option("--time-limit", o.time_limit, parse_duration, "end all jobs within this time, e.g. 4h")
      .value("TIME");
  c.option("--idle-timeout", o.idle_timeout, parse_duration,
           "leave after this time without a job (default: stay until the workflow is done)")
      .value("TIME");
  c.option(
       "--grace", o.grace, parse_duration,
       "after SIGTERM all jobs end within this time (default 30s; under Slurm KillWait less 5s)")
      .value("TIME");
  c.option("--lease-ttl", o.lease_ttl, parse_duration,
           "silence after which others take this worker's jobs over (default 5m, at least 10s)")
      .value("TIME");
  c.option("--output-dir", o.output_dir, "where job output goes (default: STORE/logs/jobs)")
      .value("DIR");
  c.flag("-q,--quiet", o.quiet, "print nothing but errors");
}

}  // namespace torc::cli
