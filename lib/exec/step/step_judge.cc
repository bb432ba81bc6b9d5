#include "lib/exec/step/step_judge.h"

#include <algorithm>
#include <csignal>

#include "lib/base/number.h"

namespace torc::exec {
namespace {

bool says(std::string_view words, std::string_view what) {
  return words.find(what) != std::string_view::npos;
}

std::string_view take(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

Ended killed(Ending how) {
  Ended end;
  end.how = how;
  end.signal = SIGKILL;
  return end;
}

// As a shell says it: 128 and the signal.
Ended ended_of(int exit_code) {
  constexpr int kBeyond = 128;
  Ended end = killed(Ending::signaled);
  if (exit_code > kBeyond) end.signal = exit_code - kBeyond;
  return end;
}

}  // namespace

// slurmstepd: error: *** STEP 7.1 ON n1 CANCELLED AT 2026-… DUE TO TIME LIMIT ***
// slurmstepd: error: Detected 1 oom_kill event in StepId=7.1. Some of the step tasks have been …
// srun: error: n1: task 0: Out Of Memory
// srun: error: Node failure on n1
Ended judge_step(std::string_view words, const Ended& srun) {
  if (says(words, "DUE TO TIME LIMIT")) {
    Ended end;
    end.how = Ending::timed_out;
    return end;
  }
  if (says(words, "oom_kill") || says(words, "oom-kill") || says(words, "Out Of Memory"))
    return killed(Ending::out_of_memory);
  // An srun that was killed itself has been so for its worker's sake.
  if (says(words, "DUE TO NODE FAILURE") || says(words, "Node failure") ||
      says(words, "DUE TO PREEMPTION") || srun.how == Ending::signaled ||
      srun.how == Ending::stopped)
    return killed(Ending::stopped);
  return ended_of(srun.exit_code);
}

// srun: error: n1: task 0: Out Of Memory
// slurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=1.1. Some of your processes may …
// srun: error: Application launch failed: Socket timed out on send/recv operation
// srun: error: Node failure on n1
Ended judge_gang_step(std::string_view words, const Ended& srun) {
  Ended end = srun;
  if (srun.how != Ending::exited) return end;
  while (!words.empty()) {
    const std::string_view line = take(words, '\n');
    const bool of_srun = line.starts_with("srun: error: ");
    const bool of_stepd = line.starts_with("slurmstepd") && says(line, ": error: ");
    const bool memory =
        (of_srun && line.ends_with(": Out Of Memory")) ||
        (of_stepd && (says(line, "oom_kill event") || says(line, "oom-kill event")));
    if (memory && srun.exit_code != 0) {
      end.how = Ending::out_of_memory;
      end.signal = SIGKILL;
      return end;
    }
    if (of_srun && (says(line, "Application launch failed: ") || says(line, "Node failure on ")))
      end.how = Ending::stopped;
  }
  return end;
}

std::optional<Ended> judge_accounted(std::string_view rows, std::string_view name) {
  std::optional<Ended> found;
  while (!rows.empty()) {
    std::string_view row = take(rows, '\n');
    if (take(row, '|') != name) continue;
    const std::string_view state = take(row, '|');
    std::string_view code = row;
    const auto exit_code = whole_number<int>(take(code, ':'));
    const auto signal = whole_number<int>(code);
    if (state == "OUT_OF_MEMORY") {
      found = killed(Ending::out_of_memory);
    } else if (state == "TIMEOUT" || state == "DEADLINE") {
      found.emplace().how = Ending::timed_out;
    } else if (state == "NODE_FAIL" || state == "PREEMPTED" || state == "BOOT_FAIL") {
      found = killed(Ending::stopped);
    } else if (state.starts_with("CANCELLED") || state == "FAILED" || state == "COMPLETED") {
      found = ended_of(exit_code.value_or(0));
      if (signal && *signal > 0) found->signal = *signal;
    } else {
      found.reset();  // one of before, of the same name, says nothing of this one
    }
  }
  return found;
}

bool has_no_accounting(std::string_view words) {
  return says(words, "accounting storage is disabled");
}

Ended of_job(Ended judged, std::chrono::nanoseconds time_limit, std::chrono::nanoseconds ran) {
  const bool was_its_own = time_limit.count() > 0 && ran >= time_limit;
  if (judged.how == Ending::timed_out && !was_its_own) judged.how = Ending::stopped;
  return judged;
}

}  // namespace torc::exec
