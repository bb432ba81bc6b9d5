#include "lib/slurm/job_share.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "lib/slurm/short_host_list.h"

namespace torc::slurm {
namespace {

// Beginnings of names.
constexpr std::array<std::string_view, 18> kFamilies{"SLURM_STEP",     "SLURM_SRUN_",
                                                     "SRUN_",          "SLURM_CPU_BIND",
                                                     "SLURM_MEM_BIND", "SLURM_NTASKS",
                                                     "SLURM_MEM_PER_", "SLURM_GPU_BIND",
                                                     "SLURM_TRES_",    "PMI_",
                                                     "PMIX_",          "SLURM_PMI",
                                                     "SLURM_MPI_",     "OMPI_COMM_WORLD_",
                                                     "OMPI_MCA_ess",   "OMPI_MCA_orte_ess_",
                                                     "PRTE_MCA_ess",   "HYDI_"};
// How a user or a site sets PMIx up; Slurm and mpirun tell nothing by them.
constexpr std::string_view kSettings = "PMIX_MCA_";
// OMPI_…: by mpirun, of the rank that a worker is, and by srun --mpi=openmpi. Other OMPI_MCA_… are
// settings. SLURM_EXPORT_ENV: of `sbatch --export=NONE`, by which srun gives its tasks nothing of a
// job's environment.
constexpr std::array<std::string_view, 44> kNames{"OMPI_APP_CTX_NUM_PROCS",
                                                  "OMPI_ARGV",
                                                  "OMPI_COMMAND",
                                                  "OMPI_FILE_LOCATION",
                                                  "OMPI_FIRST_RANKS",
                                                  "OMPI_MCA_initial_wdir",
                                                  "OMPI_MCA_orte_app_num",
                                                  "OMPI_MCA_orte_bound_at_launch",
                                                  "OMPI_MCA_orte_hnp_uri",
                                                  "OMPI_MCA_orte_local_daemon_uri",
                                                  "OMPI_MCA_orte_num_nodes",
                                                  "OMPI_MCA_orte_precondition_transports",
                                                  "OMPI_NUM_APP_CTX",
                                                  "OMPI_UNIVERSE_SIZE",
                                                  "SLURM_ARBITRARY_NODELIST",
                                                  "SLURM_CORE_SPEC",
                                                  "SLURM_CPUS_ON_NODE",
                                                  "SLURM_CPUS_PER_TASK",
                                                  "SLURM_DISTRIBUTION",
                                                  "SLURM_EXACT",
                                                  "SLURM_EXCLUSIVE",
                                                  "SLURM_EXPORT_ENV",
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
  if (name.starts_with(kSettings)) return false;
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

namespace {

// Behind the longest of its names.
bool fits(const std::string& list) {
  return list.size() + sizeof("SLURM_JOB_NODELIST=") <= kLongestWord;
}

}  // namespace

// The steps of a whole node overlap: mpirun's own one has daemons that wait, and may use all CPUs
// for the ranks below them. srun reads a hosts file only where it is given no --nodelist, as mpirun
// gives it.
std::vector<std::string> gang_variables(const GangShare& share) {
  constexpr std::uint64_t kMegabyte = 1 << 20;
  const std::size_t nodes = share.nodes.size();
  const std::uint32_t tasks = std::max(share.tasks_per_node, 1U);
  std::string list = fmt::format("{}", fmt::join(share.nodes, ","));
  if (!fits(list)) list = short_host_list(share.nodes);
  std::vector<std::string> variables{
      fmt::format("SLURM_NNODES={}", nodes),
      fmt::format("SLURM_JOB_NUM_NODES={}", nodes),
      fmt::format("SLURM_NTASKS={}", nodes * tasks),
      fmt::format("SLURM_NPROCS={}", nodes * tasks),
      fmt::format("SLURM_TASKS_PER_NODE={}(x{})", tasks, nodes),
      fmt::format("SLURM_JOB_CPUS_PER_NODE={}(x{})", share.cpus, nodes),
      fmt::format("SLURM_CPUS_ON_NODE={}", share.cpus),
      "SLURM_OVERLAP=1",
      "SLURM_CPU_BIND=none",
      fmt::format("SLURM_MEM_PER_NODE={}",
                  share.memory == ByteCount{}
                      ? 0
                      : std::max<std::uint64_t>(share.memory.value / kMegabyte, 1))};
  if (fits(list)) {
    variables.push_back("SLURM_NODELIST=" + list);
    variables.push_back("SLURM_JOB_NODELIST=" + list);
  }
  if (!share.hosts_file.empty()) variables.push_back("SLURM_HOSTFILE=" + share.hosts_file);
  return variables;
}

std::vector<std::string> overlap_variables() {
  return {"SLURM_OVERLAP=1", "SLURM_MEM_PER_NODE=0"};
}

}  // namespace torc::slurm
