// What a job of a worker sees of Slurm: its share of one node. The worker itself is a task of a
// step on all nodes of the allocation, and srun, mpirun and MPI libraries would take what they find
// of that step for the job's own: a bare `srun` would start a task on every node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/quantities.h"

namespace torc::slurm {

// Whether "NAME=value" tells of the step that its process belongs to, or of the shape that the
// allocation's steps were asked for.
[[nodiscard]] bool is_of_step(std::string_view entry);

// What a worker hands out on its own node.
struct NodeShare {
  std::string node;        // as Slurm names it
  std::string hosts_file;  // names `node` on as many lines as it has CPUs
};
// The same for all jobs, each "NAME=value": srun starts one task, on this node. Source of the
// names: srun(1), "INPUT ENVIRONMENT VARIABLES". An allocation's node is chosen by SLURM_HOSTFILE;
// there is no variable for --nodelist.
[[nodiscard]] std::vector<std::string> node_variables(const NodeShare& node);
struct JobShare {
  std::uint32_t cpus = 1;
  // 0: none is declared. Its steps may use all that the allocation has, and take nothing of it from
  // others. The worker's own idea of the node would be no share: Slurm may have granted less.
  ByteCount memory;
  std::optional<std::uint32_t> gpus;  // of the node's; nullopt: the node has none
};
// Besides, for one job: what its steps get of the node. Steps of several jobs run side by side,
// since each takes CPUs of its own (SLURM_EXACT), and GPUs only where it may have some; which ones
// Slurm chooses.
[[nodiscard]] std::vector<std::string> job_variables(const JobShare& share);
// Of a job that has several whole nodes: what mpirun and srun take for its allocation. Instead of
// all above.
struct GangShare {
  std::vector<std::string> nodes;    // as Slurm names them
  std::uint32_t tasks_per_node = 1;  // that srun and mpirun start where they are told no number
  std::uint32_t cpus = 1;            // of each node
  ByteCount memory;                  // of each node; 0: all that the allocation has
  std::string hosts_file;  // names the nodes in the order of the tasks; empty: they are all that
                           // the allocation has
};
[[nodiscard]] std::vector<std::string> gang_variables(const GangShare& share);
// Besides, for a command that has no share: its steps use what others have.
[[nodiscard]] std::vector<std::string> overlap_variables();

}  // namespace torc::slurm
