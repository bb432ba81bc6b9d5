// A worker without processes: it says what a worker says to a store, as fast as it can.
#pragma once

#include <vector>

#include "bench/measure.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/request.h"
#include "lib/store/engine/store.h"

namespace torc::bench {

// `jobs` jobs with nothing to wait for, one CPU and 64 MiB each.
enum class Shape : std::uint8_t {
  sweep,     // one template: the ready queue is one range
  scattered  // a template for each job, neighbours of different priority: no two ready jobs share a
             // range, as after many of them were given back
};
[[nodiscard]] claim::Plan plan_of(std::uint64_t jobs, Shape shape);

class BatchWorker {
 public:
  // The store outlives this.
  static Result<BatchWorker> join(store::Store& store);

  // In one commit: all jobs that it holds are completed, `batch` others are claimed. An Error too
  // when fewer are left.
  Result<void> turn(std::uint64_t batch);
  // In one commit: all jobs that it holds failed, or every `every`th of them; the rest completed.
  Result<void> fail(std::uint64_t every, std::uint64_t batch);
  // All jobs that it holds are given back, as never started.
  Result<void> give_back();
  // Of the newest commit: the time that the exchange took inside the transaction.
  [[nodiscard]] Seconds exchange_time() const { return exchange_time_; }

 private:
  BatchWorker(store::Store& store, claim::WorkerEpoch self) : store_(&store), self_(self) {}
  Result<void> say(claim::Exchange exchange, std::uint64_t batch);

  store::Store* store_;
  claim::WorkerEpoch self_;
  std::vector<claim::ClaimToken> held_;
  Seconds exchange_time_{};
};

}  // namespace torc::bench
