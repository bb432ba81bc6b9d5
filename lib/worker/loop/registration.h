// How a worker enters its workflow: it waits until it may, and says who it is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/pace.h"
#include "lib/claim/rules/worker.h"
#include "lib/exec/run/process_host.h"
#include "lib/store/engine/store.h"
#include "lib/worker/bell/udp_bell.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/machine/step.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::worker {

// Whether commits to this store cost anybody but this host: a journal on its own disk does not.
[[nodiscard]] claim::Sharing sharing_of(const store::Store& store);

// In [0, 1).
[[nodiscard]] double roll(Entropy& entropy);

// Waits for its turn to register; 0: it has come. Else the signal by which `signal_fd`, which
// `host` watches, told it to end before that.
Result<int> wait_for_turn(const workflow::Context& context, const WorkerSetup& setup,
                          exec::ProcessHost& host, int signal_fd, store::Store& store);

// Where it will hear of work; null: it looks for that now and then, which `notice` is told where a
// bell was to be expected.
[[nodiscard]] std::unique_ptr<UdpBell> open_bell(
    const WorkerSetup& setup, const store::Store& store, Entropy& entropy,
    const std::function<void(const std::string&)>& notice);

struct Registration {
  claim::WorkerEpoch self{};
  claim::WorkerInfo info;
  BootTime at{};  // when the commit began
  claim::WorkflowLoad load;
  claim::WorkflowState workflow;  // without `settings`
  workflow::WorkflowSettings settings;
  std::vector<claim::Action> actions;  // all of the workflow, by number
  // Another living worker of a group that people named, that calls its node as this one does: jobs
  // of several nodes have one of the two.
  std::optional<claim::Worker> namesake;
};
[[nodiscard]] std::string show_namesake(const claim::Worker& other);
// `process`: that the worker is known by; `bell`: where it hears of work.
Result<Registration> register_self(const workflow::Context& context, const WorkerSetup& setup,
                                   const exec::ProcessIdentity& process,
                                   const std::optional<claim::BellPlace>& bell,
                                   store::Store& store);

}  // namespace torc::worker
