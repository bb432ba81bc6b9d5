// What a claim takes from the queues of ready jobs.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/offer.h"
#include "lib/claim/scheduling/gang_plan.h"
#include "lib/claim/scheduling/quota.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Takes jobs from the heads of all queues that an offer fits, in merged order (ComesFirst). A job
// that does not fit, or that a limit or the budget holds back, is passed over for others that do;
// one of several nodes that has to wait, too, but for what its group keeps for it (gang_plan.h).
//
// While jobs are taken there is only less and less room, so what was passed over once is not looked
// at again: of prefetched ones there is a second pass, from the front. Where the heads are listed
// in their order, they are read as they are needed; else one key a class is read at the start. Each
// further key of a queue costs one seek.
class ReadyHeads {
 public:
  struct Take {
    std::uint32_t job_class = 0;
    std::int32_t priority = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::chrono::seconds runtime{};  // Grant::runtime
    std::uint32_t alternative = 0;
    bool gang = false;  // of several nodes, GangPlan::chosen(); nothing else fits beside it
  };

  // All arguments outlive this. `gangs` nullptr: the worker is in no group, or there are no jobs of
  // several nodes. Until write_back() nobody else changes the queues.
  ReadyHeads(Transaction& tx, State& state, ReadyQueues& queues, Quota& quota, WorkerEpoch worker,
             const Offer& offer, SortMethod sort, GangPlan* gangs);

  // The next jobs, at most `limit`: that fit into `free`, which shrinks by them; without it, that
  // the worker could run when it is empty. Looks at the jobs of several nodes that come before
  // them, also where `limit` is 0. Once it was called without `free`, it always is.
  std::optional<Take> take(Capacity* free, std::uint64_t limit);
  // The newest take() came to the end of what there is.
  [[nodiscard]] bool looked_at_all() const { return looked_at_all_; }
  // Writes what is left of the ranges that were taken from. Call once, at the end.
  void write_back();

 private:
  // What a job of the class may have.
  struct Choice {
    std::uint32_t alternative = 0;
    JobClass job_class{};            // JobClass::by()
    std::chrono::seconds runtime{};  // expected, by what was learned of such jobs
  };
  struct Head {
    QueueHead listed;         // as the order has it
    std::uint64_t taken = 0;  // of the range
    bool known = false;       // what follows
    Choice first = {};        // without its alternatives
    // Of a class with alternatives: those that could ever be for this worker, in the order in which
    // they are tried.
    std::vector<Choice> choices = {};
    bool gang = false;
    bool waits = false;  // a gang that cannot start
  };
  // By what is left of their queues. Of a range, some of which is taken, the rest has the same
  // place, since ranges are disjoint.
  using Heads = std::map<QueueHead, Head, ComesFirst>;

  void read_all();
  void read_more();
  void read_chosen(const std::vector<JobRange>& only);
  void add_head(const ReadyRange& range);
  // Whether jobs of the class could ever be for this worker.
  bool concerns(const QueueHead& at, Head& head);
  // Adds what else than its first alternative the class has; whether any could be for this worker.
  bool add_choices(const JobClass& job_class, Head& head);
  // By which a job of the head could be taken now; nullptr: by none.
  [[nodiscard]] const Choice* choice_for(const Head& head, const Capacity* free);
  [[nodiscard]] bool is_eligible(const Choice& choice, const Capacity* free) const;
  // The place of the next that can be taken from, by `choice_`; end(): there is none.
  Heads::iterator next(const Capacity* free);
  void take_from(Heads::iterator at, std::uint64_t count);
  void advance(Heads::iterator at);
  void put_down(const QueueHead& listed, const std::optional<QueueHead>& now);

  Transaction& tx_;
  State& state_;
  ReadyQueues& queues_;
  Quota& quota_;
  WorkerEpoch worker_;
  const Offer& offer_;
  SortMethod sort_;
  GangPlan* gangs_;
  bool ordered_;  // heads are the first of their queues, and are listed in their order
  bool looked_at_all_ = false;
  Heads heads_;           // that were read, but those that do not concern the worker
  Heads::iterator pass_;  // all before it were passed over
  const Choice* choice_ = nullptr;
  bool second_pass_ = false;  // for prefetch
  bool all_read_ = false;
  std::optional<QueueHead> newest_;  // that was read
  std::size_t at_once_ = 4;          // heads that are read next
  std::vector<QueueHead> emptied_;   // listed heads of queues with nothing left
  std::vector<ReadyRange> used_up_;  // of chosen jobs, heads that were taken whole
};

}  // namespace torc::claim
