// Asking Slurm what its cluster offers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/cluster/cluster.h"
#include "lib/slurm/query.h"

namespace torc::cluster {

// By one `scontrol show config`, one `scontrol show partition` and one `sinfo`, of partitions that
// this user may see; where there is accounting two `sacctmgr`, of `user`'s limits, without which
// the rest stands. Errors: not_found (there is no Slurm here), busy (it does not answer), io (its
// answer is cut off, or not to be understood). An answer of which some is missing is no answer: a
// partition that is not listed in a whole one is not there.
Result<Cluster> ask_slurm(const slurm::RunProgram& run, const std::string& user, WallTime now);

// The parts of it, each from what a program printed.

// `scontrol -o show partition`; of their nodes only how many there are, as one kind. Errors: io.
Result<std::vector<Partition>> read_partitions(std::string_view text);
// `sinfo -h -e -o kNodeColumns`: by the names of partitions, the nodes that differ in no column but
// their state in one NodeGroup. Errors: io.
inline constexpr std::string_view kNodeColumns = "%P|%D|%c|%m|%f|%G|%T";
Result<std::map<std::string, std::vector<NodeGroup>>> read_nodes(std::string_view text);
// "gpu:a100:4(S:0-1),gpu:2,shard:8": of GPUs alone.
[[nodiscard]] std::vector<Gpus> read_gres(std::string_view text);
// "idle", "mixed*", "idle~": what Slurm would start a job on, and what nothing runs on. Of states
// that are not known here, neither.
struct NodeState {
  bool usable = false;
  bool idle = false;
};
[[nodiscard]] NodeState read_state(std::string_view text);
// `sacctmgr -n -P show qos format=…` and `… show assoc …`, with the columns below. Lines that have
// other columns are left out; a limit that is not understood is not known. `all_understood`, where
// there was any of these: false.
inline constexpr std::string_view kQosColumns = "Name,MaxWall,MaxJobsPU,MaxSubmitPU";
inline constexpr std::string_view kAssociationColumns =
    "Account,Partition,QOS,DefaultQOS,MaxWall,MaxJobs,MaxSubmit";
[[nodiscard]] std::vector<Qos> read_qos(std::string_view text, bool& all_understood);
[[nodiscard]] std::vector<Association> read_associations(std::string_view text,
                                                         bool& all_understood);

}  // namespace torc::cluster
