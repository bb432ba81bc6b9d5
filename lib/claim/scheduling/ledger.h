// What one transaction changes of the jobs: a write-back cache, so that a batch reads and writes
// counters, barriers and queues once each, however many jobs it is about.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/claim/scheduling/barrier.h"
#include "lib/claim/scheduling/gang_book.h"
#include "lib/claim/scheduling/measured_times.h"
#include "lib/claim/scheduling/quota.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class Ledger {
 public:
  // `tx` outlives this. `now`: the end of what is passed over.
  Ledger(Transaction& tx, WallTime now, Reopen reopen = Reopen::stays_open);

  [[nodiscard]] State& state() { return state_; }
  [[nodiscard]] Transaction& tx() { return tx_; }
  [[nodiscard]] Tally& tally() { return tally_; }
  [[nodiscard]] Quota& quota() { return quota_; }
  [[nodiscard]] ReadyQueues& queues() { return queues_; }
  [[nodiscard]] GangBook& gangs() { return gangs_; }

  // Writes the new record of a job and notes what follows from it: counters, barriers, queues,
  // slots, the list of jobs set aside. after.state `ready` means: it waits, or is passed over when
  // its barrier can no longer open. Precondition: `before` is the job as it is now; a job that
  // leaves `ready` for `claimed` was taken out of its queue. The worker of a job that is canceled
  // while it is held is told when the ledger is closed.
  void change(std::uint64_t id, const Job& before, const Job& after);

  // `holder` no longer holds the job that it says it holds, by the word of somebody else: it is
  // told when the ledger is closed. Precondition: it lives.
  void take_from(WorkerEpoch holder, std::uint64_t id) { taken_[holder].push_back(id); }

  // A job waits elsewhere from now on: the queues follow; of one that runs, what it is promised of
  // the budget. Precondition: `job` is as it is now.
  void change_rank(std::uint64_t id, const Job& job, const Rank& from, const Rank& to);

  // From now on, what follows from the changes is added there, which outlives this: for people. A
  // job that is itself changed may be among them.
  void tell_followers(std::vector<Followers>& all) { followers_ = &all; }

  // Barriers that must close if what they wait for is not as it should be.
  void touch(std::vector<std::uint64_t> barriers) { touched_ = std::move(barriers); }

  // Of a new barrier that can never open.
  void pass_over_members(std::uint64_t barrier);

  // Brings barriers and queues up to date with the changes so far, and passes over, or lets wait
  // again, what follows from them. Before jobs are claimed, and before close().
  void settle();

  // Writes the counters and tells the workers. An error: what was read makes no sense; the
  // transaction must be aborted.
  Result<void> close();

 private:
  void tell_workers();
  // Of a job that is to wait.
  JobState waiting_state(std::uint64_t id);
  void pass_over_doubtful();
  // The class of a job says how alone it is to be, see Alone. Its rank before, when it changes.
  [[nodiscard]] std::optional<Rank> follow_suspicion(std::uint64_t id, const Job& before,
                                                     const Job& after);
  void note_move(std::uint64_t id, const Job& before, const Job& after);
  void follow(const Turn& turn);
  void change_follower(std::uint64_t id, const Job& before, const Job& after);

  Transaction& tx_;
  WallTime now_;
  Reopen reopen_;
  State state_;
  Tally stored_;
  Tally tally_;
  ReadyQueues queues_;
  Quota quota_;
  MeasuredTimes measured_;
  std::vector<Move> moves_;
  std::vector<std::uint64_t> touched_;
  std::vector<std::uint64_t> doubtful_;  // blocked, perhaps by what can no longer be
  std::vector<ReadyJob> ready_again_;
  std::vector<ReadyJob> withdrawn_;
  std::vector<Followers>* followers_ = nullptr;
  GangBook gangs_;
  std::map<WorkerEpoch, std::vector<std::uint64_t>> revoked_;              // by holder
  std::map<WorkerEpoch, std::vector<std::uint64_t>> taken_;                // the same
  std::map<std::pair<std::uint32_t, Alone>, std::uint32_t> counterparts_;  // of classes
};

// The error of a worker that is not, or no longer, one of the live workers.
[[nodiscard]] Error fenced(WorkerEpoch epoch);

}  // namespace torc::claim
