// What status, why and history say of a workflow whose allocations a real Slurm has: none, one that
// waits, one that runs, one that was cancelled, and a node that dies.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kWorkflow = R"yaml(name: wf
slurm_schedulers:
  - {name: one, nodes: 1, walltime: "00:10:00", extra: --exclusive}
  - {name: wide, nodes: 2, walltime: "00:20:00", extra: --exclusive}
jobs:
  - {name: a, scheduler: one, command: "echo a 1 $(hostname) > starts; read go < gate"}
  - {name: b, scheduler: wide, command: "true"}
  - {name: c, depends_on: [a], command: "true"}
)yaml";

class SlurmAnswers : public SlurmTest {
 protected:
  void SetUp() override {
    SlurmTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    write_text(work_ / "wf.yaml", kWorkflow);
    const auto init = torc({"init", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(init.exit_code, 0) << init;
  }

  // As of now, not as of the answer of the last ten seconds.
  void forget_answer() const {
    fs::remove(work_ / "wf.torc" / (".slurm-answer." + std::to_string(geteuid())));
  }
  [[nodiscard]] json status() const {
    forget_answer();
    return parsed(torc({"status", "wf.torc", "--json"}));
  }
  [[nodiscard]] std::string text() const {
    const auto ended = torc({"status", "wf.torc"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    return ended.out;
  }
  // The most important reason.
  [[nodiscard]] json why(const std::string& job) const {
    return parsed(torc({"why", "wf.torc", job, "--json"})).at("reasons").at(0);
  }
  [[nodiscard]] bool says(const std::string& text, const std::string& part) const {
    return text.find(part) != std::string::npos;
  }
  [[nodiscard]] std::string sbatch(const Words& options, const std::string& script) const {
    const auto submitted = login(Words{"sbatch", "--parsable"} + options + Words{script},
                                 {{"TORC_WORKER_FLAGS", "--lease-ttl 10s"}});
    EXPECT_EQ(submitted.exit_code, 0) << submitted;
    return submitted.out.substr(0, submitted.out.find('\n'));
  }
};

TEST_F(SlurmAnswers, nothing_submitted_waiting_and_cancelled_are_told_apart) {
  json now = status();
  EXPECT_TRUE(now.at("allocations").empty()) << now;
  EXPECT_TRUE(now.at("slurm_answered_at").is_number()) << now;
  EXPECT_EQ(now.at("remedy"),
            "sbatch wf.torc/slurm/one.sbatch, or sbatch wf.torc/slurm/wide.sbatch");
  EXPECT_TRUE(says(text(), "Slurm shows no allocation that is called as the batch scripts "))
      << text();
  EXPECT_EQ(why("a").at("kind"), "no_worker");
  EXPECT_EQ(why("a").at("remedy"), "sbatch wf.torc/slurm/one.sbatch");

  // One of another store of the same name is not this one's.
  fs::create_directories(work_ / "other.torc" / "slurm");
  fs::copy_file(work_ / "wf.torc/slurm/one.sbatch", work_ / "other.torc/slurm/one.sbatch");
  (void)sbatch({"--hold"}, "other.torc/slurm/one.sbatch");
  const auto id = sbatch({"--begin=now+1hour"}, "wf.torc/slurm/one.sbatch");
  now = status();
  ASSERT_EQ(now.at("allocations").size(), 1U) << now;
  EXPECT_EQ(now["allocations"][0].at("allocation"), id);
  EXPECT_EQ(now["allocations"][0].at("scheduler"), "one");
  EXPECT_EQ(now["allocations"][0].at("slurm_state"), "PENDING");
  EXPECT_EQ(now["allocations"][0].at("slurm_reason"), "BeginTime");
  EXPECT_GT(now["allocations"][0].at("starts_at"), now.at("slurm_answered_at"));
  EXPECT_TRUE(now.at("remedy").is_null()) << now;
  EXPECT_TRUE(says(text(), "PENDING (BeginTime), expected to start ")) << text();
  EXPECT_TRUE(says(text(), "no worker is at work: the workflow waits for an allocation")) << text();
  EXPECT_EQ(why("a").at("kind"), "allocation");
  EXPECT_EQ(why("b").at("kind"), "no_worker") << "none of its scheduler is there";
  EXPECT_EQ(why("b").at("remedy"), "sbatch wf.torc/slurm/wide.sbatch");
  EXPECT_TRUE(torc({"history", "wf.torc"}).says("(wf-one) is PENDING (BeginTime)"));

  // By root that is a hold of an administrator.
  ASSERT_EQ(login({"scontrol", "hold", id}).exit_code, 0);
  forget_answer();
  EXPECT_EQ(why("a").at("remedy"), "only an administrator can release it: scontrol release " + id);
  ASSERT_EQ(login({"scontrol", "release", id}).exit_code, 0);
  ASSERT_EQ(login({"scontrol", "uhold", id}).exit_code, 0);
  forget_answer();
  EXPECT_EQ(why("a").at("remedy"), "scontrol release " + id);
  EXPECT_TRUE(says(text(), "allocation " + id + " is held: scontrol release " + id)) << text();

  ASSERT_EQ(login({"scancel", id}).exit_code, 0);
  now = status();
  ASSERT_EQ(now.at("allocations").size(), 1U) << now;
  EXPECT_EQ(now["allocations"][0].at("slurm_state"), "CANCELLED");
  EXPECT_TRUE(now["allocations"][0].at("slurm_reason").is_null()) << "the last reason to wait";
  EXPECT_TRUE(now["allocations"][0].at("ends_at").is_number());
  EXPECT_EQ(now.at("remedy"),
            "sbatch wf.torc/slurm/one.sbatch, or sbatch wf.torc/slurm/wide.sbatch");
  EXPECT_EQ(why("a").at("kind"), "no_worker");
  EXPECT_TRUE(says(why("a").at("message"), "(wf-one) is CANCELLED, ended ")) << why("a");
}

TEST_F(SlurmAnswers, a_node_that_dies_while_a_job_runs_is_told_and_when_its_jobs_run_again) {
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  const auto id = submit("wf.torc/slurm/one.sbatch");
  ASSERT_TRUE(lines_arrive(starts, 1));
  json now = status();
  ASSERT_EQ(now.at("allocations").size(), 1U) << now;
  EXPECT_EQ(now["allocations"][0].at("slurm_state"), "RUNNING");
  const double left =
      now["allocations"][0].at("ends_at").get<double>() - now.at("slurm_answered_at").get<double>();
  EXPECT_GT(left, 500);
  EXPECT_LE(left, 600);
  EXPECT_TRUE(says(text(), "RUNNING, 9 min ") || says(text(), "RUNNING, 10 min left")) << text();
  EXPECT_TRUE(now.at("workers").at(0).at("silent_seconds").is_null()) << now;
  EXPECT_EQ(why("a").at("kind"), "running");
  EXPECT_EQ(why("b").at("kind"), "scheduler") << "no worker that is there could ever run it";
  EXPECT_EQ(why("b").at("remedy"), "sbatch wf.torc/slurm/wide.sbatch");
  EXPECT_EQ(now.at("unserved").at(0).at("allocation_waits"), false);
  // Where one waits for the job's scheduler that is told first.
  const auto second = sbatch({"--begin=now+1hour"}, "wf.torc/slurm/wide.sbatch");
  EXPECT_EQ(status().at("unserved").at(0).at("allocation_waits"), true);
  EXPECT_EQ(why("b").at("kind"), "allocation");
  ASSERT_EQ(login({"scancel", second}).exit_code, 0);

  const auto node = nodes_of(id).front();
  ASSERT_EQ(cluster({"crash", node}).exit_code, 0);
  // Its silence is nothing that happens: one looks until it is long enough, and Slurm has seen it.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  json worker;
  do {
    Timer moment(std::chrono::milliseconds(200));
    (void)wait_until({&moment}, [&] { return moment.passed(); });
    now = status();
    worker = now.at("workers").at(0);
  } while (std::chrono::steady_clock::now() < deadline &&
           (worker.at("silent_seconds").is_null() || worker.at("slurm_node_state") != "down*"));
  EXPECT_GE(worker.at("silent_seconds"), 6) << now;
  EXPECT_EQ(worker.at("slurm_node_state"), "down*") << now;
  EXPECT_DOUBLE_EQ(worker.at("lease_ends_at").get<double>() - worker.at("heard_at").get<double>(),
                   10);
  EXPECT_EQ(now.at("state"), "waiting");
  EXPECT_TRUE(says(text(), ", has been silent for ")) << text();
  EXPECT_TRUE(says(text(), "Slurm says " + node + " is down and does not answer")) << text();
  EXPECT_EQ(why("a").at("kind"), "no_worker");
  EXPECT_TRUE(says(why("c").at("message"), ", has been silent for ")) << why("c");
}

}  // namespace
}  // namespace torc::itest
