// What the nodes of one group can do for the jobs of several nodes that are ready, as one worker of
// it sees that in one exchange: start one now, or keep nodes for the first that has to wait.
//
// The nodes that are kept are those that are expected to be free soonest, as many as it needs.
// Their workers start nothing that comes after it in the order, but for what ends before the last
// of them is free (EASY backfill). Since nothing they are granted ends later, that moment does not
// move away: only a job that runs for longer than it declared, or a worker that goes, can put it
// off.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/claim/rules/gang.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/tables/gang_record.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// By so much earlier must all nodes be free in another group for it to take over a job that waits.
inline constexpr std::chrono::minutes kTakesOver{1};

class GangPlan {
 public:
  struct Asker {
    WorkerEpoch worker{};
    WallTime now{};
    std::uint64_t group = 0;  // where its node is listed
    bool free = false;        // it has nothing: its whole node could be taken
  };
  // `tx`, `state` and `offer` outlive this.
  GangPlan(Transaction& tx, State& state, const Asker& asker, const Offer& offer)
      : tx_(tx), state_(state), asker_(asker), offer_(offer) {}

  // Whether a job of this class has to do with the group at all.
  [[nodiscard]] bool concerns(const JobClass& job_class) const;

  // Of classes the runtime that counts here is what is expected of their jobs (expected_run()).
  //
  // A job of several nodes is the next in the order. true: it can start now, on chosen(). Else its
  // class waits, and this may keep nodes for it. `free`: the worker was granted nothing so far.
  bool begins(const JobClass& job_class, std::uint32_t number, std::uint64_t job, bool free);
  // The head first.
  [[nodiscard]] const std::vector<GangMember>& chosen() const { return chosen_; }

  // Of the jobs of several nodes that concern the group and wait, the one that lacks fewest nodes.
  [[nodiscard]] const std::optional<WaitingGang>& waits() const { return waits_; }
  // The worker's own node is kept.
  [[nodiscard]] bool keeps_asker() const { return kept_ && kept_->workers.contains(asker_.worker); }
  // Whether a job of one node may start on the worker's own all the same.
  [[nodiscard]] bool lets(std::chrono::seconds runtime) const;
  // Another number when what lets() says may be something else than before.
  [[nodiscard]] unsigned revision() const { return revision_; }

  // Notes what the group keeps nodes for. `looked_at_all`: no job that could start or wait here was
  // left out. Whether that is another job than before.
  bool settle(bool looked_at_all);

 private:
  struct Node {
    WorkerEpoch worker{};
    std::uint64_t free_at = 0;
    std::string name;
    WallTime ends_at{};
  };
  struct Kept {
    Keep keep;
    std::set<WorkerEpoch> workers;
    bool overdue = false;  // a node of it was expected to be free before now
  };
  // A node of the group, read once for all that waits.
  struct Listed {
    WorkerEpoch worker{};
    std::uint64_t free_at = 0;
    WallTime from{};  // the same as a moment, now at the earliest
    Offer whole;
    std::string name;
    WallTime ends_at{};
  };
  using Takes = std::function<bool(WorkerEpoch)>;

  // The node at that place of the group's list, when it is free at `latest`; else, and behind the
  // last one, null. Valid until the next call.
  const Listed* listed(std::size_t place, std::uint64_t latest, std::size_t at_once);
  void read_list(std::uint64_t latest, std::size_t most);
  // Fills `nodes` up to as many as the job needs with those of the group that could be part of it
  // and are free at `latest`, in the order of the list; of workers that `takes` accepts, no two of
  // one name, and none whose time ends too early for a start when the last of them is free. Whether
  // there are as many.
  bool fill(std::vector<Node>& nodes, const JobClass& job_class, std::uint64_t latest,
            const Takes& takes);
  static WallTime drop_what_ends_before(WallTime moment, std::vector<Node>& nodes,
                                        std::set<std::string>& names);
  // `found`: so many nodes could be part of it.
  std::optional<Kept> could_keep(const JobClass& job_class, std::uint32_t number, std::uint64_t job,
                                 std::uint32_t& found);
  bool can_start(const JobClass& job_class);
  [[nodiscard]] bool ends_in_time(std::chrono::seconds runtime) const;
  [[nodiscard]] bool is_kept_elsewhere(const Kept& kept);
  // What is kept is so for a job that this worker has nothing to do with, and that does not come
  // behind this one.
  [[nodiscard]] bool is_kept_for_another(std::uint64_t job);
  void look_at_what_is_kept(std::uint64_t job);

  Transaction& tx_;
  State& state_;
  Asker asker_;
  const Offer& offer_;
  std::vector<Listed> list_;
  std::string next_;  // the first of the list's keys that is not read; empty: none is
  bool read_all_ = false;
  bool looked_ = false;
  std::optional<WaitingGang> waits_;
  bool first_waits_ = false;  // `kept_` is of this exchange: it writes it
  std::optional<Kept> kept_;
  unsigned revision_ = 0;
  std::vector<GangMember> chosen_;
};

}  // namespace torc::claim
