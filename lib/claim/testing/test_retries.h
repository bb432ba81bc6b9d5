// For the tests of failure handlers: a plan with one, and a worker whose clock is told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/handler.h"
#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {

inline Plan plan_with(const RetryRule& rule, std::uint64_t jobs = 1) {
  Plan plan = plan_of({{jobs, 0}});
  plan.handlers.push_back({{rule}, mebibytes(6), std::chrono::seconds(100)});
  plan.templates.front().handler = 1;
  return plan;
}

inline RetryRule every_code() {
  RetryRule rule;
  rule.all_exit_codes = true;
  rule.max_retries = 2;
  return rule;
}

// A worker whose clock shows what it is told.
class Clocked {
 public:
  explicit Clocked(const Plan& plan) : wf(plan), worker(wf.join()) {}

  Answer at(WallTime now, std::vector<Finished> finishes = {}) {
    Exchange request;
    request.worker = worker;
    request.now = now;
    request.finishes = std::move(finishes);
    request.offer = TestWorkflow::offer(10);
    auto answer = wf.say(request);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? *std::move(answer) : Answer{};
  }
  static Finished failed(const ClaimToken& token, bool recovered = false) {
    Finished f{token, JobState::failed, {}};
    f.outcome.cause = EndCause::exited;
    f.outcome.exit_code = 1;
    f.recovered = recovered;
    return f;
  }
  Result<bool> die() {
    const std::uint64_t observed = read_worker(wf.tx, worker)->renewals;
    ++wf.tx.number;
    auto expired = expire_worker(wf.tx, worker, observed, kNoon, 5);
    wf.check();
    worker = wf.join();
    return expired;
  }

  TestWorkflow wf;
  WorkerEpoch worker;
};

}  // namespace torc::claim
