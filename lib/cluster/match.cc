#include "lib/cluster/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc::cluster {
namespace {

bool holds(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

bool lets_in(const Partition& partition, const std::string& account) {
  return (partition.accounts.empty() || holds(partition.accounts, account)) &&
         !holds(partition.denied_accounts, account);
}

// Those of the user's that count for `need` there. Without any nobody knows which there are, and
// Slurm decides. Of an account that has one for the partition itself that one counts.
std::vector<const Association*> own_accounts(const Cluster& cluster, const Partition& partition,
                                             const Need& need) {
  const auto is_for = [&](const Association& a, const std::string& name) {
    return a.partition == name && (need.account.empty() || a.account == need.account) &&
           lets_in(partition, a.account);
  };
  std::vector<const Association*> own;
  for (const Association& a : cluster.associations) {
    const bool of_it = std::ranges::any_of(cluster.associations, [&](const Association& other) {
      return other.account == a.account && other.partition == partition.name;
    });
    if (is_for(a, of_it ? partition.name : "")) own.push_back(&a);
  }
  return own;
}

std::string account_problem(const Cluster& cluster, const Partition& partition, const Need& need) {
  const std::string account = printable(need.account);
  if (!account.empty() && !lets_in(partition, need.account))
    return fmt::format("account {} may not use it", account);
  if (cluster.associations.empty() || !own_accounts(cluster, partition, need).empty()) return "";
  return account.empty() ? "none of your accounts may use it"
                         : fmt::format("you may not use account {} there", account);
}

bool holds(const Partition& partition, const NodeGroup& kind, const Need& need) {
  return partition.cpus_of(kind) >= need.cpus && partition.memory_of(kind) >= need.memory &&
         kind.gpus_of(need.gpu_type) >= need.gpus;
}

// The first thing that no node of it has enough of.
std::string lack(const Partition& partition, const Need& need) {
  std::uint32_t cpus = 0;
  std::uint32_t gpus = 0;
  ByteCount memory;
  for (const NodeGroup& kind : partition.nodes) {
    cpus = std::max(cpus, partition.cpus_of(kind));
    memory = std::max(memory, partition.memory_of(kind));
    gpus = std::max(gpus, kind.gpus_of(need.gpu_type));
  }
  const std::string type = printable(need.gpu_type);
  if (gpus < need.gpus && gpus == 0)
    return fmt::format("no {}GPUs", type.empty() ? "" : type + " ");
  if (gpus < need.gpus) return fmt::format("at most {} GPU{} a node", gpus, gpus == 1 ? "" : "s");
  if (cpus < need.cpus) return fmt::format("at most {} CPU{} a node", cpus, cpus == 1 ? "" : "s");
  if (memory < need.memory) return fmt::format("at most {} of memory a node", show_bytes(memory));
  return "no node has all of it";
}

std::string why_not(const Cluster& cluster, const Partition& partition, const Need& need,
                    std::uint64_t nodes) {
  if (!partition.is_up) return "it is closed";
  if (auto problem = account_problem(cluster, partition, need); !problem.empty()) return problem;
  if (nodes == 0) return lack(partition, need);
  if (partition.max_nodes && need.nodes > *partition.max_nodes)
    return fmt::format("at most {} node{} a job", *partition.max_nodes,
                       *partition.max_nodes == 1 ? "" : "s");
  if (need.nodes < partition.min_nodes)
    return fmt::format("at least {} nodes a job", partition.min_nodes);
  if (nodes < need.nodes) return fmt::format("only {} such node{}", nodes, nodes == 1 ? "" : "s");
  if (need.walltime && partition.walltime && *need.walltime > *partition.walltime)
    return fmt::format("at most {}", show_exactly(*partition.walltime));
  const auto by_account =
      limits_of(cluster, association_for(cluster, partition, need), "").walltime;
  if (need.walltime && by_account && *need.walltime > *by_account)
    return fmt::format("at most {} by your account", show_exactly(*by_account));
  return "";
}

std::uint32_t times(std::uint64_t has, std::uint64_t wants) {
  return wants == 0 ? UINT32_MAX
                    : static_cast<std::uint32_t>(std::min<std::uint64_t>(has / wants, UINT32_MAX));
}

Fit fit_of(const Cluster& cluster, std::size_t index, const Need& need) {
  const Partition& partition = cluster.partitions[index];
  Fit fit{index};
  bool any = false;
  fit.idle = 0;
  for (std::size_t k = 0; k < partition.nodes.size(); ++k) {
    const NodeGroup& kind = partition.nodes[k];
    if (!holds(partition, kind, need)) continue;
    const NodeGroup& best = partition.nodes[fit.kind];
    if (!any || std::tie(kind.memory, kind.cpus) < std::tie(best.memory, best.cpus)) fit.kind = k;
    any = true;
    fit.nodes += kind.count;
    if (fit.idle && kind.idle)
      *fit.idle += *kind.idle;
    else
      fit.idle = std::nullopt;
  }
  fit.why_not = why_not(cluster, partition, need, fit.nodes);
  if (!any) return fit;
  const NodeGroup& kind = partition.nodes[fit.kind];
  fit.at_once = std::min({times(partition.cpus_of(kind), need.cpus),
                          times(partition.memory_of(kind).value, need.memory.value),
                          times(kind.gpus_of(need.gpu_type), need.gpus)});
  return fit;
}

bool is_for_trials(const std::string& name) {
  std::string low = name;
  std::ranges::transform(low, low.begin(), lower);
  return low.find("debug") != std::string::npos || low.find("test") != std::string::npos;
}

auto rank(const Cluster& cluster, const Fit& fit, const Need& need) {
  const Partition& partition = cluster.partitions[fit.partition];
  const NodeGroup& kind = partition.nodes[fit.kind];
  const bool wastes_gpus = need.gpus == 0 && kind.all_gpus() != 0;
  const bool wastes_node = partition.whole_nodes && fit.at_once > 1;
  const bool waits = fit.idle && *fit.idle < need.nodes;
  return std::tuple(is_for_trials(partition.name), wastes_gpus, wastes_node, waits,
                    kind.memory.value, kind.cpus,
                    partition.walltime.value_or(std::chrono::seconds::max()), !partition.is_default,
                    fit.partition);
}

std::string advantage_of(const Cluster& cluster, const Fit& fit, const Need& need) {
  const Partition& partition = cluster.partitions[fit.partition];
  const NodeGroup& kind = partition.nodes[fit.kind];
  std::string text = fmt::format("its nodes of {} CPUs and {} are the smallest that hold it",
                                 kind.cpus, show_bytes(kind.memory));
  if (fit.idle)
    text += fmt::format(", {} of {} {} idle", *fit.idle, fit.nodes, *fit.idle == 1 ? "is" : "are");
  if (fit.at_once > 1 && need.nodes == 1)
    text += fmt::format("; {} such jobs fit on one{}", fit.at_once,
                        partition.whole_nodes ? ", which an allocation has for itself" : "");
  return text;
}

}  // namespace

Limits limits_of(const Cluster& cluster, const Association* association, const std::string& qos) {
  Limits limits = association != nullptr ? association->limits : Limits{};
  const std::string& name = qos.empty() && association != nullptr ? association->default_qos : qos;
  const auto named = std::ranges::find(cluster.qos, name, &Qos::name);
  if (named == cluster.qos.end()) return limits;
  const auto take = [](auto& limit, const auto& of_qos) {
    if (of_qos) limit = of_qos;
  };
  take(limits.walltime, named->limits.walltime);
  take(limits.running_jobs, named->limits.running_jobs);
  take(limits.submitted_jobs, named->limits.submitted_jobs);
  return limits;
}

const Association* association_for(const Cluster& cluster, const Partition& partition,
                                   const Need& need) {
  const auto own = own_accounts(cluster, partition, need);
  const auto best = std::ranges::max_element(own, {}, [&](const Association* a) {
    return limits_of(cluster, a, "").walltime.value_or(std::chrono::seconds::max());
  });
  return best == own.end() ? nullptr : *best;
}

std::string account_for(const Cluster& cluster, const Partition& partition, const Need& need) {
  const Association* own = association_for(cluster, partition, need);
  return own == nullptr ? need.account : own->account;
}

std::vector<Fit> match(const Cluster& cluster, const Need& need) {
  std::vector<Fit> all;
  all.reserve(cluster.partitions.size());
  for (std::size_t i = 0; i < cluster.partitions.size(); ++i)
    all.push_back(fit_of(cluster, i, need));
  std::ranges::stable_sort(all, [&](const Fit& a, const Fit& b) {
    if (!a.why_not.empty() || !b.why_not.empty()) return a.why_not.empty() && !b.why_not.empty();
    return rank(cluster, a, need) < rank(cluster, b, need);
  });
  if (!all.empty() && all.front().why_not.empty())
    all.front().advantage = advantage_of(cluster, all.front(), need);
  return all;
}

}  // namespace torc::cluster
