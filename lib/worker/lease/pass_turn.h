// When this worker makes a pass over the ledger of allocations: one of all workers does, at most
// one in an interval. The pass itself is a process of its own, which neither the lease nor a job
// waits for.
#pragma once

#include <cstdint>
#include <functional>

#include "lib/base/clock.h"
#include "lib/claim/rules/inquiry.h"
#include "lib/claim/rules/job.h"
#include "lib/store/engine/store.h"

namespace torc::worker {

// Starts a pass that has been begun; does not wait for it.
using StartPass = std::function<void()>;

inline constexpr std::chrono::seconds kPassInterval{30};

class PassTurn {
 public:
  // `start`: empty: this worker makes none. `jitter` in [0, 1): lest a thousand workers try at
  // once.
  PassTurn(store::World world, store::Store& store, claim::WorkerEpoch self, StartPass start,
           double jitter);

  // As the newest state has it, which was read at `now`: how many passes were begun, and whether
  // there is anything to see to.
  void saw(std::uint64_t passes, bool has_work, BootTime now);
  // Begins a pass if it is due and nobody else has. What cannot be noted now comes again.
  void begin(BootTime now);

 private:
  store::World world_;
  store::Store& store_;
  claim::WorkerEpoch self_;
  StartPass start_;
  claim::AskTurn turn_;
  std::uint64_t passes_ = 0;
  bool has_work_ = false;
};

}  // namespace torc::worker
