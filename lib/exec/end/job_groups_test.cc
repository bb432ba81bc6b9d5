// Control groups of single commands. On a machine whose groups of version 2 have no memory
// controller, or are not this process's to change, what needs them is skipped.
#include "lib/exec/end/job_groups.h"

#include "lib/exec/machine/cgroup.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/process/host_fixture.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

// A directory that looks as a group does, as far as plain files can.
class MadeUpGroups : public HostTest {
 protected:
  void SetUp() override {
    make_directory();
    write_file("proc/self/cgroup", "4:memory:/old\n0::/a\n");
    write_file("proc/self/mountinfo",
               "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
               "31 23 0:27 / /v1 rw - cgroup cgroup rw,memory\n");
    write_file("cg/a/cgroup.controllers", "cpu memory pids\n");
    write_file("cg/a/cgroup.subtree_control", "");
    write_file("cg/a/cgroup.procs", "17\n18\n");
  }
  std::unique_ptr<JobGroups> create(const std::vector<pid_t>& own) {
    return JobGroups::create(directory_.string(), own);
  }
};

TEST_F(MadeUpGroups, a_group_with_processes_of_others_is_left_as_it_is) {
  EXPECT_EQ(create({17}), nullptr);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "cg/a/torc-17"));
}

TEST_F(MadeUpGroups, a_group_without_the_memory_controller_is_left_as_it_is) {
  write_file("cg/a/cgroup.controllers", "cpu pids\n");
  EXPECT_EQ(create({17, 18}), nullptr);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "cg/a/torc-17"));
}

TEST_F(MadeUpGroups, what_cannot_be_set_up_is_undone) {
  // No group that was made has the files of one here, so the first move fails.
  EXPECT_EQ(create({17, 18}), nullptr);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "cg/a/torc-17"));
  EXPECT_EQ(text_of("cg/a/cgroup.subtree_control"), "");
}

TEST_F(MadeUpGroups, of_version_2_are_found_beside_those_of_version_1) {
  EXPECT_EQ(own_group(directory_.string()), directory_.string() + "/cg/a");
  EXPECT_EQ(own_group("/no/such/root"), std::nullopt);
}

// --- real ones ---

class RealGroups : public HostTest {
 protected:
  // A group of its own below that of this process, with the memory controller, or the test is
  // skipped.
  void SetUp() override {
    HostTest::SetUp();
    const auto here = own_group("");
    const std::string controllers =
        here ? read_small_file(*here + "/cgroup.controllers").value_or("") : "";
    if (controllers.find("memory") == std::string::npos)
      GTEST_SKIP() << "no memory controller of version 2 here";
    groups_ = JobGroups::create("", {getpid()});
    if (groups_ == nullptr) GTEST_SKIP() << *here << " is not delegated to this process alone";
  }
  std::unique_ptr<JobGroups> groups_;
};

// One test, since a process can move into a group of its own once.
TEST_F(RealGroups, hold_a_limit_tell_of_kills_and_end_what_hides) {
  const auto group = groups_->make(1, mebibytes(32));
  ASSERT_NE(group, nullptr);
  Command greedy = command("echo $$ >" + group->directory() + "/cgroup.procs; " +
                           "head -c 200M /dev/zero | tail");
  EXPECT_EQ(end_of(start(greedy)).signal, SIGKILL);
  EXPECT_GT(group->oom_kills(), 0U);
  EXPECT_GE(group->peak().value_or(mebibytes(32)), mebibytes(31));
  const auto other = groups_->make(2, mebibytes(64));
  ASSERT_NE(other, nullptr);
  const RunId id = start("exec 9>fifo; echo $$ >" + other->directory() +
                         "/cgroup.procs; (env -i setsid sh -c 'echo here >&9; exec sleep 1000') & "
                         "wait");
  wait_for("here");
  other->kill();
  EXPECT_EQ(end_of(id).signal, SIGKILL);
  EXPECT_FALSE(anybody_left());
  EXPECT_EQ(other->oom_kills(), 0U);
  // By the host, which has groups of its own; nothing of the tree is looked at before it ends.
  Command limited = command("exec 9>fifo; (head -c 200M /dev/zero; exec sleep 1000) | tail");
  limited.memory_limit = mebibytes(32);
  const Ended ended = end_of(start(limited));
  EXPECT_EQ(ended.how, Ending::out_of_memory);
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_FALSE(anybody_left());
}

TEST_F(HostTest, a_command_with_a_limit_ends_as_it_would_without_whatever_groups_there_are) {
  Command limited = command("head -c 200M /dev/zero | tail -n 1 >/dev/null; echo $? >code; exit 4");
  limited.memory_limit = mebibytes(900);
  const Ended ended = end_of(start(limited));
  EXPECT_EQ(ended.how, Ending::exited);
  EXPECT_EQ(ended.exit_code, 4);
}

}  // namespace
}  // namespace torc::exec
