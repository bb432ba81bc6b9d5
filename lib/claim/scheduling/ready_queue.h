// The queues of ready jobs, one for each class, ordered by priority (high first), age (old first)
// and id. They hold ranges, so that a sweep of any length is one key and a batch taken from it
// costs one key.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "lib/claim/rules/offer.h"
#include "lib/claim/scheduling/gang_plan.h"
#include "lib/claim/scheduling/quota.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Adds jobs that became ready together. Precondition: none of them is in a queue.
void put_ready(Transaction& tx, const ReadyRange& range);

struct ReadyJob {
  std::uint32_t job_class = 0;
  std::int32_t priority = 0;
  std::uint64_t id = 0;
  auto operator<=>(const ReadyJob&) const = default;
};
// Adds jobs that were given back or are to run again: before all others of their priority, joined
// with their neighbours in the queue. Empties `jobs`.
void put_ready_again(Transaction& tx, std::vector<ReadyJob>& jobs);

// Takes jobs out of the queues otherwise than by a claim. Precondition: each of them is in one.
// Empties `jobs`. A range is cut wherever a job of it goes: two writes for each run of jobs.
void withdraw(Transaction& tx, State& state, std::vector<ReadyJob>& jobs);
// The same of the `count` jobs that begin with `first`, all of its class and priority.
void withdraw(Transaction& tx, State& state, const ReadyJob& first, std::uint64_t count);

// Takes jobs from the heads of all queues that an offer fits, in merged order: priority (high
// first), then the sort method, then age, then id. A job that does not fit, or that a limit or the
// budget holds back, is passed over for others that do; one of several nodes that has to wait, too,
// but for what its group keeps for it (gang_plan.h). Reads one key a class at the start; each
// further key costs one seek.
class ReadyHeads {
 public:
  struct Take {
    std::uint32_t job_class = 0;
    std::int32_t priority = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    bool gang = false;  // of several nodes, GangPlan::chosen(); nothing else fits beside it
  };

  // All arguments outlive this. `gangs` nullptr: the worker is in no group, or there are no jobs of
  // several nodes.
  ReadyHeads(Transaction& tx, State& state, Quota& quota, WorkerEpoch worker, const Offer& offer,
             SortMethod sort, GangPlan* gangs);

  // The next jobs, at most `limit`: that fit into `free`, which shrinks by them; without it, that
  // the worker could run when it is empty. Looks at the jobs of several nodes that come before
  // them, also where `limit` is 0.
  std::optional<Take> take(Capacity* free, std::uint64_t limit);
  // The newest take() came to the end of what there is.
  [[nodiscard]] bool looked_at_all() const { return looked_at_all_; }
  // Writes what is left of the ranges that were taken from. Call once, at the end.
  void write_back();

 private:
  struct Head {
    JobClass job_class;
    std::array<std::uint64_t, 3> size{};  // by the sort method; larger first
    ReadyRange range;                     // as stored
    std::uint64_t taken = 0;
    bool gang = false;
    bool exhausted = false;
    bool waits = false;  // a gang that cannot start
    [[nodiscard]] std::uint64_t first() const { return range.first + taken; }
    [[nodiscard]] std::uint64_t count() const { return range.count - taken; }
  };

  static bool before(const Head& a, const Head& b);
  Head* next(const Capacity* free);
  [[nodiscard]] bool is_eligible(const Head& head, const Capacity* free) const;
  void advance(Head& head);

  Transaction& tx_;
  State& state_;
  Quota& quota_;
  WorkerEpoch worker_;
  const Offer& offer_;
  GangPlan* gangs_;
  bool looked_at_all_ = false;
  std::vector<Head> heads_;
};

}  // namespace torc::claim
