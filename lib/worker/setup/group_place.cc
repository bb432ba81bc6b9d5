// Which group of workers this one belongs to, for jobs of several nodes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "lib/base/text/quote.h"
#include "lib/claim/rules/gang.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::worker {
namespace {

constexpr std::size_t kLongestName = 255;

// They are written into files of hosts, one a line, with words behind them.
Result<void> check_name(std::string_view flag, std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  const bool good = name.size() <= kLongestName && std::ranges::all_of(name, is_plain) &&
                    name.front() != '-' && name.front() != '.';
  if (good) return {};
  return Error{ErrorKind::invalid, fmt::format("{} {} is not a name", flag, quoted(name)),
               "take up to 255 letters, digits, '.', '-' and '_', the first of them a letter, a "
               "digit or '_'"};
}

}  // namespace

Result<GroupPlace> place_in_group(const WorkerOptions& options, const exec::GetEnv& env,
                                  const std::string& allocation, const std::string& slurm_node,
                                  const std::string& host) {
  if (!options.group.empty()) {
    TORC_TRY(check_name("--group", options.group));
  }
  if (!options.node_name.empty()) {
    TORC_TRY(check_name("--node-name", options.node_name));
  }
  GroupPlace place{options.group, options.node_name};
  if (place.node_name.empty())
    place.node_name = allocation.empty() || slurm_node.empty() ? host : slurm_node;
  if (place.group.empty() && !allocation.empty() && !slurm_node.empty()) {
    // With spaces, as no name that a person gives has them. Its start is another when it was
    // requeued; so is how often that was done, where Slurm tells no start.
    std::string run = env("SLURM_JOB_START_TIME").value_or("");
    if (run.empty()) run = env("TORC_ALLOCATION_START").value_or("");
    place.group = fmt::format("{}{} {} {} {}", claim::kAllocationGroup,
                              env("SLURM_CLUSTER_NAME").value_or(""), allocation, run,
                              env("SLURM_RESTART_COUNT").value_or("0"));
    const std::string nodes = env("SLURM_JOB_NUM_NODES").value_or("");
    (void)std::from_chars(nodes.data(), nodes.data() + nodes.size(), place.most_nodes);
  }
  return place;
}

}  // namespace torc::worker
