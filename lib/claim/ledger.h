// What one transaction changes of the jobs: a write-back cache, so that a batch reads and writes
// counters, barriers and queues once each, however many jobs it is about.
#pragma once

#include <map>
#include <vector>

#include "lib/claim/ready_queue.h"
#include "lib/claim/state.h"
#include "lib/claim/tables.h"
#include "lib/store/transaction.h"

namespace torc::claim {

class Ledger {
 public:
  // `tx` outlives this.
  explicit Ledger(Transaction& tx);

  [[nodiscard]] State& state() { return state_; }
  [[nodiscard]] Transaction& tx() { return tx_; }
  [[nodiscard]] Tally& tally() { return tally_; }

  // Writes the new record of a job and notes what follows from it: counters, barriers, queues, the
  // list of jobs set aside. after.state `ready` means: it waits. Precondition: `before` is its
  // state now; a job that leaves `ready` for `claimed` was taken out of its queue.
  // The worker of a job that is canceled while it is held is told when the ledger is closed.
  void change(std::uint64_t id, JobState before, const Job& after);

  // A job waits elsewhere from now on: the queues follow. Precondition: `state` is its state.
  void change_rank(std::uint64_t id, JobState state, const Rank& from, const Rank& to);

  // Brings barriers and queues up to date with the changes so far. Before jobs are claimed, and
  // before close().
  void settle();

  // Writes the counters and tells the workers. An error: what was read makes no sense; the
  // transaction must be aborted.
  Result<void> close();

 private:
  void tell_workers();

  Transaction& tx_;
  State state_;
  Tally stored_;
  Tally tally_;
  std::vector<std::uint64_t> completed_;
  std::vector<ReadyJob> ready_again_;
  std::vector<ReadyJob> withdrawn_;
  std::map<WorkerEpoch, std::vector<std::uint64_t>> revoked_;  // by holder
};

// The error of a worker that is not, or no longer, one of the living.
[[nodiscard]] Error fenced(WorkerEpoch epoch);

}  // namespace torc::claim
