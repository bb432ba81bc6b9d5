// Makes processes of commands: finds the file of the program, prepares what the start needs, gives
// a limited command its control group, and launches it. Internal to lib/exec: include
// process_host.h.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/exec/end/job_groups.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/exec/run/order.h"
#include "lib/exec/run/run_tag.h"
#include "lib/exec/start/launch.h"
#include "lib/exec/start/program_path.h"

namespace torc::exec {

// All calls from one thread: the leaders that launch() makes are killed when it ends.
class Starter {
 public:
  // Each process gets `tag`, and begins only if `lease` (null: none) permits. Both outlive it.
  Starter(const RunTag& tag, const WatchedLease* lease) : tag_(tag), lease_(lease) {}
  // The calling thread takes short turns from then on, see Launcher. Before anything is launched.
  Result<void> open();
  [[nodiscard]] bool is_open() const { return launcher_ != nullptr; }

  // The control group of a command with this limit; null: no limit, or none is to be had. The first
  // that has a limit asks for groups, and may move this process: a worker without such is left
  // where it is.
  [[nodiscard]] std::unique_ptr<JobGroup> group_of(RunKey key, ByteCount memory_limit);
  // Whether it would be given one, as far as that is known before it is made.
  [[nodiscard]] bool has_groups_for(ByteCount memory_limit);

  // See prepare() of order.h.
  void prepare(Order& order, const JobGroup* group) const;
  // Of a prepared order, for somebody else to launch. False: there is no such program.
  [[nodiscard]] bool find_program(Order& order);
  // A prepared order, by its program as it is found now.
  [[nodiscard]] Launched launch(Order& order);

 private:
  [[nodiscard]] ProgramPaths::Found find(const Order& order);

  const RunTag& tag_;
  const WatchedLease* lease_;
  std::unique_ptr<Launcher> launcher_;
  ProgramPaths paths_;
  bool asked_for_groups_ = false;
  std::unique_ptr<JobGroups> groups_;  // null: not asked for yet, or not to be had
};

// Why a command was not launched when that says nothing about the command: out of processes, memory
// or descriptors, or a lease in doubt. An Error of kind busy. nullopt: it is the command.
[[nodiscard]] std::optional<Error> busy_error(const Launched& launched);

}  // namespace torc::exec
