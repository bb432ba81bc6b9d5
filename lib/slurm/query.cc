#include "lib/slurm/query.h"

#include <set>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/slurm/host_list.h"
#include "lib/slurm/squeue.h"

namespace torc::slurm {
namespace {

std::vector<std::string> about(std::string ids, std::string columns) {
  return question("squeue", {"--local", "-a", "-h", "-t", "all", "-j", std::move(ids), "-O",
                             std::move(columns)});
}

bool may_be_asked(const Allocation& a) {
  return !a.cluster.empty() && is_job_id(a.id);
}

// All of them, or none: of a list that was cut nothing is known.
std::vector<std::string> nodes_in(const Line& line) {
  const auto number = whole_number<std::size_t>(line.number_of_nodes);
  auto nodes = expand_host_list(line.nodes);
  if (!number || *number == 0 || !nodes || nodes->size() != *number) return {};
  return *std::move(nodes);
}

AllocationNow read_run(const Allocation& asked, const Line& line) {
  const auto start = time_of(line.start);
  const bool runs = holds(kRuns, line.state);
  if (asked.start.count() > 0 && start != asked.start) {
    // One that has run, and waits without an expected start, waits for another run.
    const bool waits_anew = holds(kWaits, line.state) && line.start == "N/A";
    const bool later_run = (runs || holds(kWaits, line.state)) && start && *start > asked.start;
    return {later_run || waits_anew ? AllocationState::given_up : AllocationState::unknown};
  }
  if (runs && start) {
    auto nodes = nodes_in(line);
    if (nodes.empty()) return {};
    return {AllocationState::active, std::move(nodes), *start, time_of(line.end)};
  }
  if (asked.start.count() <= 0) return {};
  if (holds(kEnded, line.state)) return {AllocationState::ended};
  if (holds(kCutOff, line.state)) return {AllocationState::cut_off};
  if (holds(kGivenUp, line.state)) return {AllocationState::given_up};
  return {};
}

// An array's elements have a number of their own and one within the array.
void note(const Line& line, AllocationAnswer& answer, std::set<Allocation>& seen) {
  for (auto& [asked, now] : answer) {
    if (asked.cluster != line.cluster || (asked.id != line.id && asked.id != line.array_id))
      continue;
    AllocationNow told = read_run(asked, line);
    // Who is told of twice, and not the same, is not known.
    now = seen.insert(asked).second || now == told ? std::move(told) : AllocationNow{};
  }
}

}  // namespace

AllocationAnswer ask_about(const RunProgram& run, const std::vector<Allocation>& allocations) {
  AllocationAnswer answer;
  AllocationAnswer asked;
  std::string ids;
  for (const Allocation& a : allocations) {
    const bool is_new = answer.emplace(a, AllocationNow{}).second;
    if (!is_new || !may_be_asked(a)) continue;
    asked.emplace(a, AllocationNow{});
    ids += (ids.empty() ? "" : ",") + a.id;
  }
  if (asked.empty()) return answer;
  const auto told = run(about(ids, std::string(kColumns)));
  // It fails when it knows none of them: that says nothing of any.
  if (!told.ok() || told->exit_code != 0) return answer;
  std::set<Allocation> seen;
  for (const auto text : whole_lines(told->out)) {
    if (const auto line = read_line(text)) note(*line, asked, seen);
  }
  for (auto& [a, now] : asked) answer[a] = std::move(now);
  return answer;
}

AllocationState state_on(const AllocationNow& allocation, const std::string& node) {
  if (allocation.state != AllocationState::active || node.empty() || allocation.nodes.empty())
    return allocation.state;
  return holds(allocation.nodes, node) ? AllocationState::active : AllocationState::given_up;
}

std::string node_name(const std::optional<std::string>& own,
                      const std::optional<std::string>& all) {
  if (!own || !all) return {};
  const auto nodes = expand_host_list(*all);
  return nodes.ok() && holds(*nodes, *own) ? *own : std::string();
}

namespace {

// Of this very job and cluster; nothing where the answer does not say it.
void ask_times(const RunProgram& run, const std::string& cluster, const std::string& job_id,
               AllocationTimes& times) {
  const auto answer = run(about(job_id, "JobID:24,Cluster:64,StartTime:32,EndTime:32"));
  if (!answer.ok() || answer->exit_code != 0) return;
  for (const auto line : whole_lines(answer->out)) {
    const auto fields = words(line);
    if (fields.size() != 4 || fields[0] != job_id) continue;  // another element of its array
    if (!cluster.empty() && fields[1] != cluster) continue;
    const auto start = time_of(fields[2]);
    if (times.start && start != times.start) continue;  // a later run, of one that was requeued
    const auto end = time_of(fields[3]);
    times.asked = end.has_value();
    if (end) times.end = end;
    if (!cluster.empty()) times.start = start;
  }
}

}  // namespace

AllocationTimes allocation_times(const RunProgram& run, const std::string& cluster,
                                 const std::string& job_id, const AllocationVariables& variables,
                                 WallTime now) {
  AllocationTimes times;
  if (variables.start) times.start = epoch_seconds(*variables.start);
  if (variables.end) times.end = epoch_seconds(*variables.end);
  const bool is_new = times.start && now < *times.start + kJustBegun;
  const bool told = times.end && (is_new || *times.end > now + kNearEnd);
  if (!told && run && is_job_id(job_id)) ask_times(run, cluster, job_id, times);
  if (!times.end && variables.latest_end) {
    times.end = epoch_seconds(*variables.latest_end);
    times.assumed = times.end.has_value();
  }
  return times;
}

// "… Nodes=n[1-2] CPU_IDs=0-3 Mem=4096 GRES= …", a part for all nodes that got the same; in MiB.
std::optional<ByteCount> told_memory(std::string_view details, const std::string& job_id,
                                     const std::string& node) {
  if (!is_job_id(job_id) || node.empty()) return std::nullopt;
  std::set<std::uint64_t> told;
  for (const auto line : whole_lines(details)) {
    const auto fields = words(line);
    if (fields.empty() || fields[0] != "JobId=" + job_id) continue;  // another of its array
    for (std::size_t i = 0; i + 2 < fields.size(); ++i) {
      if (!fields[i].starts_with("Nodes=") || !fields[i + 1].starts_with("CPU_IDs=") ||
          !fields[i + 2].starts_with("Mem="))
        continue;
      const auto nodes = expand_host_list(fields[i].substr(6));
      if (!nodes.ok() || !holds(*nodes, node)) continue;
      told.insert(whole_number<std::uint64_t>(fields[i + 2].substr(4)).value_or(0));
    }
  }
  if (told.size() != 1 || *told.begin() == 0 || *told.begin() >> 40 != 0) return std::nullopt;
  return ByteCount{*told.begin() << 20};
}

std::optional<ByteCount> granted_memory(const RunProgram& run, const std::string& job_id,
                                        const std::string& node) {
  if (!is_job_id(job_id) || node.empty()) return std::nullopt;
  const auto answer =
      run({"env", "-u", "SLURM_CLUSTERS", "scontrol", "show", "job", "-d", "-o", job_id});
  if (!answer.ok() || answer->exit_code != 0) return std::nullopt;
  return told_memory(answer->out, job_id, node);
}

ClusterTimes cluster_times(const RunProgram& run) {
  ClusterTimes times;
  const auto answer = run({"env", "-u", "SLURM_CLUSTERS", "scontrol", "show", "config"});
  if (!answer.ok() || answer->exit_code != 0) return times;
  for (const auto line : whole_lines(answer->out)) {
    const auto fields = words(line);  // KillWait = 30 sec
    if (fields.size() < 3 || fields[1] != "=") continue;
    const auto seconds = whole_number<std::uint32_t>(fields[2]);
    if (!seconds) continue;
    if (fields[0] == "KillWait") times.kill_wait = std::chrono::seconds(*seconds);
    if (fields[0] == "SlurmdTimeout") times.slurmd_timeout = std::chrono::seconds(*seconds);
  }
  return times;
}

}  // namespace torc::slurm
