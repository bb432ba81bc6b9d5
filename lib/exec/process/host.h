// The ProcessHost of Linux. Internal to lib/exec: include process_host.h.
//
// It wires parts together, each of which has a header that says what it does alone:
//
//   Events           what wakes it: ends of children, an alarm, descriptors
//   RunTable         what is known of each command that runs (Run), and what is due when
//   Starter          from a command to a process (with Order, RunTag)
//   OwnChildren      the children of this process, and which of them were adopted (Strays)
//   LaneRuns         short commands that a Lane starts without it
//   RunTrees         which processes are whose, adoption, signals to a tree
//   LeasePause       commands stop and go on with the lease
//   Termination      from running to killed: on request, and at the time limit
//   Reaper           what has ended, and how
//   ResourceMonitor  what is used, and what is beyond its limit
//
// A part knows those above it, as far as its constructor names them, and none below.
#pragma once

#include "lib/exec/machine/cgroup.h"
#include "lib/exec/process/lease_pause.h"
#include "lib/exec/process/reaper.h"
#include "lib/exec/process/resource_monitor.h"
#include "lib/exec/process/run_trees.h"
#include "lib/exec/process/starter.h"
#include "lib/exec/process/termination.h"
#include "lib/exec/run/events.h"
#include "lib/exec/run/lane_runs.h"
#include "lib/exec/run/own_children.h"
#include "lib/exec/run/process_host.h"
#include "lib/exec/run/run_table.h"
#include "lib/exec/run/run_tag.h"

namespace torc::exec {

class Host final : public ProcessHost {
 public:
  Host(Clock& clock, WatchedLease* lease);
  ~Host() override;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  // After an Error only destruction is left.
  Result<void> open();

  Result<RunId> start(const Command& command) override;
  Result<RunId> queue(const Command& command) override;
  void let_run(std::size_t commands) override { lane_.set_width(commands); }
  std::vector<RunId> take_back() override;
  [[nodiscard]] std::optional<Ended> not_started(RunId id) const override;
  void forget(RunId id) override;
  Result<void> watch(int fd) override { return events_.watch(fd); }
  void unwatch(int fd) override { events_.unwatch(fd); }
  Result<Wakeup> wait(std::optional<BootTime> deadline) override;
  void stop(RunId id, std::chrono::nanoseconds lead) override;
  void kill(RunId id) override;
  void kill_all() override;
  [[nodiscard]] std::size_t running() const override { return lane_.running(); }
  [[nodiscard]] pid_t leader(RunId id) override;

 private:
  std::optional<BootTime> tick();
  // The moment at which something is to be done unless something happens before.
  [[nodiscard]] std::optional<BootTime> next_alarm(std::optional<BootTime> deadline);
  Result<void> sleep(bool at_once);
  void look_after_children();
  void look_at_lane();
  void take_lane_end(const LeaderEnd& end);
  [[nodiscard]] bool has_news() const;
  void end_everything();

  Clock& clock_;
  RunTag tag_;
  Events events_;
  Starter starter_;
  RunTable runs_;
  OwnChildren children_;
  OomKills oom_kills_{"/"};
  LaneRuns lane_;
  RunTrees trees_;
  LeasePause pause_;
  Termination termination_;
  Reaper reaper_;
  ResourceMonitor monitor_;
  BootTime next_tick_{};
  Wakeup news_;  // for the next wait()
};

}  // namespace torc::exec
