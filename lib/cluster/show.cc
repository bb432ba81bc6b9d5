#include "lib/cluster/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/slurm/options.h"
#include "lib/spec/yaml/yaml_text.h"

namespace torc::cluster {
namespace {

using nlohmann::ordered_json;

std::string number_or_dash(const std::optional<std::uint64_t>& n) {
  return n ? std::to_string(*n) : "-";
}

std::string gpus_text(const NodeGroup& kind) {
  std::string text;
  for (const Gpus& some : kind.gpus)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", some.count,
                        some.type.empty() ? "" : " ", printable(some.type));
  return text.empty() ? "-" : text;
}

std::string walltime_text(const std::optional<std::chrono::seconds>& walltime) {
  return walltime ? show_exactly(*walltime) : "no limit";
}

void add_to(std::string& text, std::string_view more) {
  text += fmt::format("{}{}", text.empty() ? "" : ", ", more);
}

std::string remarks(const Partition& one, const NodeGroup& kind) {
  std::string text;
  if (!one.is_up) add_to(text, "closed");
  if (one.whole_nodes) add_to(text, "whole nodes");
  if (one.min_nodes > 1) add_to(text, fmt::format("from {} nodes", one.min_nodes));
  if (one.max_nodes)
    add_to(text, fmt::format("to {} node{}", *one.max_nodes, *one.max_nodes == 1 ? "" : "s"));
  if (one.max_cpus && *one.max_cpus < kind.cpus)
    add_to(text, fmt::format("to {} CPUs a node", *one.max_cpus));
  if (one.max_memory && *one.max_memory < kind.memory)
    add_to(text, fmt::format("to {} a node", show_bytes(*one.max_memory)));
  if (kind.usable && *kind.usable < kind.count)
    add_to(text, fmt::format("{} down", kind.count - *kind.usable));
  if (!one.accounts.empty()) add_to(text, "some accounts only");
  return text;
}

std::string limits_text(const Association& a) {
  std::string text;
  if (!a.qos.empty())
    add_to(text, fmt::format("QOS {}", printable(fmt::format("{}", fmt::join(a.qos, ", ")))));
  const Limits& most = a.limits;
  if (most.running_jobs) add_to(text, fmt::format("{} at once", *most.running_jobs));
  if (most.submitted_jobs) add_to(text, fmt::format("{} submitted", *most.submitted_jobs));
  if (most.walltime) add_to(text, fmt::format("to {}", show_exactly(*most.walltime)));
  return text.empty() ? "no limits of its own" : text;
}

ordered_json seconds_or_null(const std::optional<std::chrono::seconds>& time) {
  return json_if(time.has_value(), time.value_or(std::chrono::seconds{0}).count());
}

template <class Number>
ordered_json number_or_null(const std::optional<Number>& n) {
  return json_if(n.has_value(), n.value_or(0));
}

void add(ordered_json& out, const Limits& limits) {
  out["max_walltime_seconds"] = seconds_or_null(limits.walltime);
  out["max_running_jobs"] = number_or_null(limits.running_jobs);
  out["max_submitted_jobs"] = number_or_null(limits.submitted_jobs);
}

ordered_json to_json(const NodeGroup& kind) {
  ordered_json out;
  out["nodes"] = kind.count;
  out["usable_nodes"] = number_or_null(kind.usable);
  out["idle_nodes"] = number_or_null(kind.idle);
  out["cpus"] = kind.cpus;
  out["memory_bytes"] = kind.memory.value;
  out["gpu_kinds"] = ordered_json::array();
  for (const Gpus& some : kind.gpus) {
    ordered_json one;
    one["gpu_type"] = json_or_null(some.type);
    one["gpus"] = some.count;
    out["gpu_kinds"].push_back(std::move(one));
  }
  out["features"] = kind.features;
  return out;
}

ordered_json to_json(const Partition& one) {
  ordered_json out;
  out["partition"] = one.name;
  out["chosen_by_default"] = one.is_default;
  out["open"] = one.is_up;
  out["whole_nodes"] = one.whole_nodes;
  out["max_walltime_seconds"] = seconds_or_null(one.walltime);
  out["default_walltime_seconds"] = seconds_or_null(one.default_walltime);
  out["min_nodes"] = json_or_null(one.min_nodes);
  out["max_nodes"] = number_or_null(one.max_nodes);
  out["max_cpus"] = number_or_null(one.max_cpus);
  out["max_memory_bytes"] =
      json_if(one.max_memory.has_value(), one.max_memory.value_or(ByteCount{}).value);
  out["accounts"] = one.accounts;
  out["denied_accounts"] = one.denied_accounts;
  out["submit_from"] = one.submit_from;
  out["node_groups"] = ordered_json::array();
  for (const NodeGroup& kind : one.nodes) out["node_groups"].push_back(to_json(kind));
  return out;
}

ordered_json head_json(const Cluster& cluster, const std::string& profile) {
  ordered_json out;
  out["cluster"] = json_or_null(cluster.name);
  out["profile"] = json_or_null(profile);
  out["read_at"] = json_time(cluster.read_at);
  return out;
}

}  // namespace

