// The rules of actions inside transactions: when a run becomes due, who gets it, how it ends. What
// a workflow without actions pays is one look at a flag of the tally.
#pragma once

#include <optional>
#include <vector>

#include "lib/claim/rules/action.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

struct Plan;

struct Departure {
  EndCause why = EndCause::stopped;
  Charge charge = Charge::no;  // yes: an action may have taken the worker with it
  WallTime now{};
};

// In the first commit of a store.
void write_actions(Transaction& tx, const Plan& plan);

// What the workflow's own action `number` waits for has come true.
void fire(Transaction& tx, State& state, std::uint32_t number);

// What one worker says and asks in one exchange. Reads nothing before it is asked; writes its
// counters when it is told to.
class Firing {
 public:
  // `tx` and `state` outlive this.
  Firing(Transaction& tx, State& state, WorkerEpoch worker, WallTime now)
      : tx_(tx), state_(state), worker_(worker), now_(now) {}

  // A report that is not of the newest grant changes nothing.
  void report(const ActionReport& report, Lease& lease);
  // `finished`: nothing runs, nothing more will, nothing is held.
  [[nodiscard]] std::vector<ActionGrant> take(const ActionWish& wish, bool finished, Lease& lease);
  // Jobs were granted: the workflow goes on, and may come to an end once more.
  void went_on();
  // It has asked for allocations, which nobody else is told of.
  [[nodiscard]] bool has_asked() const { return has_asked_; }
  [[nodiscard]] ActionTally tally();
  // Writes the counters and forgets them: fire() reads and writes them by itself.
  void store();

 private:
  ActionTally& numbers();
  [[nodiscard]] std::optional<Action> action(std::uint32_t number);
  [[nodiscard]] ActionRun run_of(std::uint32_t number, WorkerEpoch worker);
  void put(std::uint32_t number, WorkerEpoch worker, const ActionRun& run);
  ActionGrant grant(std::uint32_t number, WorkerEpoch of, Lease& lease);
  void fire_complete();
  [[nodiscard]] std::optional<std::uint32_t> first_due();

  friend void drop_runs(Transaction& tx, State& state, WorkerEpoch worker, const Lease& lease,
                        const Departure& departure);
  friend void fire(Transaction& tx, State& state, std::uint32_t number);
  void set_off(std::uint32_t number, const Action& action, ActionRun run);
  void end(std::uint32_t number, const Action& action, WorkerEpoch of, ActionRun run);
  void give_back(std::uint32_t number, ActionRun run);

  Transaction& tx_;
  State& state_;
  WorkerEpoch worker_;
  WallTime now_;
  bool has_asked_ = false;
  std::optional<ActionTally> tally_;
  ActionTally stored_;
};

// The worker leaves, or is lost, with the runs of its lease.
void drop_runs(Transaction& tx, State& state, WorkerEpoch worker, const Lease& lease,
               const Departure& departure);

}  // namespace torc::claim
