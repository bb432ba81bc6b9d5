#include "lib/exec/machine/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "lib/base/number.h"
#include "lib/exec/machine/cgroup.h"
#include "lib/exec/machine/gpu_models.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

std::optional<std::uint64_t> variable_number(const GetEnv& env, std::string_view name) {
  const auto value = env(name);
  return value ? whole_number<std::uint64_t>(*value) : std::nullopt;
}

// "0-3,8": 5. As Cpus_allowed_list of /proc/self/status has it.
std::uint32_t count_of_list(std::string_view list) {
  std::uint64_t count = 0;
  for (const std::string& part : split(list, ',')) {
    const auto dash = part.find('-');
    const auto first = whole_number<std::uint64_t>(part.substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : whole_number<std::uint64_t>(part.substr(dash + 1));
    if (first && last && *last >= *first) count += *last - *first + 1;
  }
  return static_cast<std::uint32_t>(count);
}

// "4(x2),2": nodes 0 and 1 have 4, node 2 has 2. The smallest when this node's number is not known.
std::optional<std::uint64_t> cpus_of_node(std::string_view text,
                                          std::optional<std::uint64_t> node) {
  std::optional<std::uint64_t> least;
  std::uint64_t first = 0;
  for (const std::string& part : split(text, ',')) {
    const auto times_at = part.find("(x");
    const auto cpus = whole_number<std::uint64_t>(part.substr(0, times_at));
    std::optional<std::uint64_t> times = 1;
    if (times_at != std::string::npos && part.ends_with(')')) {
      times = whole_number<std::uint64_t>(part.substr(times_at + 2, part.size() - times_at - 3));
    }
    if (!cpus || !times) return std::nullopt;
    if (node && *node >= first && *node < first + *times) return cpus;
    first += *times;
    least = std::min(least.value_or(*cpus), *cpus);
  }
  return node ? std::nullopt : least;
}

struct Granted {
  std::uint64_t amount = 0;
  std::string from;
};

// SLURM_CPUS_PER_TASK only in the last place: a worker is the only task of its node, whatever the
// allocation was asked for.
std::optional<Granted> slurm_cpus(const GetEnv& env) {
  if (const auto n = variable_number(env, "SLURM_CPUS_ON_NODE"))
    return Granted{*n, "SLURM_CPUS_ON_NODE"};
  if (const auto list = env("SLURM_JOB_CPUS_PER_NODE")) {
    if (const auto n = cpus_of_node(*list, variable_number(env, "SLURM_NODEID"))) {
      return Granted{*n, "SLURM_JOB_CPUS_PER_NODE"};
    }
  }
  if (const auto n = variable_number(env, "SLURM_CPUS_PER_TASK"))
    return Granted{*n, "SLURM_CPUS_PER_TASK"};
  return std::nullopt;
}

// In MiB; 0 stands for all of the node.
std::optional<Granted> slurm_memory(const GetEnv& env, std::uint32_t cpus) {
  const auto per_node = variable_number(env, "SLURM_MEM_PER_NODE");
  if (per_node && *per_node > 0) return Granted{*per_node << 20, "SLURM_MEM_PER_NODE"};
  const auto per_cpu = variable_number(env, "SLURM_MEM_PER_CPU");
  if (!per_cpu || *per_cpu == 0) return std::nullopt;
  const std::uint64_t slurm = slurm_cpus(env).value_or(Granted{cpus, {}}).amount;
  return Granted{(*per_cpu << 20) * slurm, "SLURM_MEM_PER_CPU"};
}

// The smallest of what the node has and of everything that was granted.
Granted least(Granted has, std::initializer_list<std::optional<Granted>> limits) {
  for (const auto& limit : limits) {
    if (limit && limit->amount > 0 && limit->amount < has.amount) has = *limit;
  }
  return has;
}

// 0: not known.
std::uint64_t online_cpus(const std::string& root) {
  auto list = read_small_file(root + "/sys/devices/system/cpu/online").value_or("");
  while (list.ends_with('\n')) list.pop_back();
  return count_of_list(list);
}

}  // namespace

