#include "lib/slurm/own_allocation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/slurm/host_list.h"

namespace torc::slurm {
namespace {

using Words = std::vector<std::string>;

// What it prints, whole lines; nullopt: it failed.
std::optional<std::string> ask(const RunProgram& run, Words words) {
  Words argv = {"env", "-u", "SLURM_CLUSTERS", "-u", "SQUEUE_FORMAT", "-u", "SQUEUE_FORMAT2"};
  std::move(words.begin(), words.end(), std::back_inserter(argv));
  const auto answer = run(argv);
  if (!answer.ok() || answer->exit_code != 0) return std::nullopt;
  // What does not end with its line was cut, and may have told of more.
  if (!answer->out.empty() && answer->out.back() != '\n') return std::nullopt;
  return answer->out;
}

bool tell(const RunProgram& run, Words words) {
  Words argv = {"env", "-u", "SLURM_CLUSTERS", "scancel"};
  std::move(words.begin(), words.end(), std::back_inserter(argv));
  const auto answer = run(argv);
  return answer.ok() && answer->exit_code == 0;
}

// Whether Slurm shows it among the allocations with a part on one of `hosts`.
std::optional<bool> is_on(const RunProgram& run, const std::string& allocation,
                          const std::string& hosts) {
  const auto out =
      ask(run, {"squeue", "--local", "-a", "-h", "-j", allocation, "-w", hosts, "-o", "%i %F_%K"});
  if (!out) return std::nullopt;
  return !trimmed(*out).empty();
}

}  // namespace

std::optional<std::string> own_allocation(const GetEnv& env) {
  if (env("SLURM_HET_SIZE") || env("SLURM_PACK_SIZE")) return std::nullopt;
  const auto array = env("SLURM_ARRAY_JOB_ID");
  const auto task = env("SLURM_ARRAY_TASK_ID");
  if (array && task) return *array + "_" + *task;
  auto id = env("SLURM_JOB_ID");
  if (!id || !whole_number<std::uint64_t>(*id)) return std::nullopt;
  return id;
}

GetEnv env_of_part(const GetEnv& env) {
  static constexpr std::array<std::string_view, 5> kOfPart{
      "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_CPUS_PER_NODE", "SLURM_MEM_PER_CPU",
      "SLURM_MEM_PER_NODE"};
  constexpr std::uint64_t kMostParts = 128;  // Slurm's own bound (MAX_HET_JOB_COMPS)
  const auto node = env("SLURMD_NODENAME");
  const auto parts = whole_number<std::uint64_t>(env("SLURM_HET_SIZE").value_or(""));
  for (std::uint64_t i = 0; node && parts && i < std::min(*parts, kMostParts); ++i) {
    const std::string suffix = "_HET_GROUP_" + std::to_string(i);
    const auto nodes = expand_host_list(env("SLURM_JOB_NODELIST" + suffix).value_or(""));
    if (!nodes.ok()) continue;
    const auto at = std::ranges::find(*nodes, *node);
    if (at == nodes->end()) continue;
    const std::string number = std::to_string(at - nodes->begin());
    return [env, suffix, number](std::string_view name) -> std::optional<std::string> {
      if (name == "SLURM_NODEID") return number;
      if (std::ranges::find(kOfPart, name) == kOfPart.end()) return env(name);
      return env(std::string(name) + suffix);
    };
  }
  return env;
}

std::optional<std::vector<Step>> steps_of(const RunProgram& run, const std::string& allocation) {
  const auto out =
      ask(run, {"squeue", "--local", "-a", "-h", "-s", "-j", allocation, "-o", "%i %j"});
  if (!out) return std::nullopt;
  std::vector<Step> steps;
  for (const auto line : split(*out, '\n')) {
    const auto text = trimmed(line);
    if (text.empty()) continue;
    const auto blank = text.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    steps.push_back({std::string(text.substr(0, blank)), std::string(text.substr(blank + 1))});
  }
  return steps;
}

bool are_of_workers(const std::vector<Step>& steps) {
  return !steps.empty() && std::ranges::all_of(steps, [](const Step& step) {
    const std::string_view kind = std::string_view(step.id).substr(step.id.rfind('.') + 1);
    return kind == "batch" || kind == "extern" || step.name == kWorkerStep;
  });
}

std::optional<std::uint64_t> nodes_of(const RunProgram& run, const std::string& allocation) {
  const auto out = ask(run, {"squeue", "--local", "-a", "-h", "-j", allocation, "-o", "%D"});
  if (!out) return std::nullopt;
  return whole_number<std::uint64_t>(trimmed(*out));
}

bool has_lost(const RunProgram& run, const std::string& allocation, const std::string& own,
              const std::vector<std::string>& hosts) {
  if (own.empty() || hosts.empty()) return false;
  std::string list;
  for (const auto& host : hosts) {
    // Nothing but a plain name: a list or a range of Slurm's would mean others.
    const bool plain =
        !host.empty() && host.front() != '-' && std::ranges::all_of(host, [](char c) {
          return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.';
        });
    if (!plain) return false;
    list += (list.empty() ? "" : ",") + host;
  }
  return is_on(run, allocation, list) == false && is_on(run, allocation, own) == true;
}

bool signal_batch_script(const RunProgram& run, const std::string& allocation, const char* signal) {
  return tell(run, {"--batch", std::string("--signal=") + signal, allocation});
}

bool signal_step(const RunProgram& run, const std::string& step, const char* signal) {
  return tell(run, {std::string("--signal=") + signal, step});
}

bool cancel(const RunProgram& run, const std::string& allocation) {
  return tell(run, {allocation});
}

std::vector<std::string> with_nodes(std::vector<std::string> srun, std::uint64_t nodes) {
  for (std::size_t i = 1; i < srun.size() && srun[i].starts_with('-'); ++i) {
    for (const char* option : {"--nodes=", "--ntasks="}) {
      if (srun[i].starts_with(option)) srun[i] = option + std::to_string(nodes);
    }
  }
  return srun;
}

}  // namespace torc::slurm
