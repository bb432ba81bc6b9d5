// People change a workflow while real workers run it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// Two jobs that wait at a gate each, one that waits for the first, one that fails once.
constexpr const char* kSpec = R"(name: wf
jobs:
  - name: slow
    command: "echo slow > record; read x < gate; echo never > record"
  - name: other
    command: "echo other > record; read x < gate2"
  - name: later
    command: "echo later > record"
    depends_on: [slow]
  - name: flaky
    command: "echo flaky $TORC_ATTEMPT_ID > record; test $TORC_ATTEMPT_ID = 2"
)";

class Live : public ::testing::TestWithParam<const char*> {
 protected:
  Live()
      : record(here.path() / "record"), gate(here.path() / "gate"), gate2(here.path() / "gate2") {
    here.write("wf.yaml", kSpec);
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    EXPECT_EQ(made.exit_code, 0) << made;
  }

  std::unique_ptr<Process> start_worker() {
    return here.start({"worker", "wf.torc", "--num-cpus", "4", "--lease-ttl", "10s"});
  }
  std::string state_of(const std::string& job) {
    return here.json({"job", job})["state"].get<std::string>();
  }
  void expect_sound() {
    const Ended verified = here.run({"verify"});
    EXPECT_EQ(verified.exit_code, 0) << verified;
  }
  void expect_code(const Ended& ended, int code) { EXPECT_EQ(ended.exit_code, code) << ended; }

  const Workplace here;
  Fifo record;
  Fifo gate;
  Fifo gate2;
};

TEST_P(Live, a_running_job_that_is_canceled_is_ended_by_its_worker_which_then_leaves) {
  const auto worker = start_worker();
  ASSERT_TRUE(wait_for_line(record, "slow", *worker)) << worker->err();
  ASSERT_TRUE(wait_for_line(record, "other", *worker)) << worker->err();
  const json done = here.json({"cancel", "slow", "other"});
  EXPECT_EQ(done["changed_jobs"], 2) << done;
  EXPECT_EQ(done["changed_names"], json({"slow", "other"})) << done;
  EXPECT_EQ(state_of("slow"), "canceled");
  const Ended left = worker->wait();
  expect_code(left, 0);
  EXPECT_TRUE(left.says("'slow' was canceled: ending it")) << left;
  EXPECT_EQ(state_of("slow"), "canceled");
  EXPECT_EQ(here.json({"job", "slow"})["cause"], "canceled");
  EXPECT_EQ(state_of("later"), "blocked");
  EXPECT_EQ(here.json({"cancel", "--all"})["changed_jobs"], 1) << "what was never reached";
  expect_sound();
  record.pump();
  EXPECT_FALSE(record.has("never"));
}

// With all its slots full and nothing to report it does not talk to the store for a minute.
TEST_P(Live, a_worker_without_a_free_slot_ends_at_once_what_is_taken_from_it) {
  const auto worker = here.start({"worker", "wf.torc", "--num-cpus", "1"});
  std::vector<Source*> sources{&record, worker.get()};
  const auto times = [](const std::string& text, const std::string& part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++n;
    return n;
  };
  const auto starts = [&](const char* job, long n) {
    return wait_until(sources, [&] {
      return std::count(record.lines().begin(), record.lines().end(), job) == n;
    });
  };
  const auto ends = [&](const std::string& job, int n) {
    return wait_until(
        {worker.get()},
        [&] { return times(worker->out(), "'" + job + "' was canceled: ending it") == n; },
        std::chrono::seconds(25));
  };
  ASSERT_TRUE(starts("slow", 1)) << worker->err();
  expect_code(here.run({"cancel", "slow"}), 0);
  EXPECT_TRUE(ends("slow", 1)) << worker->out();
  expect_code(here.run({"hold", "flaky"}), 0);
  ASSERT_TRUE(starts("other", 1)) << worker->out() << worker->err();
  expect_code(here.run({"reset", "--force", "other"}), 0);
  EXPECT_TRUE(ends("other", 1)) << worker->out();
  ASSERT_TRUE(starts("other", 2)) << worker->out() << worker->err();
  std::string changed = kSpec;
  changed.replace(changed.find("echo other > record;"), 20, "echo changed > record;");
  here.write("new.yaml", changed);
  expect_code(here.run({"reinit", "--spec", "new.yaml"}), 0);
  EXPECT_TRUE(ends("other", 2)) << worker->out();
  ASSERT_TRUE(starts("changed", 1)) << worker->out() << worker->err();
  gate2.open_gate(1);
  expect_code(worker->wait(), 0);
  expect_sound();
}

