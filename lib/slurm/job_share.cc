#include "lib/slurm/job_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace torc::slurm {
namespace {

// Beginnings of names.
constexpr std::array<std::string_view, 13> kFamilies{
    "SLURM_STEP",   "SLURM_SRUN_",    "SRUN_",          "SLURM_CPU_BIND", "SLURM_MEM_BIND",
    "SLURM_NTASKS", "SLURM_MEM_PER_", "SLURM_GPU_BIND", "SLURM_TRES_",    "PMI_",
    "PMIX_",        "SLURM_PMI",      "SLURM_MPI_"};
constexpr std::array<std::string_view, 29> kNames{"SLURM_ARBITRARY_NODELIST",
                                                  "SLURM_CORE_SPEC",
                                                  "SLURM_CPUS_ON_NODE",
                                                  "SLURM_CPUS_PER_TASK",
                                                  "SLURM_DISTRIBUTION",
                                                  "SLURM_EXACT",
                                                  "SLURM_EXCLUSIVE",
                                                  "SLURM_GTIDS",
                                                  "SLURM_HINT",
                                                  "SLURM_HOSTFILE",
                                                  "SLURM_JOB_CPUS_PER_NODE",
                                                  "SLURM_JOB_NODELIST",
                                                  "SLURM_JOB_NUM_NODES",
                                                  "SLURM_KILL_BAD_EXIT",
                                                  "SLURM_LAUNCH_NODE_IPADDR",
                                                  "SLURM_LOCALID",
                                                  "SLURM_NNODES",
                                                  "SLURM_NODEID",
                                                  "SLURM_NODELIST",
                                                  "SLURM_NO_KILL",
                                                  "SLURM_NPROCS",
                                                  "SLURM_OVERLAP",
                                                  "SLURM_PROCID",
                                                  "SLURM_RESV_PORTS",
                                                  "SLURM_TASKS_PER_NODE",
                                                  "SLURM_TASK_PID",
                                                  "SLURM_THREADS",
                                                  "SLURM_UMASK",
                                                  "SLURM_WAIT"};
static_assert(std::ranges::is_sorted(kNames));

}  // namespace

bool is_of_step(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::ranges::binary_search(kNames, name) ||
         std::ranges::any_of(kFamilies, [&](auto family) { return name.starts_with(family); });
}

std::vector<std::string> node_variables(const NodeShare& node) {
  return {"SLURM_NNODES=1",
          "SLURM_JOB_NUM_NODES=1",
          "SLURM_NODELIST=" + node.node,
          "SLURM_JOB_NODELIST=" + node.node,
          "SLURM_HOSTFILE=" + node.hosts_file,
          "SLURM_NTASKS=1",
          "SLURM_NPROCS=1",
          "SLURM_EXACT=1"};
}

// SRUN_CPUS_PER_TASK from Slurm 22.05 on, SLURM_CPUS_PER_TASK before it. mpirun counts its places
// by SLURM_TASKS_PER_NODE, or SLURM_JOB_CPUS_PER_NODE.
std::vector<std::string> job_variables(const JobShare& share) {
  constexpr std::uint64_t kMegabyte = 1 << 20;
  const std::uint64_t memory =
      share.memory == ByteCount{} ? 0 : std::max<std::uint64_t>(share.memory.value / kMegabyte, 1);
  std::vector<std::string> variables{fmt::format("SLURM_CPUS_PER_TASK={}", share.cpus),
                                     fmt::format("SRUN_CPUS_PER_TASK={}", share.cpus),
                                     fmt::format("SLURM_CPUS_ON_NODE={}", share.cpus),
                                     fmt::format("SLURM_JOB_CPUS_PER_NODE={}", share.cpus),
                                     fmt::format("SLURM_TASKS_PER_NODE={}", share.cpus),
                                     fmt::format("SLURM_MEM_PER_NODE={}", memory)};
  if (share.gpus) {
    variables.push_back(*share.gpus == 0 ? "SLURM_GRES=none"
                                         : fmt::format("SLURM_GRES=gpu:{}", *share.gpus));
  }
  return variables;
}

std::vector<std::string> overlap_variables() {
  return {"SLURM_OVERLAP=1", "SLURM_MEM_PER_NODE=0"};
}

}  // namespace torc::slurm
