#include "lib/slurm/query.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/text/text.h"
#include "lib/slurm/host_list.h"

namespace torc::slurm {
namespace {

// States that an allocation never leaves, and reaches when the nodes have said that its processes
// have ended. COMPLETING is none: they may still run.
constexpr std::array<std::string_view, 3> kEnded{"COMPLETED", "FAILED", "OUT_OF_MEMORY"};
// Such states that no process of the allocation brings about.
constexpr std::array<std::string_view, 4> kCutOff{"CANCELLED", "DEADLINE", "PREEMPTED", "TIMEOUT"};
// Such states where a node says nothing. (REVOKED is none: another cluster has what runs.)
constexpr std::array<std::string_view, 2> kGivenUp{"NODE_FAIL", "BOOT_FAIL"};
// States of a run with nodes. What is in no list is not acted upon.
constexpr std::array<std::string_view, 8> kRuns{"COMPLETING", "CONFIGURING", "RUNNING",
                                                "RESIZING",   "SIGNALING",   "STOPPED",
                                                "SUSPENDED",  "EXPEDITING"};
// States of one that waits for its run: after a run, for the next one.
constexpr std::array<std::string_view, 5> kWaits{"PENDING", "REQUEUED", "REQUEUE_FED",
                                                 "REQUEUE_HOLD", "SPECIAL_EXIT"};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// "1234", and "1234_7" of an array: what may stand on a command line.
bool is_job_id(std::string_view id) {
  const auto good = [](char c) { return is_digit(c) || c == '_'; };
  return !id.empty() && id.front() != '_' && id.size() < 32 && std::ranges::all_of(id, good);
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  while (true) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return found;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(" \t\r"), line.size());
    found.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<WallTime> epoch_seconds(std::string_view text) {
  constexpr std::int64_t kMost = 253'402'300'799;  // the year 9999
  const std::int64_t seconds = whole_number<std::int64_t>(text).value_or(0);
  if (seconds <= 0 || seconds > kMost) return std::nullopt;
  return std::chrono::duration_cast<WallTime>(std::chrono::seconds(seconds));
}

// "2024-05-01T12:00:00", which Slurm prints in local time.
std::optional<WallTime> local_time(const std::string& text) {
  std::tm parts{};
  const char* const rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  parts.tm_isdst = -1;
  const auto seconds = std::mktime(&parts);
  if (seconds <= 0) return std::nullopt;
  return std::chrono::duration_cast<WallTime>(std::chrono::seconds(seconds));
}

// Seconds since 1970 are free of time zones; a Slurm that does not know the format prints local
// time.
std::optional<WallTime> time_of(std::string_view text) {
  if (const auto seconds = epoch_seconds(text)) return seconds;
  return local_time(std::string(text));
}

// Of this host's own cluster, whatever the user's variables say, with jobs of all partitions.
std::vector<std::string> squeue(std::string ids, std::string columns) {
  constexpr std::string_view kQuestion =
      "env -u SLURM_CLUSTERS SLURM_TIME_FORMAT=%s squeue --local -a -h -t all -j";
  const auto question = split(kQuestion, ' ');
  std::vector<std::string> argv(question.begin(), question.end());
  argv.insert(argv.end(), {std::move(ids), "-O", std::move(columns)});
  return argv;
}

bool may_be_asked(const Allocation& a) {
  return !a.cluster.empty() && is_job_id(a.id);
}

// Of each allocation in one line. Slurm pads each column, and what is too long for its column runs
// into the next one: then the number of fields is another one.
constexpr std::string_view kColumns =
    "JobID:24,JobArrayID:48,Cluster:64,NodeList:16384,NumNodes:12,State:24,StartTime:32,EndTime:32";

struct Line {
  std::string_view id;
  std::string_view array_id;
  std::string_view cluster;
  std::string_view nodes;  // empty: none
  std::string_view number_of_nodes;
  std::string_view state;
  std::string_view start;
  std::string_view end;
};

// One that has nodes has a field more than one that waits for some.
std::optional<Line> read_line(std::string_view text) {
  const auto f = words(text);
  if (f.size() == 8) return Line{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]};
  if (f.size() == 7) return Line{f[0], f[1], f[2], {}, f[3], f[4], f[5], f[6]};
  return std::nullopt;
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

// The last line may have been cut where it does not end.
std::vector<std::string_view> whole_lines(std::string_view text) {
  auto lines = split(text, '\n');
  if (!text.empty() && text.back() != '\n') lines.pop_back();
  return lines;
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
  const auto told = run(squeue(ids, std::string(kColumns)));
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
  const auto answer = run(squeue(job_id, "JobID:24,Cluster:64,StartTime:32,EndTime:32"));
  if (!answer.ok() || answer->exit_code != 0) return;
  for (const auto line : split(answer->out, '\n')) {
    const auto fields = words(line);
    if (fields.size() != 4 || fields[0] != job_id) continue;  // another element of its array
    if (!cluster.empty() && fields[1] != cluster) continue;
    times.end = time_of(fields[3]);
    if (!cluster.empty()) times.start = time_of(fields[2]);
  }
}

}  // namespace

AllocationTimes allocation_times(const RunProgram& run, const std::string& cluster,
                                 const std::string& job_id, const AllocationVariables& variables) {
  AllocationTimes times;
  if (variables.start) times.start = epoch_seconds(*variables.start);
  if (variables.end) times.end = epoch_seconds(*variables.end);
  if (!times.end && run && is_job_id(job_id)) ask_times(run, cluster, job_id, times);
  if (!times.end && variables.latest_end) {
    times.end = epoch_seconds(*variables.latest_end);
    times.assumed = times.end.has_value();
  }
  return times;
}

ClusterTimes cluster_times(const RunProgram& run) {
  ClusterTimes times;
  const auto answer = run({"scontrol", "show", "config"});
  if (!answer.ok() || answer->exit_code != 0) return times;
  for (const auto line : split(answer->out, '\n')) {
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
