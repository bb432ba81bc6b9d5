// What this worker may use: what Slurm or the cgroup granted, not what the node has.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/amounts.h"
#include "lib/base/result.h"
#include "lib/base/units.h"

namespace torc::exec {

// Reads an environment variable; nullopt when unset. Comes from main.
using GetEnv = std::function<std::optional<std::string>(std::string_view)>;

// What is handed out one by one, beside GPUs: a port, an FPGA.
struct MachinePiece {
  std::string kind;         // the name of the resource, perhaps with a type
  std::string id;           // by which a job knows it
  std::uint32_t group = 0;  // those of one are near each other; 0: of none
};

struct Machine {
  std::string host;
  std::uint32_t cpus = 1;
  ByteCount memory;
  std::vector<std::string>
      gpus;  // ids as the visible-devices variable names them: "0", "1" or "GPU-…" UUIDs
  std::string gpu_variable;  // CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or ZE_AFFINITY_MASK;
                             // empty: no GPU
  std::vector<std::string> gpu_kinds;  // of each of `gpus`: "gpus/a100", or "gpus"; none: not known
  std::vector<std::uint32_t> gpu_groups;  // of each of `gpus`, as in MachinePiece; none: not known
  std::vector<MachinePiece> pieces;       // that it was told of
  Amounts sums;                           // the same, of what is shared out by amount
  std::string cpus_from;  // where each number comes from, for `torc worker`'s first line
  std::string memory_from;
  std::string gpus_from;
};

// What it has that has a name, as stores keep it.
[[nodiscard]] Amounts named_of(const Machine& machine);

// `root` is "/" but for tests, which pass a directory with their own proc, sys and dev.
[[nodiscard]] Machine detect(const GetEnv& env, const std::string& root = "/");

// What Slurm granted to a unit of which several workers may be part on this node.
struct SlurmShare {
  std::string name;  // "job 12", "step 12.0"
  std::optional<std::uint32_t> cpus;
  std::optional<ByteCount> memory;
};
// Empty outside of Slurm. `cpus`: what detect() found.
[[nodiscard]] std::vector<SlurmShare> slurm_shares(const GetEnv& env, std::uint32_t cpus);
// By the affinity of this process, as /proc lists them: "0-3,8".
[[nodiscard]] std::string allowed_cpu_list(const std::string& root);
[[nodiscard]] ByteCount node_memory(const std::string& root);  // 0: not known

// Identity of a process that survives the reuse of its number. What could not be learnt is 0.
struct ProcessIdentity {
  std::uint64_t pid = 0;
  std::uint64_t start = 0;  // field 22 of /proc/pid/stat
};
[[nodiscard]] ProcessIdentity this_process();

// The numbers of its parent, of that one's parent, and so on, of this pid namespace. Empty: not all
// could be seen.
[[nodiscard]] std::vector<std::uint64_t> ancestors_of(const ProcessIdentity& process);

// What is known of a process of this node. `gone` is only what has a positive sign: the kernel has
// no process of that number, or shows another one under it, or shows that it has ended (a zombie).
// All else is `unknown`: no descriptor left, no memory, a /proc that hides, belongs to another
// namespace or is not mounted, an identity that was never learnt.
enum class Presence : std::uint8_t { here, gone, unknown };
// Precondition: the number is of this boot and of this pid namespace, see ProcessSpace. `proc` is
// "/proc" but for tests.
[[nodiscard]] Presence presence_of(const ProcessIdentity& process,
                                   const std::string& proc = "/proc");

// Where a process number means the same process: one boot of one machine and a pid namespace of it.
// Empty: not known.
struct ProcessSpace {
  std::string boot_id;
  std::string pid_namespace;
};
// Known to be; nothing is the same as what is not known.
[[nodiscard]] bool is_same(const ProcessSpace& a, const ProcessSpace& b);
[[nodiscard]] std::string boot_id();
[[nodiscard]] std::string pid_namespace();
// The effective user and the namespace in which that number is theirs: "1000 user:[4026531837]".
// Processes of an equal user can be looked into and killed. Empty: not known.
[[nodiscard]] std::string this_user();

}  // namespace torc::exec
