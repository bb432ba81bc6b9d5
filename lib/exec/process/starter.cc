#include "lib/exec/process/starter.h"

#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

bool is_for_lack_of_resources(const Launched& launched) {
  switch (launched.os_errno) {
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return true;
    default:
      return launched.failed_at == StartStep::none;
  }
}

}  // namespace

Result<void> Starter::open() {
  TORC_ASSIGN(launcher_, Launcher::create());
  // Beside others that want the CPUs, a command is begun and seen to have ended without waiting for
  // all of their turns, each of which is longer than a short command.
  launcher_->take_short_turns();
  return {};
}

bool Starter::has_groups_for(ByteCount memory_limit) {
  if (memory_limit.value == 0) return false;
  if (!std::exchange(asked_for_groups_, true)) {
    std::vector<pid_t> own{getpid()};
    const pid_t parent = getppid();
    const auto name = read_small_file("/proc/" + std::to_string(parent) + "/comm");
    if (name && name->starts_with("torc-watchdog")) own.push_back(parent);
    groups_ = JobGroups::create("", own);
  }
  return groups_ != nullptr;
}

std::unique_ptr<JobGroup> Starter::group_of(RunKey key, ByteCount memory_limit) {
  return has_groups_for(memory_limit) ? groups_->make(key, memory_limit) : nullptr;
}

void Starter::prepare(Order& order, const JobGroup* group) const {
  exec::prepare(order, tag_, lease_ == nullptr ? nullptr : &lease_->page(), group);
}

ProgramPaths::Found Starter::find(const Order& order) {
  return paths_.find(order.words[0], variable_of(order.command, "PATH"), order.command.directory);
}

bool Starter::find_program(Order& order) {
  const ProgramPaths::Found found = find(order);
  if (found.path.empty()) return false;
  order.program = found.path;
  order.plan.program = order.program.c_str();
  return true;
}

Launched Starter::launch(Order& order) {
  for (;;) {
    const ProgramPaths::Found found = find(order);
    if (found.path.empty()) return {0, found.os_errno, StartStep::execute};
    order.plan.program = found.path.c_str();
    const Launched launched = launcher_->launch(order.plan);
    const bool moved = launched.failed_at == StartStep::execute && found.remembered;
    if (!moved) return launched;
    paths_.forget(order.words[0], variable_of(order.command, "PATH"));
  }
}

std::optional<Error> busy_error(const Launched& launched) {
  if (launched.pid != 0 || !is_for_lack_of_resources(launched)) return std::nullopt;
  if (launched.os_errno == kLeaseInDoubt)
    return Error{ErrorKind::busy, "this worker's lease is in doubt", "it asks the store"};
  Error error =
      os_error(launched.os_errno, "cannot start a process",
               "it is tried again; look at the limits of processes (ulimit -u) and memory");
  error.kind = ErrorKind::busy;
  return error;
}

}  // namespace torc::exec
