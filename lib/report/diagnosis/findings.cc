#include "lib/report/diagnosis/findings.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace torc::report {
namespace {

using claim::EndCause;

constexpr int kShellSignalBase = 128;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

std::optional<Cause> cause_of_signal(int signal) {
  switch (signal) {
    case SIGSEGV:
      return Cause::segmentation_fault;
    case SIGBUS:
      return Cause::bus_error;
    case SIGILL:
      return Cause::wrong_cpu;
    case SIGFPE:
      return Cause::arithmetic;
    case SIGABRT:
      return Cause::aborted;
    case SIGKILL:
      return Cause::killed;
    default:
      return std::nullopt;
  }
}

// What the shell that ran the command says of it.
std::optional<Cause> cause_of_code(int code) {
  if (code == kNotFound) return Cause::command_missing;
  if (code == kNotExecutable) return Cause::permission;
  return code > kShellSignalBase ? cause_of_signal(code - kShellSignalBase) : std::nullopt;
}

std::optional<Cause> cause_of_start(const claim::Outcome& o) {
  const bool program = o.fault == claim::StartFault::program;
  if (program && o.os_errno == ENOENT) return Cause::command_missing;
  return program && o.os_errno == EACCES ? Cause::permission : Cause::not_started;
}

}  // namespace

std::optional<Cause> cause_of_end(const claim::Outcome& o) {
  switch (o.cause) {
    case EndCause::out_of_memory:
      return Cause::out_of_memory;
    case EndCause::timed_out:
      return Cause::time_limit;
    case EndCause::worker_lost:
    case EndCause::lease_lost:
      return Cause::node_failed;
    case EndCause::allocation_ended:
      return Cause::allocation_ended;
    case EndCause::not_started:
      return cause_of_start(o);
    case EndCause::output_missing:
      return Cause::output_missing;
    case EndCause::signaled:
      return cause_of_signal(o.signal);
    case EndCause::exited:
      return cause_of_code(o.exit_code);
    default:
      return std::nullopt;
  }
}

bool is_shells_word(const claim::Outcome& o) {
  return o.cause == EndCause::exited || (o.cause == EndCause::signaled && o.signal == SIGKILL);
}

std::vector<Finding> weighed(std::vector<Finding> found, const claim::Outcome* end) {
  std::vector<Sign> signs;
  signs.reserve(found.size());
  for (const Finding& f : found) signs.push_back({f.cause, f.line});
  settle(signs);
  std::vector<Finding> kept;
  kept.reserve(signs.size());
  for (const Sign& sign : signs)
    kept.push_back(*std::find_if(found.begin(), found.end(), [&](const Finding& f) {
      return f.cause == sign.cause && f.line == sign.line;
    }));
  const auto seen = end == nullptr ? std::nullopt : cause_of_end(*end);
  if (!seen) return kept;
  // What torc saw is certain, and comes first; what a shell says by a number is for want of better.
  const bool better = std::any_of(kept.begin(), kept.end(),
                                  [](const Finding& f) { return !row_of(f.cause).general; });
  if (is_shells_word(*end) && better) return kept;
  Finding fact{*seen, true};
  std::erase_if(kept, [&](const Finding& f) {
    if (f.cause == *seen && fact.line.empty()) {
      fact.line = f.line;
      fact.stream = f.stream;
    }
    return f.cause == *seen || row_of(f.cause).general;
  });
  kept.insert(kept.begin(), std::move(fact));
  return kept;
}

claim::Trouble trouble_of(Cause cause) {
  switch (cause) {
    case Cause::out_of_memory:
      return claim::Trouble::memory;
    case Cause::time_limit:
      return claim::Trouble::runtime;
    case Cause::preempted:
    case Cause::node_failed:
    case Cause::allocation_ended:
    case Cause::gpu_error:
    case Cause::nccl_error:
    case Cause::stale_file:
    case Cause::io_error:
    case Cause::license:
    case Cause::name_resolution:
    case Cause::connection:
      return claim::Trouble::transient;
    case Cause::killed:
    case Cause::mpi_aborted:
    case Cause::python_error:
    case Cause::program_error:
      return claim::Trouble::unknown;
    default:
      return claim::Trouble::mend;
  }
}

claim::Trouble said_by(const std::vector<Finding>& findings) {
  for (const Finding& f : findings) {
    if (f.by_torc && row_of(f.cause).general) continue;
    if (const claim::Trouble t = trouble_of(f.cause); t != claim::Trouble::unknown) return t;
  }
  return claim::Trouble::unknown;
}

}  // namespace torc::report