ByteCount node_memory(const std::string& root_directory) {
  const std::string root = root_directory == "/" ? "" : root_directory;
  const auto text = read_small_file(root + "/proc/meminfo").value_or("");
  return {line_number(text, "MemTotal:").value_or(0) << 10};
}

std::string allowed_cpu_list(const std::string& root_directory) {
  const std::string root = root_directory == "/" ? "" : root_directory;
  const auto status = read_small_file(root + "/proc/self/status").value_or("");
  return std::string(line_value(status, "Cpus_allowed_list:"));
}

// A job's step has its own part of the job's CPUs; memory is granted to the job.
std::vector<SlurmShare> slurm_shares(const GetEnv& env, std::uint32_t cpus) {
  const auto job = env("SLURM_JOB_ID");
  if (!job) return {};
  SlurmShare whole{"job " + *job, {}, {}};
  if (const auto list = env("SLURM_JOB_CPUS_PER_NODE")) {
    if (const auto n = cpus_of_node(*list, variable_number(env, "SLURM_NODEID")))
      whole.cpus = static_cast<std::uint32_t>(*n);
  }
  if (const auto memory = slurm_memory(env, cpus)) whole.memory = ByteCount{memory->amount};
  std::vector<SlurmShare> shares{whole};
  const auto on_node = variable_number(env, "SLURM_CPUS_ON_NODE");
  if (!on_node) return shares;
  if (const auto step = env("SLURM_STEP_ID")) {
    shares.push_back({"step " + *job + "." + *step, static_cast<std::uint32_t>(*on_node), {}});
  } else if (!whole.cpus) {
    shares.front().cpus = static_cast<std::uint32_t>(*on_node);
  }
  return shares;
}

Amounts named_of(const Machine& machine) {
  Amounts named = machine.sums;
  const auto count = [&](const std::string& kind) {
    const Amount* there = find_amount(named, kind);
    set_amount(named, {kind, (there == nullptr ? 0 : there->thousandths) + kWhole, true});
  };
  for (const std::string& kind : machine.gpu_kinds) {
    if (kind != kGpus) count(kind);
  }
  for (const MachinePiece& piece : machine.pieces) count(piece.kind);
  return named;
}

Machine detect(const GetEnv& env, const std::string& root_directory) {
  const std::string root = root_directory == "/" ? "" : root_directory;
  Machine machine;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) machine.host = name.data();

  const CgroupLimits cgroup = cgroup_limits(root);
  const std::uint32_t affinity = count_of_list(allowed_cpu_list(root));
  std::optional<Granted> quota;
  if (cgroup.cpus) quota = Granted{*cgroup.cpus, "the cgroup's CPU quota"};
  const std::uint64_t online = online_cpus(root);
  const Granted cpus =
      least({online > 0 ? online : std::max<std::uint64_t>(affinity, 1), "this node"},
            {slurm_cpus(env), quota, Granted{affinity, "the CPU affinity"}});
  machine.cpus = static_cast<std::uint32_t>(cpus.amount);
  machine.cpus_from = cpus.from;

  std::optional<Granted> limit;
  if (cgroup.memory) limit = Granted{cgroup.memory->value, "the cgroup's memory limit"};
  const ByteCount total = node_memory(root);
  const Granted memory = least({total.value > 0 ? total.value : UINT64_MAX, "this node"},
                               {slurm_memory(env, machine.cpus), limit});
  machine.memory = {memory.amount == UINT64_MAX ? 0 : memory.amount};
  machine.memory_from = memory.from;

  Gpus gpus = find_gpus(env, root);
  machine.gpu_kinds = kinds_of(gpus, env, root);
  machine.gpu_groups = numa_groups_of(gpus, env, root);
  machine.gpus = std::move(gpus.ids);
  machine.gpu_variable = std::move(gpus.variable);
  machine.gpus_from = std::move(gpus.from);
  return machine;
}

}  // namespace torc::exec
