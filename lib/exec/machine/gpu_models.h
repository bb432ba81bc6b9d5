// Of which type the GPUs are that a process may use, where that is certain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/exec/machine/gpus.h"

namespace torc::exec {

// "NVIDIA A100-SXM4-40GB": "a100"; "AMD Instinct MI250X": "mi250x"; "NVIDIA GeForce RTX 3090":
// "rtx3090". Empty: nothing that could be a name is left of it.
[[nodiscard]] std::string type_of_model(std::string_view model);

// Of each of `gpus` "gpus/TYPE", or "gpus" where its type is not known; empty: of none it is. By
// what the drivers of NVIDIA and AMD tell below `root`. Where all GPUs of the node are of one
// model, so are these; of several models those are known that have the UUID of one, or stand as a
// number in the order of the bus (CUDA_DEVICE_ORDER=PCI_BUS_ID) on a node that is seen whole.
[[nodiscard]] std::vector<std::string> kinds_of(const Gpus& gpus, const GetEnv& env,
                                                const std::string& root);

// Of each of `gpus` the NUMA node that it hangs on, plus 1; empty: it is not known of all of them,
// or they hang on one. By sysfs, for those that have the UUID of one of the drivers' list, and for
// NVIDIA's by number where numbers are in the order of the bus (as above), or outside of Slurm all
// GPUs of the node are of one model and seen.
[[nodiscard]] std::vector<std::uint32_t> numa_groups_of(const Gpus& gpus, const GetEnv& env,
                                                        const std::string& root);

}  // namespace torc::exec
