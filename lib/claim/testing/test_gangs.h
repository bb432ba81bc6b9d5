// For the tests of jobs of several nodes: workers in groups, and what they say.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {

// Jobs, one entry each, of so many nodes.
struct GangJob {
  std::uint32_t nodes = 1;
  std::int32_t priority = 0;
  std::chrono::seconds runtime{0};
  std::uint64_t count = 1;
};

using Jobs = std::vector<GangJob>;

inline Plan gang_plan(const Jobs& jobs) {
  Plan plan = plan_of({});
  plan.classes.clear();
  std::uint64_t next = 1;
  for (const GangJob& j : jobs) {
    JobClass c;
    c.need.nodes = j.nodes;
    c.need.runtime = j.runtime;
    Template t;
    t.first = JobId{next};
    t.count = j.count;
    t.priority = j.priority;
    t.job_class = static_cast<std::uint32_t>(plan.classes.size());
    plan.classes.push_back(c);
    plan.templates.push_back(t);
    next += j.count;
  }
  return plan;
}

// A node with one slot for jobs.
inline constexpr std::uint32_t kSlots = 1;

class GangWorkflow : public TestWorkflow {
 public:
  explicit GangWorkflow(const Jobs& jobs) : TestWorkflow(gang_plan(jobs)) {}
  explicit GangWorkflow(const Plan& plan) : TestWorkflow(plan) {}

  WorkerEpoch join_group(std::string_view group, std::string_view name = {}, WallTime ends = {}) {
    WorkerInfo info;
    info.group = group;
    info.node_name = name.empty() ? "n" + std::to_string(tx.number + 1) : std::string(name);
    info.host = info.node_name;
    info.cpus = kSlots;
    info.memory = mebibytes(1 << 20);
    info.ends_at = ends;
    info.registered_at = kNoon;
    ++tx.number;
    const auto epoch = register_worker(tx, info);
    EXPECT_TRUE(epoch.ok());
    check();
    return *epoch;
  }
  std::vector<WorkerEpoch> join_all(std::string_view group, std::size_t nodes) {
    std::vector<WorkerEpoch> all;
    for (std::size_t n = 0; n < nodes; ++n) all.push_back(join_group(group));
    return all;
  }

  static Exchange words(WorkerEpoch worker, WallTime now = kNoon) {
    Exchange e;
    e.worker = worker;
    e.now = now;
    return e;
  }
  static Offer free_node() {
    Offer o = offer(kSlots);
    o.busy_for = std::chrono::seconds(0);
    return o;
  }
  // Its slot is taken, for so long; none: nobody knows.
  static Offer busy_node(std::optional<std::chrono::seconds> busy_for) {
    Offer o = free_node();
    o.cpus = 0;
    o.max_jobs = 0;
    o.busy_for = busy_for;
    return o;
  }

  Answer told(const Exchange& e) {
    auto answer = say(e);
    EXPECT_TRUE(answer.ok()) << answer.error().text();
    return answer.ok() ? *std::move(answer) : Answer{};
  }
  Answer ask(WorkerEpoch worker, WallTime now = kNoon) {
    Exchange e = words(worker, now);
    e.offer = free_node();
    return told(e);
  }
  Answer busy(WorkerEpoch worker, std::optional<std::chrono::seconds> busy_for,
              WallTime now = kNoon) {
    Exchange e = words(worker, now);
    e.offer = busy_node(busy_for);
    return told(e);
  }
  Answer word(WorkerEpoch worker, const ClaimToken& token, GangWord::What what,
              WallTime now = kNoon) {
    Exchange e = words(worker, now);
    GangWord w;
    w.token = token;
    w.what = what;
    e.gang.push_back(w);
    return told(e);
  }
  // The others confirm, and the head starts.
  void run(const Gang& gang) {
    for (std::size_t rank = 1; rank < gang.members.size(); ++rank)
      (void)word(gang.members[rank].worker, gang.token, GangWord::What::confirmed);
    start(gang.members.front().worker, gang.token);
  }
  Result<bool> expire(WorkerEpoch worker, EndCause why = EndCause::worker_lost) {
    const auto lease = State(tx).lease(worker);
    EXPECT_TRUE(lease.has_value());
    ++tx.number;
    auto expired = expire_worker(tx, worker, lease ? lease->renewals : 0, kNoon, 5, why);
    check();
    return expired;
  }
  void release(WorkerEpoch worker) {
    ++tx.number;
    EXPECT_TRUE(release_worker(tx, worker, kNoon).ok());
    check();
  }
};

}  // namespace torc::claim
