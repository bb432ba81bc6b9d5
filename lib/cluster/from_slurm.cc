#include "lib/cluster/from_slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/slurm/shown.h"
#include "lib/slurm/squeue.h"

namespace torc::cluster {
namespace {

constexpr int kNoProgram = 127;

bool says_nothing(std::string_view value) {
  return value.empty() || value == "(null)" || value == "N/A" || value == "NONE";
}

// "ALL" stands for everybody.
std::vector<std::string> names_in(std::string_view value) {
  std::vector<std::string> names;
  if (says_nothing(value) || value == "ALL") return names;
  for (const auto name : split(value, ',')) {
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

Error not_understood(std::string_view program, std::string_view line) {
  return Error{ErrorKind::io,
               fmt::format("{} printed a line that torc does not understand: {}", program,
                           torc::quoted(line)),
               "give a profile of the cluster instead, with --profile FILE"};
}

// Of one partition, "Name=value" by blanks.
using Fields = std::map<std::string_view, std::string_view>;
Fields fields_of(std::string_view line) {
  Fields fields;
  for (const auto word : slurm::words(line)) {
    const auto equals = word.find('=');
    if (equals != std::string_view::npos)
      fields.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  return fields;
}

std::string_view field(const Fields& fields, std::string_view name) {
  const auto at = fields.find(name);
  return at == fields.end() ? std::string_view{} : at->second;
}

bool is_no_limit(std::string_view value) {
  return says_nothing(value) || value == "UNLIMITED" || value == "INFINITE";
}

// Cells that are a limit, or none. One that is neither is not taken for none: then it was not all
// understood.
class Cells {
 public:
  std::optional<std::uint32_t> number(std::string_view value) {
    if (is_no_limit(value)) return std::nullopt;
    const auto n = whole_number<std::uint32_t>(value);
    understood_ = understood_ && n.has_value();
    return n;
  }
  std::optional<std::chrono::seconds> time(std::string_view value) {
    if (is_no_limit(value)) return std::nullopt;
    const auto time = parse_time_limit(value);
    understood_ = understood_ && time.ok();
    return time.ok() ? *time : std::nullopt;
  }
  Limits limits(std::string_view time_cell, std::string_view running, std::string_view submitted) {
    return {time(time_cell), number(running), number(submitted)};
  }
  [[nodiscard]] bool understood() const { return understood_; }

 private:
  bool understood_ = true;
};

struct Asked {
  const slurm::RunProgram& run;

  Result<std::string> operator()(std::string_view program, std::vector<std::string> options) const {
    const auto answer = run(slurm::question(program, std::move(options)));
    const std::string name(program);
    if (!answer.ok() || answer->exit_code == kNoProgram)
      return Error{ErrorKind::not_found,
                   fmt::format("there is no Slurm here: no program '{}'", name),
                   "run this on a node of the cluster, or give a profile with --profile FILE"};
    if (answer->exit_code != 0)
      return Error{ErrorKind::busy,
                   fmt::format("Slurm does not answer {}: {}", name, slurm::failure_of(*answer)),
                   "try again later, or give a profile with --profile FILE"};
    if (!answer->out.empty() && answer->out.back() != '\n')
      return Error{ErrorKind::io, fmt::format("the answer of {} is incomplete", name), "try again"};
    return answer->out;
  }
};

void read_config(std::string_view text, Cluster& cluster, bool& whole_nodes) {
  for (const auto line : slurm::whole_lines(text)) {
    const auto fields = slurm::words(line);  // ClusterName = alpha
    if (fields.size() < 3 || fields[1] != "=") continue;
    if (fields[0] == "ClusterName") cluster.name = fields[2];
    if (fields[0] == "SLURM_VERSION") cluster.slurm_version = fields[2];
    if (fields[0] == "SelectType") whole_nodes = fields[2] == "select/linear";
    if (fields[0] == "AccountingStorageType")
      cluster.accounting = !fields[2].ends_with("/none") && fields[2] != "(null)";
  }
}

// Limits make a recommendation better; without them there is one all the same.
void ask_limits(const Asked& ask, const std::string& user, Cluster& cluster) {
  const auto qos =
      ask("sacctmgr", {"-n", "-P", "show", "qos", fmt::format("format={}", kQosColumns)});
  const auto mine = ask("sacctmgr", {"-n", "-P", "show", "assoc", "user=" + user,
                                     fmt::format("format={}", kAssociationColumns)});
  bool all_understood = true;
  if (qos.ok()) cluster.qos = read_qos(*qos, all_understood);
  if (mine.ok()) cluster.associations = read_associations(*mine, all_understood);
  if (!all_understood) cluster.limits_missing = "sacctmgr printed what torc does not understand";
  if (!qos.ok()) cluster.limits_missing = qos.error().what;
  if (!mine.ok()) cluster.limits_missing = mine.error().what;
}

}  // namespace

NodeState read_state(std::string_view text) {
  // Signs behind the word: * does not respond, $ maintenance, ! and % powered off soon, @ and ^
  // reboots. ~ (powered off until it is needed), # (powers up) and - (planned) keep it usable.
  constexpr std::string_view kSigns = "*~#!%$@^-";
  const auto end = std::min(text.find_first_of(kSigns), text.size());
  const auto word = text.substr(0, end);
  const auto signs = text.substr(end);
  if (signs.find_first_of("*$!%@^") != std::string_view::npos) return {};
  const bool idle = word == "idle" || word == "planned";
  // "reserved" is for whoever reserved it.
  constexpr std::array<std::string_view, 3> kBusy{"mixed", "allocated", "completing"};
  return {idle || slurm::holds(kBusy, word), idle};
}

std::vector<Gpus> read_gres(std::string_view text) {
  std::vector<Gpus> all;
  // Commas stand within parentheses, too: gpu:a100:4(S:0,2).
  std::string plain;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (depth == 0) plain += c;
    if (c == ')' && depth > 0) --depth;
  }
  for (const auto one : split(plain, ',')) {
    const auto parts = split(one, ':');
    if (parts.empty() || parts[0] != "gpu" || parts.size() > 3) continue;
    const auto count = parts.size() == 1 ? std::optional<std::uint32_t>(1)
                                         : whole_number<std::uint32_t>(parts.back());
    // "gpu:a100" is one.
    Gpus some{parts.size() == 3 ? std::string(parts[1]) : "", count.value_or(1)};
    if (!count && parts.size() == 2) some.type = parts[1];
    if (!count && parts.size() == 3) continue;
    if (some.count != 0) all.push_back(std::move(some));
  }
  return all;
}

Result<std::vector<Partition>> read_partitions(std::string_view text) {
  std::vector<Partition> all;
  for (const auto line : slurm::whole_lines(text)) {
    if (trimmed(line).empty()) continue;
    const Fields fields = fields_of(line);
    Cells cells;
    Partition one;
    one.name = field(fields, "PartitionName");
    if (one.name.empty()) return not_understood("scontrol", line);
    one.is_default = field(fields, "Default") == "YES";
    one.is_up = field(fields, "State") == "UP";
    one.whole_nodes = field(fields, "OverSubscribe").starts_with("EXCLUSIVE");
    one.walltime = cells.time(field(fields, "MaxTime"));
    one.default_walltime = cells.time(field(fields, "DefaultTime"));
    one.min_nodes = cells.number(field(fields, "MinNodes")).value_or(0);
    one.max_nodes = cells.number(field(fields, "MaxNodes"));
    one.max_cpus = cells.number(field(fields, "MaxCPUsPerNode"));
    if (const auto mib = cells.number(field(fields, "MaxMemPerNode")); mib && *mib != 0)
      one.max_memory = mebibytes(*mib);
    one.accounts = names_in(field(fields, "AllowAccounts"));
    one.denied_accounts = names_in(field(fields, "DenyAccounts"));
    one.submit_from = names_in(field(fields, "AllocNodes"));
    // Filled by sinfo; until then what is to be found there.
    if (const auto nodes = cells.number(field(fields, "TotalNodes")); nodes && *nodes != 0)
      one.nodes.push_back({*nodes});
    if (!cells.understood()) return not_understood("scontrol", line);
    all.push_back(std::move(one));
  }
  return all;
}

Result<std::map<std::string, std::vector<NodeGroup>>> read_nodes(std::string_view text) {
  std::map<std::string, std::vector<NodeGroup>> all;
  for (const auto line : slurm::whole_lines(text)) {
    if (trimmed(line).empty()) continue;
    const auto f = split(line, '|');
    if (f.size() != 7) return not_understood("sinfo", line);
    NodeGroup kind;
    const auto count = whole_number<std::uint32_t>(f[1]);
    // "64+" where the nodes of a line differ, which -e keeps apart.
    const auto cpus = leading_number<std::uint32_t>(f[2]);
    const auto mib = leading_number<std::uint64_t>(f[3]);
    if (!count || !cpus || !mib || *mib >= (std::uint64_t{1} << 40U))
      return not_understood("sinfo", line);
    kind.cpus = *cpus;
    kind.memory = mebibytes(*mib);
    kind.features = names_in(f[4]);
    kind.gpus = read_gres(f[5]);
    const NodeState state = read_state(f[6]);
    std::string_view name = f[0];
    if (name.ends_with('*')) name.remove_suffix(1);
    auto& kinds = all[std::string(name)];
    auto same = std::ranges::find_if(kinds, [&](const NodeGroup& other) {
      return other.cpus == kind.cpus && other.memory == kind.memory && other.gpus == kind.gpus &&
             other.features == kind.features;
    });
    if (same == kinds.end()) same = kinds.insert(kinds.end(), std::move(kind));
    same->count += *count;
    same->usable = same->usable.value_or(0) + (state.usable ? *count : 0);
    same->idle = same->idle.value_or(0) + (state.idle ? *count : 0);
  }
  return all;
}

namespace {

// The cells of each line that has as many as it should; nothing of empty lines.
template <class Take>
void each_line(std::string_view text, std::size_t cells, bool& all_understood, const Take& take) {
  for (const auto line : slurm::whole_lines(text)) {
    if (trimmed(line).empty()) continue;
    std::string closed(line);
    closed += '|';  // so that an empty last field is one
    const auto f = split(closed, '|');
    Cells limits;
    if (f.size() == cells && !f[0].empty())
      take(f, limits);
    else
      all_understood = false;
    all_understood = all_understood && limits.understood();
  }
}

}  // namespace

std::vector<Qos> read_qos(std::string_view text, bool& all_understood) {
  std::vector<Qos> all;
  each_line(text, 4, all_understood, [&](const auto& f, Cells& cells) {
    all.push_back({std::string(f[0]), cells.limits(f[1], f[2], f[3])});
  });
  return all;
}

std::vector<Association> read_associations(std::string_view text, bool& all_understood) {
  std::vector<Association> all;
  each_line(text, 7, all_understood, [&](const auto& f, Cells& cells) {
    all.push_back({std::string(f[0]), std::string(f[1]), names_in(f[2]), std::string(f[3]),
                   cells.limits(f[4], f[5], f[6])});
  });
  return all;
}

Result<Cluster> ask_slurm(const slurm::RunProgram& run, const std::string& user, WallTime now) {
  const Asked ask{run};
  Cluster cluster;
  cluster.read_at = now;
  bool whole_nodes = false;
  TORC_ASSIGN(const std::string config, ask("scontrol", {"show", "config"}));
  read_config(config, cluster, whole_nodes);
  TORC_ASSIGN(const std::string partitions, ask("scontrol", {"-o", "show", "partition"}));
  TORC_ASSIGN(cluster.partitions, read_partitions(partitions));
  TORC_ASSIGN(const std::string nodes,
              ask("sinfo", {"--local", "-h", "-e", "-o", std::string(kNodeColumns)}));
  TORC_ASSIGN(auto kinds, read_nodes(nodes));
  if (cluster.partitions.empty())
    return Error{ErrorKind::io, "Slurm lists no partition that you may use",
                 "ask whoever runs the cluster, or give a profile with --profile FILE"};
  for (Partition& one : cluster.partitions) {
    auto& found = kinds[one.name];
    // Nodes can come and go meanwhile, but not all of them.
    if (found.empty() && !one.nodes.empty())
      return Error{ErrorKind::io,
                   fmt::format("sinfo lists no nodes of partition {}, which scontrol says has {}",
                               torc::quoted(one.name), one.nodes.front().count),
                   "try again"};
    one.nodes = std::move(found);
    one.whole_nodes = one.whole_nodes || whole_nodes;
  }
  if (cluster.accounting.value_or(false)) ask_limits(ask, user, cluster);
  return cluster;
}

}  // namespace torc::cluster
