#include "lib/slurm/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace torc::slurm {
namespace {

// States that an allocation never leaves. COMPLETING is not one: its processes may still run.
constexpr std::array<std::string_view, 10> kTerminal{
    "BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};
// All others that Slurm documents. A state outside both lists is not acted upon.
constexpr std::array<std::string_view, 15> kLiving{
    "COMPLETING",   "CONFIGURING",  "PENDING",  "RUNNING",       "REQUEUED",
    "REQUEUE_FED",  "REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD", "SIGNALING",
    "SPECIAL_EXIT", "STAGE_OUT",    "STOPPED",  "SUSPENDED",     "EXPEDITING"};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

AllocationState state_of(std::string_view word) {
  if (holds(kTerminal, word)) return AllocationState::ended;
  if (holds(kLiving, word)) return AllocationState::active;
  return AllocationState::unknown;
}

// "1234", and "1234_7" of an array: what may stand on a command line.
bool is_job_id(std::string_view id) {
  const auto good = [](char c) { return (c >= '0' && c <= '9') || c == '_'; };
  return !id.empty() && id.front() != '_' && id.size() < 32 &&
         std::all_of(id.begin(), id.end(), good);
}

bool says_invalid_id(const CommandOutput& output) {
  return output.exit_code != 0 && output.err.find("Invalid job id") != std::string::npos;
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

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

std::string joined(const std::vector<std::string>& ids) {
  std::string list;
  for (const auto& id : ids) list += (list.empty() ? "" : ",") + id;
  return list;
}

// `squeue` printed "%A %i %T": an array's elements have a number of their own and one within the
// array.
void note_listed(std::string_view out, std::map<std::string, AllocationState>& states) {
  for (const auto line : lines(out)) {
    const auto fields = words(line);
    if (fields.size() != 3) continue;
    for (const auto id : {fields[0], fields[1]}) {
      if (const auto asked = states.find(std::string(id)); asked != states.end()) {
        asked->second = state_of(fields[2]);
      }
    }
  }
}

AllocationState confirm(const RunProgram& run, const std::string& id) {
  const auto answer = run({"scontrol", "-o", "show", "job", id});
  if (!answer.ok()) return AllocationState::unknown;
  if (says_invalid_id(*answer)) return AllocationState::ended;
  if (answer->exit_code != 0) return AllocationState::unknown;
  // An array's id shows all its elements, one a line: over only when each is.
  auto state = AllocationState::unknown;
  for (const auto line : lines(answer->out)) {
    for (const auto field : words(line)) {
      if (!field.starts_with("JobState=")) continue;
      const auto here = state_of(field.substr(std::string_view("JobState=").size()));
      if (here != AllocationState::ended) return here;
      state = here;
    }
  }
  return state;
}

std::optional<WallTime> epoch_seconds(std::string_view text) {
  std::int64_t seconds = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  constexpr std::int64_t kMost = 253'402'300'799;  // the year 9999
  if (error != std::errc{} || stop != end || seconds <= 0 || seconds > kMost) return std::nullopt;
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

}  // namespace

std::map<std::string, AllocationState> allocation_states(const RunProgram& run,
                                                         const std::vector<std::string>& job_ids) {
  std::map<std::string, AllocationState> states;
  std::vector<std::string> asked;
  for (const auto& id : job_ids) {
    if (states.emplace(id, AllocationState::unknown).second && is_job_id(id)) asked.push_back(id);
  }
  if (asked.empty()) return states;

  const auto answer = run({"squeue", "-h", "-t", "all", "-j", joined(asked), "-o", "%A %i %T"});
  if (!answer.ok()) return states;
  const bool none_known = says_invalid_id(*answer);
  if (answer->exit_code != 0 && !none_known) return states;
  note_listed(answer->out, states);

  std::size_t confirmations = 0;
  for (const auto& id : asked) {
    auto& state = states[id];
    if (state == AllocationState::unknown && confirmations++ < kMaxConfirmations)
      state = confirm(run, id);
  }
  return states;
}

std::optional<WallTime> allocation_end(const RunProgram& run, const std::string& job_id,
                                       const std::optional<std::string>& end_time_variable) {
  if (end_time_variable) {
    if (const auto end = epoch_seconds(*end_time_variable)) return end;
  }
  if (!is_job_id(job_id)) return std::nullopt;
  // Seconds since 1970 are free of time zones; a Slurm that does not know the format prints local
  // time.
  const auto answer =
      run({"env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "-j", job_id, "-o", "%e"});
  if (!answer.ok() || answer->exit_code != 0) return std::nullopt;
  const auto fields = words(std::string_view(answer->out).substr(0, answer->out.find('\n')));
  if (fields.size() != 1) return std::nullopt;
  if (const auto end = epoch_seconds(fields[0])) return end;
  return local_time(std::string(fields[0]));
}

std::optional<std::chrono::seconds> kill_wait(const RunProgram& run) {
  const auto answer = run({"scontrol", "show", "config"});
  if (!answer.ok() || answer->exit_code != 0) return std::nullopt;
  for (const auto line : lines(answer->out)) {
    const auto fields = words(line);  // KillWait = 30 sec
    if (fields.size() < 3 || fields[0] != "KillWait" || fields[1] != "=") continue;
    std::uint32_t seconds = 0;
    const auto* const end = fields[2].data() + fields[2].size();
    const auto [stop, error] = std::from_chars(fields[2].data(), end, seconds);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return std::chrono::seconds(seconds);
  }
  return std::nullopt;
}

}  // namespace torc::slurm
