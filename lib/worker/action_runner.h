// The actions that one worker runs: one at a time, in the order of their grants, the commands of
// each one after the other until one fails. They run beside jobs and take nothing of what is
// counted for these. What becomes of them is collected as reports for the next exchange.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/action.h"
#include "lib/exec/process/process_host.h"
#include "lib/worker/job_command.h"

namespace torc::worker {

// Where the output of a run is kept, of all its commands and both streams. `of` 0: a run of the
// workflow's, its `nth`; else of this worker.
[[nodiscard]] Path action_file(const Path& output_dir, std::uint32_t action, std::uint32_t nth,
                               claim::WorkerEpoch of);

class ActionRunner {
 public:
  struct World {
    exec::ProcessHost& host;
    const JobPreparer& preparer;
    claim::WorkerEpoch self{};
    mode_t umask = 022;
    std::function<void(const std::string&)> notice;
  };
  // `actions`: all of the workflow, by number. What `world` refers to outlives this.
  ActionRunner(World world, std::vector<claim::Action> actions);

  [[nodiscard]] bool has(claim::Trigger trigger) const;
  [[nodiscard]] bool has_own_of_workflow() const;

  void take(const std::vector<claim::ActionGrant>& grants);
  // Starts what is next, if nothing runs. `limit`: how long a command may take; 0: no limit. False:
  // this host cannot start anything now; the runs that wait are returned.
  bool start_next(std::chrono::nanoseconds limit);
  // Whether this was one of its commands; `told`: a signal that ended it was meant for the worker.
  bool ended(const exec::Ended& ended, bool told);
  [[nodiscard]] bool busy() const { return running_.has_value() || !waiting_.empty(); }

  // Nothing more is started: what waits is returned, the command that runs may end by itself.
  void drain();
  // The same, and what runs is told to end.
  void stop(std::chrono::nanoseconds lead);
  void kill();
  // The lease is lost: nothing here counts any more.
  void forget();

  [[nodiscard]] bool has_reports() const { return !reports_.empty(); }
  [[nodiscard]] std::vector<claim::ActionReport> take_reports();
  void put_back(std::vector<claim::ActionReport> reports);

 private:
  struct Running {
    claim::ActionGrant grant;
    std::vector<std::string> commands;
    exec::RunId id{};
  };
  [[nodiscard]] const claim::Action& of(const claim::ActionGrant& grant) const {
    return actions_[grant.action - 1];
  }
  [[nodiscard]] exec::Command command(const Running& run) const;
  [[nodiscard]] std::string title(const claim::ActionGrant& grant) const;
  bool start(Running run, std::chrono::nanoseconds limit);
  void report(const claim::ActionGrant& grant, claim::ActionReport::What what,
              claim::Outcome outcome);

  World world_;
  std::vector<claim::Action> actions_;
  std::deque<claim::ActionGrant> waiting_;
  std::optional<Running> running_;  // `id` is a command of it, unless `between_`
  bool between_ = false;            // its next command is to be started
  bool stopping_ = false;           // nothing more is started of what was granted so far
  std::vector<claim::ActionReport> reports_;
};

}  // namespace torc::worker
