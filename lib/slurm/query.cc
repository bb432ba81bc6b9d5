#include "lib/slurm/query.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <utility>

#include "lib/base/number.h"
#include "lib/base/text.h"

namespace torc::slurm {
namespace {

// States that an allocation never leaves, and reaches when the nodes have said that its processes
// have ended. COMPLETING is none: they may still run. Nor is NODE_FAIL or BOOT_FAIL, where a node
// says nothing, or REVOKED, of which another cluster of a federation has what runs.
constexpr std::array<std::string_view, 3> kEnded{"COMPLETED", "FAILED", "OUT_OF_MEMORY"};
// Such states that no process of the allocation brings about.
constexpr std::array<std::string_view, 4> kCutOff{"CANCELLED", "DEADLINE", "PREEMPTED", "TIMEOUT"};
// States in which it is at work, or will be. What is in neither list is not acted upon.
constexpr std::array<std::string_view, 15> kActiveStates{
    "COMPLETING",   "CONFIGURING",  "PENDING",  "RUNNING",       "REQUEUED",
    "REQUEUE_FED",  "REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD", "SIGNALING",
    "SPECIAL_EXIT", "STAGE_OUT",    "STOPPED",  "SUSPENDED",     "EXPEDITING"};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

AllocationState state_of(std::string_view word) {
  if (holds(kEnded, word)) return AllocationState::ended;
  if (holds(kCutOff, word)) return AllocationState::cut_off;
  if (holds(kActiveStates, word)) return AllocationState::active;
  return AllocationState::unknown;
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
  return !a.cluster.empty() && is_job_id(a.id) && a.start > WallTime{};
}

using States = std::map<Allocation, AllocationState>;

// A line "JobID JobArrayID State Cluster StartTime": an array's elements have a number of their own
// and one within the array.
void note(std::string_view line, States& states, std::set<Allocation>& seen) {
  const auto fields = words(line);
  if (fields.size() != 5) return;
  const auto start = time_of(fields[4]);
  for (auto& [asked, state] : states) {
    if (asked.cluster != fields[3] || (asked.id != fields[0] && asked.id != fields[1])) continue;
    const bool same_run = start && *start == asked.start;
    const AllocationState told = same_run ? state_of(fields[2]) : AllocationState::unknown;
    // Who is told of twice, and not the same, is not known.
    state = seen.insert(asked).second || state == told ? told : AllocationState::unknown;
  }
}

}  // namespace

std::map<Allocation, AllocationState> allocation_states(
    const RunProgram& run, const std::vector<Allocation>& allocations) {
  States states;
  States asked;
  std::string ids;
  for (const Allocation& a : allocations) {
    const bool is_new = states.emplace(a, AllocationState::unknown).second;
    if (!is_new || !may_be_asked(a)) continue;
    asked.emplace(a, AllocationState::unknown);
    ids += (ids.empty() ? "" : ",") + a.id;
  }
  if (asked.empty()) return states;
  const auto answer = run(squeue(ids, "JobID:24,JobArrayID:48,State:24,Cluster:64,StartTime:32"));
  // It fails when it knows none of them: that says nothing of any.
  if (!answer.ok() || answer->exit_code != 0) return states;
  std::set<Allocation> seen;
  for (const auto line : split(answer->out, '\n')) note(line, asked, seen);
  for (const auto& [a, state] : asked) states[a] = state;
  return states;
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

std::optional<std::chrono::seconds> kill_wait(const RunProgram& run) {
  const auto answer = run({"scontrol", "show", "config"});
  if (!answer.ok() || answer->exit_code != 0) return std::nullopt;
  for (const auto line : split(answer->out, '\n')) {
    const auto fields = words(line);  // KillWait = 30 sec
    if (fields.size() < 3 || fields[0] != "KillWait" || fields[1] != "=") continue;
    const auto seconds = whole_number<std::uint32_t>(fields[2]);
    if (!seconds) return std::nullopt;
    return std::chrono::seconds(*seconds);
  }
  return std::nullopt;
}

}  // namespace torc::slurm
