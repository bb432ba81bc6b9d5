// The queues of ready jobs, one for each class, ordered by priority (high first), age (old first)
// and id. They hold ranges, so that a sweep of any length is one key and a batch taken from it
// costs one key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/claim/tables/queue_head.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Adds jobs to their queue, and to nothing else. Precondition: none of them is in one.
void put_ready(Transaction& tx, const ReadyRange& range);

// The first range of the queue of a class; nullopt: it is empty.
[[nodiscard]] std::optional<ReadyRange> first_ready(State& state, std::uint32_t job_class);

struct ReadyJob {
  std::uint32_t job_class = 0;
  std::int32_t priority = 0;
  std::uint64_t id = 0;
  auto operator<=>(const ReadyJob&) const = default;
};

// What one transaction changes of the queues otherwise than by claims.
class ReadyQueues {
 public:
  // Both outlive this. `ordered`: Tally::ordered.
  ReadyQueues(Transaction& tx, State& state, bool ordered)
      : tx_(tx), state_(state), ordered_(ordered) {}

  [[nodiscard]] bool ordered() const { return ordered_; }

  // Adds jobs that became ready together. Precondition: none of them is in a queue.
  void put(const ReadyRange& range);
  // Adds jobs that were given back or are to run again: before all others of their priority, joined
  // with their neighbours in the queue. Empties `jobs`.
  void put_again(std::vector<ReadyJob>& jobs);
  // Takes jobs out of the queues. Precondition: each of them is in one. Empties `jobs`. A range is
  // cut wherever a job of it goes: two writes for each run of jobs.
  void withdraw(std::vector<ReadyJob>& jobs);
  // The same of the `count` jobs that begin with `first`, all of its class and priority.
  void withdraw(const ReadyJob& first, std::uint64_t count);

  // Brings the order of heads up to date with the changes so far. Before jobs are claimed, and at
  // the end.
  void store();

 private:
  void touch(std::uint32_t job_class);

  Transaction& tx_;
  State& state_;
  bool ordered_;
  std::map<std::uint32_t, std::optional<ReadyRange>> before_;  // by class
};

// Lists the heads of all queues in their order. Precondition: none is listed.
void order_heads(Transaction& tx, State& state, SortMethod sort);
void forget_order(Transaction& tx);

}  // namespace torc::claim