// The second worker has a replica of its own, as on another node: nothing tells it of the cancel
// but its own looking.
class LiveOnNodes : public Live {};

TEST_P(LiveOnNodes, a_worker_of_another_node_hears_of_a_cancel_with_its_next_heartbeat) {
  Launch launch = here.torc({"worker", "wf.torc", "--num-cpus", "4", "--lease-ttl", "10s"});
  launch.env["TMPDIR"] = here.new_tmpdir("elsewhere");
  Process worker(launch);
  ASSERT_TRUE(wait_for_line(record, "slow", worker)) << worker.err();
  ASSERT_TRUE(wait_for_line(record, "other", worker)) << worker.err();
  expect_code(here.run({"cancel", "slow", "other"}), 0);
  expect_code(worker.wait(), 0);
  expect_sound();
}

TEST_P(Live, a_canceled_job_that_is_retried_at_once_runs_again_but_not_beside_itself) {
  const auto worker = start_worker();
  ASSERT_TRUE(wait_for_line(record, "slow", *worker)) << worker->err();
  expect_code(here.run({"cancel", "slow"}), 0);
  expect_code(here.run({"retry", "slow"}), 0);
  std::vector<Source*> sources{&record, worker.get()};
  const auto starts = [&] {
    return std::count(record.lines().begin(), record.lines().end(), "slow");
  };
  ASSERT_TRUE(wait_until(sources, [&] { return starts() == 2; })) << worker->out() << worker->err();
  gate.open_gate(1);
  gate2.open_gate(1);
  expect_code(worker->wait(), 0);
  EXPECT_EQ(here.json({"job", "slow"})["attempt"], 2);
  EXPECT_EQ(state_of("slow"), "completed");
  EXPECT_EQ(state_of("later"), "completed");
  expect_sound();
}

TEST_P(Live, a_job_that_failed_is_retried_while_a_worker_lives_and_by_a_later_one) {
  const auto worker = start_worker();
  ASSERT_TRUE(wait_for_line(record, "other", *worker)) << worker->err();
  ASSERT_TRUE(wait_for_line(record, "slow", *worker)) << worker->err();
  ASSERT_TRUE(worker->wait_for_output("flaky")) << worker->out();  // it tells of the failure
  // Its commit comes after its notice.
  json done;
  const auto limit = std::chrono::steady_clock::now() + kLongEnough;
  while ((done.is_null() || done["changed_jobs"] == 0) && std::chrono::steady_clock::now() < limit)
    done = here.json({"retry", "--failed"});
  EXPECT_EQ(done["changed_jobs"], 1) << done;
  ASSERT_TRUE(wait_for_line(record, "flaky 2", *worker)) << worker->out();
  gate.open_gate(1);
  gate2.open_gate(1);
  expect_code(worker->wait(), 0);
  EXPECT_EQ(here.json({"status"})["state"], "completed");
  expect_sound();
}

TEST_P(Live, held_jobs_wait_until_they_are_released) {
  expect_code(here.run({"hold", "--name", "^(slow|other|later)$"}), 0);
  expect_code(here.run({"run", "wf.torc"}), 1);  // flaky fails, the rest is held
  EXPECT_EQ(state_of("slow"), "held");
  EXPECT_EQ(here.json({"status"})["jobs_by_state"]["held"], 3);
  EXPECT_TRUE(here.run({"status"}).says("3 jobs are held: torc release wf.torc --all"));
  expect_code(here.run({"retry", "wf.torc", "--failed"}), 0);
  const json released = here.json({"release", "--all"});
  EXPECT_EQ(released["changed_jobs"], 3) << released;
  EXPECT_EQ(state_of("later"), "blocked");
  gate.open_gate(1);
  gate2.open_gate(1);
  expect_code(here.run({"run", "wf.torc"}), 0);
  expect_sound();
}

TEST_P(Live, a_reset_runs_a_job_and_what_was_built_on_it_again_but_discards_nothing_unasked) {
  gate.open_gate(1);
  gate2.open_gate(1);
  expect_code(here.run({"run", "wf.torc"}), 1);  // flaky fails once
  expect_code(here.run({"retry", "--failed"}), 0);
  expect_code(here.run({"run", "wf.torc"}), 0);
  const Ended asked = here.run({"reset", "slow"});
  expect_code(asked, 2);
  EXPECT_TRUE(asked.says("2 completed jobs would lose their results")) << asked;
  EXPECT_EQ(state_of("later"), "completed");
  const json planned = here.json({"reset", "slow", "--dry-run"});
  EXPECT_EQ(planned["changed_names"], json({"slow", "later"})) << planned;
  EXPECT_EQ(here.json({"reset", "slow", "--yes"})["changed_by_state"]["completed"], 2);
  EXPECT_EQ(state_of("slow"), "ready");
  EXPECT_EQ(state_of("later"), "blocked");
  gate.open_gate(1);
  expect_code(here.run({"run", "wf.torc"}), 0);
  EXPECT_EQ(here.json({"job", "later"})["attempt"], 2);
  EXPECT_EQ(here.json({"job", "other"})["attempt"], 1);
  expect_sound();
}