std::string to_text(const Cluster& cluster, std::optional<std::size_t> most) {
  std::string text =
      fmt::format("cluster {}", cluster.name.empty() ? "without a name" : printable(cluster.name));
  if (!cluster.slurm_version.empty()) text += ", Slurm " + printable(cluster.slurm_version);
  if (cluster.accounting)
    text += *cluster.accounting ? ", with accounting" : ", without accounting";
  text += "\n\n";
  Table table({{"partition", Align::left, Shorten::yes},
               {"nodes", Align::right},
               {"idle", Align::right},
               {"CPUs", Align::right},
               {"memory", Align::right},
               {"GPUs"},
               {"walltime"},
               {"remarks", Align::left, Shorten::yes}});
  for (const Partition& one : cluster.partitions) {
    const std::string name = printable(one.name) + (one.is_default ? " *" : "");
    if (one.nodes.empty())
      table.add({name, "0", "-", "-", "-", "-", walltime_text(one.walltime), "no nodes"});
    for (const NodeGroup& kind : one.nodes)
      table.add({name, std::to_string(kind.count), number_or_dash(kind.idle),
                 std::to_string(kind.cpus), show_bytes(kind.memory), gpus_text(kind),
                 walltime_text(one.walltime), remarks(one, kind)});
  }
  text += table.text(most);
  if (std::ranges::any_of(cluster.partitions, &Partition::is_default))
    text += "* marks the default partition\n";
  if (!cluster.associations.empty()) text += "\nyour accounts\n";
  for (const Association& a : cluster.associations)
    text += fmt::format("  {}{}{}: {}\n", printable(a.account), a.partition.empty() ? "" : " in ",
                        printable(a.partition), limits_text(a));
  if (!cluster.limits_missing.empty())
    text += fmt::format("\nnot all limits of accounts are known: {}\n",
                        printable(cluster.limits_missing));
  return text;
}

ordered_json to_json(const Cluster& cluster, const std::string& profile) {
  ordered_json out = head_json(cluster, profile);
  out["slurm_version"] = json_or_null(cluster.slurm_version);
  out["accounting_storage"] = !cluster.accounting   ? "unknown"
                              : *cluster.accounting ? "kept"
                                                    : "none";
  out["partitions"] = ordered_json::array();
  for (const Partition& one : cluster.partitions) out["partitions"].push_back(to_json(one));
  out["qos_limits"] = ordered_json::array();
  for (const Qos& q : cluster.qos) {
    ordered_json one;
    one["qos"] = q.name;
    add(one, q.limits);
    out["qos_limits"].push_back(std::move(one));
  }
  out["associations"] = ordered_json::array();
  for (const Association& a : cluster.associations) {
    ordered_json one;
    one["account"] = a.account;
    one["partition"] = json_or_null(a.partition);
    one["allowed_qos"] = a.qos;
    one["default_qos"] = json_or_null(a.default_qos);
    add(one, a.limits);
    out["associations"].push_back(std::move(one));
  }
  out["limits_missing"] = json_or_null(cluster.limits_missing);
  return out;
}

