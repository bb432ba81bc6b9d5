// The allocation that this process is in, as who ends it, or starts its workers again, asks about
// it and tells Slurm. Of this host's own cluster, whatever the user's variables say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/slurm/query.h"

namespace torc::slurm {

// The name of the steps whose tasks are workers, as the batch script gives it.
inline constexpr std::string_view kWorkerStep = "torc-workers";

using GetEnv = std::function<std::optional<std::string>(std::string_view)>;
// How the allocation is called that these variables are of: "1234"; "1234_7" the last element of an
// array, which has the number of the whole. The other elements have numbers of their own. Beside
// such a number SLURM_ARRAY_… may be of another allocation, in which somebody called sbatch: that
// passes them on to a job that is of no array. Empty: there is none.
[[nodiscard]] std::string allocation_name(const GetEnv& env);
// The same, to ask about it and nothing else. nullopt: there is none, or it is a part of a
// heterogeneous job, which ends with its first part only.
[[nodiscard]] std::optional<std::string> own_allocation(const GetEnv& env);

// The tasks of a step on several parts of a heterogeneous job are told the number of the first
// part, the nodes of all, and no memory. This tells what is so for the part that has this node
// (SLURMD_NODENAME); elsewhere, what `env` says.
[[nodiscard]] GetEnv env_of_part(const GetEnv& env);

struct Step {
  std::string id;  // "1234.0", "1234.batch"
  std::string name;
};
// nullopt: Slurm does not say it.
[[nodiscard]] std::optional<std::vector<Step>> steps_of(const RunProgram& run,
                                                        const std::string& allocation);
// Whether all of these are the batch script, what Slurm itself runs beside it, and workers. Of none
// at all nothing is known: who asks is in one.
[[nodiscard]] bool are_of_workers(const std::vector<Step>& steps);

// Whose steps these are, as scancel takes it: of every element of an array "1234_7". nullopt: they
// do not name one and the same.
[[nodiscard]] std::optional<std::string> allocation_of(const std::vector<Step>& steps);

// How many nodes it still has: one that failed is taken out of it. nullopt: not known.
[[nodiscard]] std::optional<std::uint64_t> nodes_of(const RunProgram& run,
                                                    const std::string& allocation);

// Whether Slurm says that none of `hosts` is in it any more. Only where it says that `own`, which
// is, still is: so hosts are called as Slurm's nodes are.
[[nodiscard]] bool has_lost(const RunProgram& run, const std::string& allocation,
                            const std::string& own, const std::vector<std::string>& hosts);

// Sends a signal ("URG") to its batch script, or to all tasks of a step; false: Slurm did not take
// it.
bool signal_batch_script(const RunProgram& run, const std::string& allocation, const char* signal);
bool signal_step(const RunProgram& run, const std::string& step, const char* signal);
bool cancel(const RunProgram& run, const std::string& allocation);

// The words of an srun command, asked for `nodes` nodes with a task each, where it says how many
// (--nodes=N, --ntasks=N before the first word that is no option).
[[nodiscard]] std::vector<std::string> with_nodes(std::vector<std::string> srun,
                                                  std::uint64_t nodes);

}  // namespace torc::slurm