TEST_P(Live, a_reset_of_what_runs_is_refused_or_forced) {
  const auto worker = start_worker();
  ASSERT_TRUE(wait_for_line(record, "slow", *worker)) << worker->err();
  const Ended refused = here.run({"reset", "slow"});
  expect_code(refused, 2);
  EXPECT_TRUE(refused.says("1 of the jobs to be reset is claimed or running")) << refused;
  EXPECT_EQ(here.json({"reset", "slow", "--force"})["ending_jobs"], 1);
  std::vector<Source*> sources{&record, worker.get()};
  const auto starts = [&] {
    return std::count(record.lines().begin(), record.lines().end(), "slow");
  };
  ASSERT_TRUE(wait_until(sources, [&] { return starts() == 2; })) << worker->out() << worker->err();
  gate.open_gate(1);
  gate2.open_gate(1);
  expect_code(worker->wait(), 0);
  EXPECT_EQ(here.json({"job", "slow"})["attempt"], 2);
  expect_sound();
}

TEST_P(Live, a_dry_run_says_what_would_change_and_changes_nothing) {
  const Ended dry = here.run({"cancel", "--all", "--dry-run"});
  expect_code(dry, 0);
  EXPECT_TRUE(dry.says("would cancel 4 jobs: 1 blocked, 3 ready")) << dry;
  EXPECT_EQ(state_of("slow"), "ready");
  const json planned = here.json({"hold", "--name", "low|lat", "--dry-run"});
  EXPECT_EQ(planned["dry_run"], true);
  EXPECT_EQ(planned["changed_names"], json({"slow", "later"}));
  EXPECT_EQ(state_of("later"), "blocked");
}

TEST_P(Live, what_follows_from_a_change_is_told_with_it) {
  here.write("n.yaml", R"(name: n
jobs:
  - {name: bad, command: "false"}
  - {name: n1, command: "true", depends_on: [bad], cancel_on_blocking_job_failure: true}
  - {name: rescue, command: "true", depends: {afternotok: bad}}
)");
  expect_code(here.run({"init", "n.yaml", "--engine", GetParam()}), 0);
  const Ended dry = here.run({"cancel", "n.torc", "bad", "--dry-run"});
  EXPECT_TRUE(dry.says("because of that 1 job would be canceled, not blocked: n1")) << dry;
  const Ended canceled = here.run({"cancel", "n.torc", "bad"});
  EXPECT_TRUE(canceled.says("canceled 1 job, which was ready")) << canceled;
  EXPECT_TRUE(canceled.says("because of that 1 job is now canceled, not blocked: n1")) << canceled;
  EXPECT_TRUE(canceled.says("because of that 1 job is now ready, not blocked: rescue")) << canceled;
  const json retried = here.json({"retry", "n.torc", "bad"});
  ASSERT_EQ(retried["followers"].size(), 1U) << retried;
  EXPECT_EQ(retried["followers"][0]["state_before"], "canceled");
  EXPECT_EQ(retried["followers"][0]["state_after"], "blocked");
  EXPECT_EQ(retried["followers"][0]["changed_jobs"], 1);
  EXPECT_EQ(retried["followers"][0]["changed_names"], json::array({"n1"}));
}

TEST_P(Live, a_request_that_names_no_job_is_refused) {
  expect_code(here.run({"cancel"}), 2);
  expect_code(here.run({"retry", "wf.torc"}), 2);
  expect_code(here.run({"cancel", "nobody"}), 2);
  expect_code(here.run({"cancel", "--name", "^x"}), 2);
  expect_code(here.run({"cancel", "--name", "("}), 2);
  const Ended nothing = here.run({"retry", "--failed"});
  expect_code(nothing, 0);
  EXPECT_TRUE(nothing.says("nothing to change")) << nothing;
}

INSTANTIATE_TEST_SUITE_P(Engines, Live, ::testing::Values("journal", "lmdb"));
INSTANTIATE_TEST_SUITE_P(Engines, LiveOnNodes, ::testing::Values("journal"));

}  // namespace
}  // namespace torc::itest
