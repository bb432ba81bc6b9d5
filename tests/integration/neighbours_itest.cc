// Workers of one node that look at each other: nobody is taken for gone because they could not be
// seen. Real processes, real users.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr gid_t kGroup = 60100;
constexpr uid_t kAda = 60001;
constexpr uid_t kBob = 60002;

class Neighbours : public testing::Test {
 protected:
  [[nodiscard]] Launch worker() const {
    return here_.torc({"worker", "wf.torc", "--lease-ttl", "10s"});
  }
  [[nodiscard]] static bool passes(std::chrono::seconds time, Fifo& record) {
    Timer timer(time);
    return wait_until({&timer, &record}, [&] { return timer.passed(); });
  }

  Workplace here_;
  Fifo record_{here_.path() / "record"};
  Fifo gate_{here_.path() / "gate"};
};

// From too few to open the store to enough for everything.
TEST_F(Neighbours, with_few_descriptors_nobody_kills_the_job_of_a_live_worker) {
  here_.write("wf.yaml", R"(name: wf
jobs: [{name: a, command: "echo attempt $TORC_ATTEMPT_ID > record; read x < gate"}]
)");
  ASSERT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 0);
  Process first(worker());
  ASSERT_TRUE(wait_for_line(record_, "attempt 1", first)) << first.err();
  std::vector<std::unique_ptr<Process>> poor;
  for (int most = 12; most <= 30; ++most) {
    Launch launch = worker();
    launch.argv.insert(
        launch.argv.begin(),
        {"/bin/sh", "-c", "ulimit -n " + std::to_string(most) + "; exec \"$0\" \"$@\""});
    poor.push_back(std::make_unique<Process>(launch));
  }
  // Each looks at its neighbours as soon as it has registered, and every two to four seconds then.
  ASSERT_TRUE(passes(8s, record_));
  EXPECT_EQ(record_.lines(), std::vector<std::string>{"attempt 1"});
  EXPECT_TRUE(first.running()) << first.out() << first.err();
  int at_work = 0;
  for (const auto& one : poor) {
    one->pump();
    at_work += one->running() ? 1 : 0;
  }
  EXPECT_GT(at_work, 0) << "all had too few even to begin";
  gate_.open_gate(1);
  EXPECT_EQ(first.wait().exit_code, 0);
  EXPECT_EQ(here_.jobs("wf.torc")["a"]["state"], "completed");
  EXPECT_EQ(here_.jobs("wf.torc")["a"]["attempt"], 1);
}

// As `pkill -9 torc` by Ada. Bob can neither see nor end what she left.
TEST_F(Neighbours, what_another_user_left_keeps_its_jobs_until_the_lease_has_run_out) {
  if (geteuid() != 0) GTEST_SKIP() << "two users need root";
  fs::permissions(here_.path(), fs::perms(01777));
  for (const Fifo* fifo : {&record_, &gate_}) fs::permissions(fifo->path(), fs::perms(0666));
  here_.write("wf.yaml",
              "name: wf\njobs:\n  - name: b\n    command: |\n"
              "      test $TORC_ATTEMPT_ID = 1 || exec echo second > record\n"
              "      sh -c 'echo pid $$ > record; read x < gate' &\n"
              "      wait\n");
  const auto by = [&](uid_t user, Launch launch) {
    launch.user = user;
    launch.groups = {kGroup};
    return launch;
  };
  const Ended made = run(by(kAda, here_.torc({"init", "wf.yaml", "--group", "60100"})));
  ASSERT_EQ(made.exit_code, 0) << made;
  Process ada(by(kAda, worker()));
  ASSERT_TRUE(
      wait_until({&record_, &ada}, [&] { return !record_.lines().empty() || !ada.running(); }));
  ASSERT_EQ(record_.lines().size(), 1U) << ada.err();
  const pid_t left = std::stoi(record_.lines().front().substr(4));
  Witness leftover(left);
  const pid_t below = ada.worker();
  ASSERT_GT(below, 0);
  ::kill(below, SIGSTOP);  // so that neither can do anything about the other
  ::kill(ada.pid(), SIGSTOP);
  ::kill(below, SIGKILL);
  ::kill(ada.pid(), SIGKILL);
  EXPECT_EQ(ada.wait().signal, SIGKILL);

  Process bob(by(kBob, worker()));
  ASSERT_TRUE(passes(5s, record_));
  EXPECT_EQ(record_.lines().size(), 1U) << "a second attempt before the lease had run out";
  EXPECT_TRUE(wait_for_line(record_, "second", bob)) << bob.err();
  EXPECT_EQ(bob.wait().exit_code, 0);
  leftover.pump();
  EXPECT_FALSE(leftover.gone()) << "nobody could end it: the lease is the last resort";
  ::kill(left, SIGKILL);
}

}  // namespace
}  // namespace torc::itest
