#include "lib/worker/jobs/gang_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/base/text/quote.h"
#include "lib/exec/start/command.h"
#include "lib/slurm/job_share.h"
#include "lib/slurm/short_host_list.h"
#include "lib/spec/text/command_line.h"
#include "lib/worker/jobs/gang_tag.h"

namespace torc::worker {
namespace {

std::vector<std::string> nodes_of(const claim::GangPart& part) {
  std::vector<std::string> nodes;
  for (const claim::GangMember& member : part.gang.members) nodes.push_back(member.node);
  return nodes;
}

std::string lines_of(const std::vector<std::string>& nodes, const std::string& ending) {
  std::string text;
  for (const std::string& node : nodes) text += node + ending + "\n";
  return text;
}

struct Paths {
  std::string hosts, openmpi, mpich, agent, slurm;
};

Paths paths_of(const claim::GangPart& part, const GangTerms& terms) {
  const auto named = [&](std::string_view name) {
    const std::string own = part.rank == 0 ? "" : fmt::format(".{}", part.rank);
    return fmt::format("{}/{}{}", terms.directory, name, own);
  };
  return {named(kHostsFile), named("hosts.openmpi"), named("hosts.mpich"), named("agent"),
          named("hosts.slurm")};
}

// Steps on a part of the allocation: srun is told by a file, see node_variables().
bool is_part_of_allocation(const claim::GangPart& part, const GangTerms& terms) {
  return terms.in_slurm && terms.allocation_nodes != part.gang.members.size();
}

// Called as ssh is: [OPTION…] HOST WORD…, where the words are one line for a shell. sshd gives
// its children an environment of their own, so the line sets there what torc knows them by. Slurm's
// steps have that of who starts them; a launcher that has no support for Slurm comes here, too.
std::string agent_script(const claim::GangPart& part, const GangTerms& terms) {
  std::string tags;
  for (const std::string& tag : gang_tags(terms.workflow_id, part.gang.token))
    tags += (tags.empty() ? "" : " ") + shell_word(tag);
  const std::string first =
      "#!/bin/sh\n"
      "# Starts a launcher's daemon on another node of this attempt, called as ssh is.\n"
      "while [ $# -gt 0 ]; do\n"
      "  case $1 in -*) shift ;; *) break ;; esac\n"
      "done\n"
      "host=$1\n"
      "shift\n";
  if (terms.in_slurm) {
    return first +
           "unset SLURM_HOSTFILE SLURM_CPUS_PER_TASK SRUN_CPUS_PER_TASK\n"
           "exec srun --nodes=1 --ntasks=1 --nodelist=\"$host\" --overlap --mem=0 "
           "--cpu-bind=none --mpi=none --input=none --export=ALL /bin/sh -c \"$*\"\n";
  }
  // The line is quoted once more, since ssh hands words on as one text to a shell of the other
  // side.
  return first + "line=$(printf '%s' \"$*\" | sed \"s/'/'\\\\\\\\''/g\")\n" +
         "exec ssh -x -o BatchMode=yes \"$host\" \"env " + tags + " /bin/sh -c '$line'\"\n";
}

}  // namespace

std::uint32_t slots_of(const GangTerms& terms) {
  return std::max(terms.launch.tasks_per_node != 0 ? terms.launch.tasks_per_node : terms.cpus, 1U);
}

std::vector<GangFile> gang_files(const claim::GangPart& part, const GangTerms& terms) {
  const std::vector<std::string> nodes = nodes_of(part);
  const std::uint32_t slots = slots_of(terms);
  Paths paths = paths_of(part, terms);
  std::vector<GangFile> files;
  files.push_back({std::move(paths.hosts), lines_of(nodes, "")});
  files.push_back({std::move(paths.openmpi), lines_of(nodes, fmt::format(" slots={}", slots))});
  files.push_back({std::move(paths.mpich), lines_of(nodes, fmt::format(":{}", slots))});
  files.push_back({std::move(paths.agent), agent_script(part, terms), true});
  if (is_part_of_allocation(part, terms)) {
    // Tasks are put where the lines say, so one a node comes before the second of any.
    std::string text;
    for (std::uint32_t i = 0; i < slots; ++i) text += lines_of(nodes, "");
    files.push_back({std::move(paths.slurm), std::move(text)});
  }
  return files;
}

Result<void> write_gang_files(const std::vector<GangFile>& files, const exec::OutputRoot& root) {
  const beneath::Root at(root.path);
  for (const GangFile& file : files) {
    const Path name = beneath::name_below(root.path, file.path);
    TORC_TRY(beneath::make_directories(at, name.parent_path(), root.directory_mode()));
    const mode_t mode = root.file_mode() | (file.executable ? 0111 & root.directory_mode() : 0);
    TORC_ASSIGN(const Descriptor fd, beneath::open_fresh(at, name, O_WRONLY, mode));
    std::string_view left = file.text;
    while (!left.empty()) {
      const ssize_t wrote = write(fd.get(), left.data(), left.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return beneath::open_error(errno, "write", file.path);
      left.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }
  return {};
}

GangVariables gang_variables(const claim::GangPart& part, const GangTerms& terms) {
  const std::vector<std::string> nodes = nodes_of(part);
  const std::uint32_t slots = slots_of(terms);
  const Paths paths = paths_of(part, terms);
  GangVariables all;
  all.own = {fmt::format("TORC_NUM_NODES={}", nodes.size()),
             fmt::format("TORC_HEAD_NODE={}", nodes.empty() ? "" : nodes.front()),
             fmt::format("TORC_NODE_RANK={}", part.rank),
             fmt::format("TORC_HOSTFILE={}", paths.hosts),
             fmt::format("TORC_HOSTFILE_OPENMPI={}", paths.openmpi),
             fmt::format("TORC_HOSTFILE_MPICH={}", paths.mpich),
             fmt::format("{}={}", kGangVariable, gang_tag(part.gang.token))};
  std::string list = fmt::format("TORC_NODELIST={}", fmt::join(nodes, ","));
  if (list.size() <= slurm::kLongestWord) all.own.push_back(std::move(list));
  if (terms.launch.on == spec::LaunchOn::all) {
    all.unless_set.push_back(fmt::format("MASTER_ADDR={}", nodes.empty() ? "" : nodes.front()));
    if (part.gang.port != 0)
      all.unless_set.push_back(fmt::format("MASTER_PORT={}", part.gang.port));
  }
  // Open MPI 4, Open MPI 5 (PRRTE), MPICH (Hydra). Ranks go round the nodes, and share the CPUs
  // that the job has there: bound to cores by each of several launchers they would share the first
  // ones.
  const auto launchers = [&](std::initializer_list<std::string> more) {
    all.unless_set.insert(all.unless_set.end(), more);
  };
  launchers({"OMPI_MCA_orte_default_hostfile=" + paths.openmpi,
             "OMPI_MCA_rmaps_base_mapping_policy=node", "OMPI_MCA_hwloc_base_binding_policy=none",
             "OMPI_MCA_plm_rsh_no_tree_spawn=1", "PRTE_MCA_prte_default_hostfile=" + paths.openmpi,
             "PRTE_MCA_rmaps_default_mapping_policy=node",
             "PRTE_MCA_hwloc_default_binding_policy=none", "PRTE_MCA_plm_ssh_no_tree_spawn=1",
             "HYDRA_HOST_FILE=" + paths.mpich, "HYDRA_BINDING=none"});
  // They take it for a command with options, and know no quotes.
  if (paths.agent.find_first_of(" \t") == std::string::npos)
    launchers({"OMPI_MCA_plm_rsh_agent=" + paths.agent, "PRTE_MCA_plm_ssh_agent=" + paths.agent});
  // Its own way to start things below Slurm hands the environment on.
  if (!terms.in_slurm) launchers({"HYDRA_LAUNCHER=ssh", "HYDRA_LAUNCHER_EXEC=" + paths.agent});
  if (terms.in_slurm) {
    all.slurm =
        slurm::gang_variables({nodes, slots, terms.cpus, terms.memory,
                               is_part_of_allocation(part, terms) ? paths.slurm : std::string()});
  }
  return all;
}

bool is_step(const std::string& line, const spec::Launch& launch, spec::ExecutionMode mode,
             bool in_slurm) {
  return in_slurm && mode != spec::ExecutionMode::direct &&
         launch.on == spec::LaunchOn::automatic && !spec::is_launcher(spec::program_of(line));
}

// srun takes a word with a slash for a file. The line is one word, too, with what the job runs.
std::string list_for_step(const std::vector<std::string>& nodes, const claim::GangPart& part,
                          const GangTerms& terms) {
  std::string list = fmt::format("{}", fmt::join(nodes, ","));
  if (list.size() <= slurm::kLongestWord / 2) return list;
  return shell_word(paths_of(part, terms).hosts);
}

// --wait=0: where a site has a WaitTime the others would be killed when the first one ends.
std::string step_line(const std::string& line, const claim::GangPart& part, const GangTerms& terms,
                      const std::string& stem, const std::string& mpi, bool binds) {
  const std::vector<std::string> nodes = nodes_of(part);
  const std::uint32_t tasks = std::max(terms.launch.tasks_per_node, 1U);
  constexpr std::uint64_t kMegabyte = 1 << 20;
  std::string text = fmt::format(
      "exec srun --nodes={} --ntasks={} --ntasks-per-node={} --nodelist={} --cpus-per-task={} "
      "--overlap --mem={} --job-name={} --kill-on-bad-exit=1 --wait=0 --input=none --export=ALL",
      nodes.size(), nodes.size() * tasks, tasks, list_for_step(nodes, part, terms),
      std::max(terms.cpus / tasks, 1U),
      terms.memory == ByteCount{}
          ? "0"
          : fmt::format("{}M", std::max<std::uint64_t>(terms.memory.value / kMegabyte, 1)),
      stem);
  if (!binds) text += " --cpu-bind=none";
  if (!mpi.empty()) text += " --mpi=" + shell_word(mpi);
  return text + fmt::format(" {} {}", fmt::join(exec::shell_of(line), " "), shell_quote(line));
}

std::uint16_t free_port() {
  const Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);  // NOLINT: what the calls take
  if (!fd || bind(fd.get(), any, size) != 0 || getsockname(fd.get(), any, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

}  // namespace torc::worker
