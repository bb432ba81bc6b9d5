// Stores of engine lmdb on machines that are renamed, and on others: a machine is played by a UTS
// namespace and a mount namespace with another /etc/machine-id.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

#define EXPECT_SAYS(ended, word) EXPECT_TRUE((ended).says(word)) << (word) << "\n" << (ended)

class Adopt : public ::testing::Test {
 protected:
  struct Machine {
    std::string name;
    Path etc;
  };
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "a machine of its own needs root";
    if (!own_mounts()) GTEST_SKIP() << "needs a mount namespace";
    mount_small_disk(disk_, 64 << 20);
    one_ = make_machine("one", 'a');
    two_ = make_machine("two", 'b');
    here_.write("disk/wf.yaml",
                "name: wf\njobs:\n  - name: job\n    command: \"echo started > record; read x < "
                "gate; echo done > record\"\n");
    Launch init = by(one_, {"init", "wf.yaml", "--engine", "lmdb"});
    const Ended made = run(init);
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  void TearDown() override {
    if (one_.etc.empty()) return;
    unmount(disk_);
  }
  Machine make_machine(const std::string& name, char id) {
    here_.write("etc-" + name + "/machine-id", std::string(32, id) + "\n");
    for (const char* file : {"passwd", "group", "nsswitch.conf"})
      here_.write("etc-" + name + "/" + file, read_text(Path("/etc") / file));
    return {name, here_.path() / ("etc-" + name)};
  }
  Launch by(const Machine& machine, std::vector<std::string> arguments) {
    Launch launch = here_.torc(std::move(arguments));
    launch.directory = disk_;
    launch.hostname = machine.name;
    launch.etc = machine.etc;
    return launch;
  }

  Workplace here_;
  Path disk_ = here_.path() / "disk";
  Machine one_;
  Machine two_;
};

TEST_F(Adopt, a_renamed_machine_opens_its_own_store_and_another_of_its_name_does_not) {
  Machine renamed = one_;
  renamed.name = "renamed";
  const Ended own = run(by(renamed, {"status", "wf.torc"}));
  EXPECT_EQ(own.exit_code, 0) << own;
  Machine namesake = two_;  // or the same machine, with another id since its last boot
  namesake.name = one_.name;
  const Ended rebooted = run(by(namesake, {"status", "wf.torc"}));
  EXPECT_EQ(rebooted.exit_code, 0) << rebooted;
  std::filesystem::copy(disk_ / "wf.torc", disk_ / "copy.torc",
                        std::filesystem::copy_options::recursive);
  for (const char* command : {"status", "verify", "compact", "run"}) {
    const Ended refused = run(by(namesake, {command, "copy.torc"}));
    EXPECT_EQ(refused.exit_code, 4) << refused;
    EXPECT_SAYS(refused, "another machine");
    EXPECT_SAYS(refused, "torc adopt");
  }
}

TEST_F(Adopt, who_adopts_a_store_on_which_nobody_works_has_it) {
  const Ended adopted = run(by(two_, {"adopt", "wf.torc"}));
  EXPECT_EQ(adopted.exit_code, 0) << adopted;
  EXPECT_SAYS(adopted, "now belongs to this machine, two");
  EXPECT_EQ(run(by(two_, {"status", "wf.torc"})).exit_code, 0);
  const Ended again = run(by(two_, {"adopt", "wf.torc"}));
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_SAYS(again, "nothing was changed");
  const Ended before = run(by(one_, {"status", "wf.torc"}));
  EXPECT_EQ(before.exit_code, 4) << before;
  EXPECT_SAYS(before, "belongs to machine two");
}

TEST_F(Adopt, is_refused_beside_a_live_worker_and_waits_for_the_lease_of_a_dead_one) {
  Fifo record(disk_ / "record");
  Fifo gate(disk_ / "gate");
  {
    Process worker(by(one_, {"run", "wf.torc", "--lease-ttl", "10s"}));
    ASSERT_TRUE(wait_for_line(record, "started", worker)) << worker.err();
    const Ended beside = run(by(two_, {"adopt", "--wait", "wf.torc"}));
    EXPECT_EQ(beside.exit_code, 4) << beside;
    EXPECT_SAYS(beside, "open in another process");
    worker.kill(SIGKILL);
    (void)worker.wait();
  }
  // Nothing on the other machine shows that it has ended.
  const Ended early = run(by(two_, {"adopt", "wf.torc"}));
  EXPECT_EQ(early.exit_code, 4) << early;
  EXPECT_SAYS(early, "on one");
  EXPECT_SAYS(early, "not before");
  EXPECT_SAYS(early, "torc adopt --wait");
  const Ended late = run(by(two_, {"adopt", "--wait", "wf.torc"}));
  EXPECT_EQ(late.exit_code, 0) << late;
  EXPECT_EQ(run(by(two_, {"status", "wf.torc"})).exit_code, 0);
}

}  // namespace
}  // namespace torc::itest