std::string scheduler_text(const Partition& partition, const Need& need,
                           const std::string& account) {
  using spec::yaml_quoted;
  std::string text = "slurm_schedulers:\n";
  text += fmt::format("  - name: {}\n    account: {}\n", yaml_quoted(partition.name),
                      yaml_quoted(account));
  if (!partition.is_default)
    text += fmt::format("    partition: {}\n", yaml_quoted(partition.name));
  text += fmt::format("    nodes: {}\n", need.nodes);
  auto walltime = need.walltime ? need.walltime : partition.walltime;
  if (walltime) text += fmt::format("    walltime: \"{}\"\n", slurm::show_walltime(*walltime));
  if (need.gpus != 0)
    text += fmt::format("    gres: {}\n",
                        yaml_quoted(fmt::format("gpu:{}{}{}", need.gpu_type,
                                                need.gpu_type.empty() ? "" : ":", need.gpus)));
  return text;
}

std::string to_text(const Cluster& cluster, const Need& need, const std::vector<Fit>& fits,
                    std::optional<std::size_t> most) {
  Table table({{"partition", Align::left, Shorten::yes},
               {"nodes", Align::right},
               {"idle", Align::right},
               {"jobs a node", Align::right},
               {"walltime"},
               {"fits", Align::left, Shorten::yes}});
  for (const Fit& fit : fits) {
    const Partition& one = cluster.partitions[fit.partition];
    const bool known = fit.nodes != 0;
    table.add({printable(one.name), std::to_string(fit.nodes),
               known ? number_or_dash(fit.idle) : "-", known ? std::to_string(fit.at_once) : "-",
               walltime_text(one.walltime), fit.why_not.empty() ? "yes" : "no: " + fit.why_not});
  }
  std::string text = table.text(most);
  if (fits.empty() || !fits.front().why_not.empty()) return text + "\nno partition can hold it\n";
  const Partition& best = cluster.partitions[fits.front().partition];
  const std::string own = account_for(cluster, best, need);
  const std::string account = own.empty() ? "YOUR_ACCOUNT" : own;
  text += fmt::format("\n{}: {}.\nIn the workflow file:\n\n{}", printable(best.name),
                      fits.front().advantage, scheduler_text(best, need, account));
  return text;
}

ordered_json to_json(const Cluster& cluster, const Need& need, const std::vector<Fit>& fits,
                     const std::string& profile) {
  ordered_json out = head_json(cluster, profile);
  ordered_json asked;
  asked["nodes"] = need.nodes;
  asked["cpus"] = need.cpus;
  asked["memory_bytes"] = need.memory.value;
  asked["gpus"] = need.gpus;
  asked["gpu_type"] = json_or_null(need.gpu_type);
  asked["needed_walltime_seconds"] = seconds_or_null(need.walltime);
  asked["account"] = json_or_null(need.account);
  out["need"] = std::move(asked);
  out["partitions"] = ordered_json::array();
  for (const Fit& fit : fits) {
    ordered_json one;
    one["partition"] = cluster.partitions[fit.partition].name;
    one["fits"] = fit.why_not.empty();
    one["reason"] = json_or_null(fit.why_not);
    one["nodes"] = fit.nodes;
    one["idle_nodes"] = json_if(fit.nodes != 0 && fit.idle.has_value(), fit.idle.value_or(0));
    one["jobs_a_node"] = json_if(fit.nodes != 0, fit.at_once);
    one["advantage"] = json_or_null(fit.advantage);
    out["partitions"].push_back(std::move(one));
  }
  return out;
}

}  // namespace torc::cluster
