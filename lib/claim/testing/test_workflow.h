// For the tests of this folder: a workflow in memory, each call one commit, checked after every
// one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/store/engine/memory_state.h"

namespace torc::claim {

inline constexpr WallTime kNoon{1'800'000'000'000'000};

inline Plan plan_of(std::vector<std::pair<std::uint64_t, std::int32_t>> counts_and_priorities) {
  Plan plan;
  plan.name = "test";
  plan.classes = {JobClass{}};
  std::uint64_t next = 1;
  for (auto [count, priority] : counts_and_priorities) {
    Template t;
    t.first = JobId{next};
    t.count = count;
    t.priority = priority;
    t.recipe = "recipe of " + std::to_string(next);
    plan.templates.push_back(t);
    next += count;
  }
  return plan;
}

inline JobRange range(std::uint64_t first, std::uint64_t count) {
  return {JobId{first}, count};
}

class TestWorkflow {
 public:
  explicit TestWorkflow(const Plan& plan) {
    const auto written = write_plan(tx, plan);
    EXPECT_TRUE(written.ok()) << written.error().text();
    check();
  }

  WorkerEpoch join(std::uint32_t cpus = 64) {
    WorkerInfo info;
    info.host = "node1";
    info.cpus = cpus;
    info.registered_at = kNoon;
    ++tx.number;
    const auto epoch = register_worker(tx, info);
    EXPECT_TRUE(epoch.ok());
    check();
    return *epoch;
  }

  Result<Answer> say(const Exchange& request) {
    ++tx.number;
    auto before = tx.entries;
    auto answer = exchange(tx, request);
    if (!answer.ok()) tx.entries = std::move(before);  // as the store aborts
    check();
    return answer;
  }

  std::vector<Grant> claim(WorkerEpoch worker, Offer offer) {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    request.offer = std::move(offer);
    auto answer = say(request);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer->grants : std::vector<Grant>{};
  }
  std::vector<Grant> claim(WorkerEpoch worker, std::uint64_t jobs) {
    return claim(worker, offer(jobs));
  }

  // Free capacity for that many jobs of one CPU.
  static Offer offer(std::uint64_t jobs) {
    Offer o;
    o.cpus = o.total_cpus = static_cast<std::uint32_t>(jobs);
    o.memory = o.total_memory = mebibytes(1 << 20);
    o.max_jobs = jobs;
    return o;
  }

  void start(WorkerEpoch worker, const ClaimToken& token) {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    request.starts.push_back({token, kNoon});
    EXPECT_TRUE(say(request).ok());
  }

  Result<Answer> finish(WorkerEpoch worker, const ClaimToken& token,
                        JobState state = JobState::completed) {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    Finished f;
    f.token = token;
    f.state = state;
    f.outcome.cause = EndCause::exited;
    f.outcome.exit_code = state == JobState::completed ? 0 : 1;
    request.finishes.push_back(f);
    return say(request);
  }

  Job job(std::uint64_t id) const { return read_job(tx, JobId{id}).value_or(Job{}); }
  JobState state(std::uint64_t id) const { return job(id).state; }

  void check() const {
    const auto sound = verify_state(tx);
    EXPECT_TRUE(sound.ok()) << sound.error().text();
  }

  store::MemoryState tx;
};

// A job to which nothing has happened.
inline Job untouched(JobState state) {
  Job job;
  job.state = state;
  return job;
}

inline std::vector<std::uint64_t> ids(const std::vector<Grant>& grants) {
  std::vector<std::uint64_t> out;
  for (const Grant& g : grants) out.push_back(raw(g.token.job));
  return out;
}

}  // namespace torc::claim
