// Short jobs that the host begins by itself, one after the other.
#include <signal.h>

#include <algorithm>

#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/membership.h"
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::JobState;

class LaneSession : public SessionTest {
 protected:
  LaneSession() { host_.has_lane = true; }
  // Nothing begins in the lane any more, and a person does something.
  void once_armed(std::function<void()> deed) {
    host_.begins = [&] { return host_.began_in_lane < 3 || done_; };
    host_.meanwhile = [this, deed = std::move(deed)](BootTime) {
      if (done_ || host_.began_in_lane < 3 || host_.lane.empty()) return false;
      done_ = true;
      deed();
      return true;
    };
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const exec::Command& c : host_.commands) all.push_back(c.line);
    return all;
  }
  bool done_ = false;
};

TEST_F(LaneSession, begins_them_in_the_order_of_their_priority_each_once) {
  make(
      "jobs:\n"
      "  - {name: \"low{i}\", command: \"low {i}\", priority: 1, parameters: {i: \"1:40\"}}\n"
      "  - {name: \"high{i}\", command: \"high {i}\", priority: 2, parameters: {i: \"1:40\"}}\n");
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.completed, 80U);
  EXPECT_GT(host_.began_in_lane, 60);
  std::vector<std::string> expected;
  for (int i = 1; i <= 40; ++i) expected.push_back("high " + std::to_string(i));
  for (int i = 1; i <= 40; ++i) expected.push_back("low " + std::to_string(i));
  EXPECT_EQ(lines(), expected);
}

TEST_F(LaneSession, runs_no_more_at_a_time_than_there_is_room_for) {
  setup_.machine.cpus = 4;
  make(
      "jobs:\n"
      "  - {name: \"a{i}\", command: a, parameters: {i: \"1:30\"}}\n"
      "  - {name: \"b{i}\", command: b, resource_requirements: two, parameters: {i: \"1:30\"}}\n"
      "  - {name: \"c{i}\", command: c, parameters: {i: \"1:30\"}}\n"
      "resource_requirements: [{name: two, num_cpus: 2}]\n");
  int most = 0;
  host_.outcome = [] { return std::nullopt; };
  host_.meanwhile = [&](BootTime) {
    if (host_.running_now.empty()) return false;
    int cpus = 0;
    for (const exec::RunId id : host_.running_now) cpus += host_.line_of[id] == "b" ? 2 : 1;
    most = std::max(most, cpus);
    clock_.sleep_for(2ms);
    host_.end(host_.running_now.front(), ScriptedHost::ended_by_itself(0));
    return true;
  };
  EXPECT_EQ(run().completed, 90U);
  EXPECT_EQ(most, 4);
  EXPECT_GT(host_.began_in_lane, 30);
}

TEST_F(LaneSession, what_is_canceled_before_it_begins_never_does) {
  make("jobs: [{name: \"j{i}\", command: \"x {i}\", parameters: {i: \"1:20\"}}]\n");
  once_armed([&] {
    const auto canceled = open()->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      const claim::JobRange last[] = {{JobId{20}, 1}};
      TORC_TRY(claim::cancel_jobs(tx, last, clock_.wall_now()));
      return {};
    });
    ASSERT_TRUE(canceled.ok()) << canceled.error().text();
  });
  const WorkerSummary summary = run();
  EXPECT_EQ(job(20).state, JobState::canceled);
  EXPECT_EQ(summary.completed, 19U);
  const std::vector<std::string> all = lines();
  EXPECT_EQ(std::count(all.begin(), all.end(), "x 20"), 0);
}

TEST_F(LaneSession, a_worker_that_is_told_to_leave_gives_back_what_has_not_begun) {
  make("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:20\"}}]\n");
  once_armed([] { ::kill(getpid(), SIGTERM); });
  const WorkerSummary summary = run();
  EXPECT_EQ(summary.end, WorkerEnd::interrupted);
  const auto ran = static_cast<std::uint64_t>(host_.commands.size());
  EXPECT_EQ(summary.completed, ran);
  EXPECT_LT(ran, 20U);
  for (std::uint64_t id = 1; id <= 20; ++id)
    EXPECT_EQ(job(id).state, id <= ran ? JobState::completed : JobState::ready) << id;
}

TEST_F(LaneSession, what_it_cannot_begin_is_started_one_by_one) {
  make("jobs: [{name: \"j{i}\", command: \"x {i}\", parameters: {i: \"1:30\"}}]\n");
  bool refused = false;
  host_.refuses = [&] {
    if (refused || host_.began_in_lane < 3) return false;
    refused = true;
    return true;
  };
  EXPECT_EQ(run().completed, 30U);
  EXPECT_TRUE(refused);
  std::vector<std::string> expected;
  for (int i = 1; i <= 30; ++i) expected.push_back("x " + std::to_string(i));
  EXPECT_EQ(lines(), expected);
}

TEST_F(LaneSession, who_lost_its_lease_does_not_wait_for_what_could_not_begin_then) {
  make("jobs: [{name: \"j{i}\", command: \"x {i}\", parameters: {i: \"1:30\"}}]\n");
  host_.stalls = [&] { return host_.began_in_lane >= 3 && host_.stalled.empty(); };
  host_.begins = [&] { return host_.stalled.empty(); };
  host_.meanwhile = [&](BootTime) {
    if (done_ || host_.stalled.empty()) return false;
    done_ = true;
    const auto expired = open()->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(const auto worker, claim::newest_worker(tx));
      TORC_TRY(claim::expire_worker(tx, worker->epoch, worker->renewals, clock_.wall_now(), 5));
      return {};
    });
    EXPECT_TRUE(expired.ok()) << expired.error().text();
    return true;
  };
  EXPECT_EQ(run().end, WorkerEnd::lease_lost);
  ASSERT_TRUE(host_.all_killed_at);
  EXPECT_EQ(clock_.boot_now(), *host_.all_killed_at);
}

TEST_F(LaneSession, does_not_serve_what_may_be_halted) {
  make(
      "max_failures: 3\n"
      "jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:20\"}}]\n");
  EXPECT_EQ(run().completed, 20U);
  EXPECT_EQ(host_.began_in_lane, 0);
}

}  // namespace
}  // namespace torc::worker
