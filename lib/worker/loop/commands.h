// The commands that a worker starts and ends: what its state machine orders, done with the host of
// their processes and the files of their output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/action.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/exec/run/process_host.h"
#include "lib/worker/jobs/load.h"
#include "lib/worker/jobs/output_keeper.h"
#include "lib/worker/jobs/series_keeper.h"
#include "lib/worker/lease/committer.h"
#include "lib/worker/loop/output_signs.h"
#include "lib/worker/loop/runs.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/machine/command.h"
#include "lib/worker/machine/event.h"

namespace torc::worker {

class HostedCommands {
 public:
  // What all of it refers to outlives this. `mounted`: mountinfo when the worker began.
  struct World {
    const workflow::Context& context;
    const WorkerSetup& setup;
    const WorkerEvents& events;
    exec::ProcessHost& host;
    exec::WatchedLease& lease;
    Committer& committer;
    const JobPreparer& preparer;
    const std::vector<claim::Action>& actions;
    claim::WorkerEpoch self{};
    std::string mounted;
    std::function<void(const std::string&)> notice;
  };
  explicit HostedCommands(World world);

  // --- orders ---
  event::StartAnswer start(const command::StartJob& order);
  event::StartAnswer start(const command::StartRecovery& order);
  event::StartAnswer start(const command::StartAction& order);
  event::Armed arm(const command::ArmJobs& order);
  event::TakenBack take_back();
  void stop(Run run, std::chrono::nanoseconds lead);
  void kill(Run run);
  void forget(Run run);
  void close_output(Run run, bool completed);
  [[nodiscard]] event::OutputsSeen look(const command::LookAtOutputs& order) const;
  // The lease is lost: everything is ended, and its output left as it is.
  void kill_all();
  // A recovery script has failed: what it could not print itself.
  void note_in_recovery_file(const Load& load, const exec::Ended& script);
  // Nothing more is started; what was killed is waited for a while, so that its files can be
  // closed.
  void close();
  // The end of this worker's time is another one, for what starts from here on.
  void set_end(WallTime ends_at) { ends_at_ = ends_at; }
  // It stood still, and all that it runs: of an allocation the end is so much later, see
  // stand_still() of the state machine.
  void stand_still(std::chrono::nanoseconds time);

  // --- news ---
  // What the host's threads have begun or could not begin, what has ended. Keeps the samples.
  [[nodiscard]] std::vector<Event> news(const exec::ProcessHost::Wakeup& wakeup);
  // What is due to what has ended, in their order.
  [[nodiscard]] std::optional<event::Ended> ended(const exec::Ended& told);

  [[nodiscard]] exec::RunId id_of(Run run);

 private:
  [[nodiscard]] std::optional<event::StartAnswer::Fault> fault(exec::RunId id,
                                                               const exec::Command& command) const;
  [[nodiscard]] event::StartAnswer::Fault fault_of(const exec::Ended& ended,
                                                   const exec::Command& command) const;
  void put_in_place(PreparedJob& job, const command::StartJob& order) const;
  void look_at_inputs(JobFiles& declared) const;
  [[nodiscard]] event::OutputsMade look_at_outputs(Load& load) const;
  [[nodiscard]] exec::Ended judged(const HostedRun& run, const exec::Ended& how) const;
  // As if it had never been opened.
  void close_unused(Load& load);
  void await_killed();

  World world_;
  std::optional<WallTime> ends_at_;
  OutputKeeper output_;
  SeriesKeeper series_;
  OutputSigns signs_;
  Runs runs_;
  bool lost_ = false;  // the lease
};

}  // namespace torc::worker
