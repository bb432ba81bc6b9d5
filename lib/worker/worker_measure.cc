// The CPUs that jobs are bound to, and the samples that are kept of them while they run.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/worker/worker_session.h"

namespace torc::worker {
namespace {

exec::CpuSet set_of(const exec::CpuList& cpus) {
  exec::CpuSet out;
  for (const std::uint32_t cpu : cpus) out.add(cpu);
  return out;
}

}  // namespace

// Of the CPUs that this process may run on: those that the node's ledger gives this worker, or,
// without one, as many as it may use.
void Session::bind_jobs() {
  if (!preparer_->settings().run.execution.enable_cpu_bind || setup_.max_parallel_jobs) return;
  auto cpus = exec::find_cpus();
  if (!cpus) {
    notice(fmt::format("jobs are not bound to CPUs: {}", cpus.error().what));
    return;
  }
  if (!share_.names_cpus() && cpus->size() > setup_.machine.cpus) {
    const auto mine = exec::CpuPool(*cpus).take(setup_.machine.cpus).value_or(exec::CpuList{});
    std::erase_if(*cpus, [&](const exec::CpuPlace& place) {
      return std::find(mine.begin(), mine.end(), place.cpu) == mine.end();
    });
  }
  cpu_pool_.emplace(*std::move(cpus));
}

// None when this worker was told to use more CPUs than there are, and all are taken.
exec::CpuList Session::take_cpus(const PreparedJob& job) {
  if (!cpu_pool_) return {};
  if (!share_.names_cpus()) return cpu_pool_->take(job.need.cpus).value_or(exec::CpuList{});
  const exec::CpuSet mine = share_.unpinned_cpus();
  const auto taken =
      cpu_pool_->take(job.need.cpus, [&](std::uint32_t cpu) { return mine.has(cpu); });
  if (!taken) return {};
  share_.pin(set_of(*taken));
  return *taken;
}

void Session::release(const claim::Requirement& need, const std::vector<std::string>& gpus,
                      const exec::CpuList& cpus) {
  if (cpu_pool_) {
    cpu_pool_->give_back(cpus);
    share_.unpin(set_of(cpus));
  }
  if (!setup_.max_parallel_jobs) share_.put_back(need, gpus);
}

void Session::keep_samples(const std::vector<exec::Sample>& samples) {
  std::vector<std::pair<exec::AttemptKey, exec::SeriesPoint>> points;
  for (const exec::Sample& s : samples) {
    const auto job = running_.find(static_cast<std::uint64_t>(s.id));
    if (job == running_.end() || job->second.failed) continue;
    const claim::ClaimToken& token = job->second.token;
    points.push_back(
        {{raw(token.job), token.attempt}, {s.at, s.memory, s.cpu_time, s.io, s.processes}});
  }
  series_->add(points);
}

}  // namespace torc::worker
