// Attacks by another user of the machine, with real users: ids without any entry in passwd. Eve may
// write where Ada works, or is a member of the group of her store. Needs root, to be all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

constexpr gid_t kGroup = 60100;
struct User {
  uid_t id;
  std::vector<gid_t> groups;
};
const User kAda{60001, {kGroup}};
const User kEve{60003, {kGroup}};
const User kMallory{60004, {}};

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

class Attack : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
    fs::permissions(here.path(), fs::perms(01777));
    home = here.path() / "ada";
    fs::create_directory(home);
    ASSERT_EQ(::chown(home.c_str(), kAda.id, kGroup), 0);
    precious = home / "precious";
    write_text(precious, "do not lose me\n");
    ASSERT_EQ(::chown(precious.c_str(), kAda.id, kGroup), 0);
    fs::permissions(precious, fs::perms(0600));
  }
  [[nodiscard]] Launch by(const User& user, std::vector<std::string> words) const {
    Launch launch = here.torc(std::move(words));
    launch.user = user.id;
    launch.groups = user.groups;
    launch.env["XDG_CONFIG_HOME"] = (here.path() / ("config-" + std::to_string(user.id))).string();
    return launch;
  }
  // A shell command of somebody.
  void act(const User& user, const std::string& command) const {
    Launch launch{{"/bin/sh", "-c", command}, {}, here.path(), {}, {}};
    launch.user = user.id;
    launch.groups = user.groups;
    const Ended ended = run(launch);
    ASSERT_EQ(ended.exit_code, 0) << command << ": " << ended;
  }
  void expect_untouched() const {
    EXPECT_EQ(read_text(precious), "do not lose me\n");
    EXPECT_EQ(std::distance(fs::directory_iterator(home), fs::directory_iterator()), 1);
  }

  const Workplace here;
  Path home;
  Path precious;
};

// A store beside a workflow file, or the only one here, or the newest of `torc exec`: what it says
// would run as whoever finds it.
TEST_F(Attack, a_store_of_another_user_is_not_run_because_it_was_found) {
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: \"touch ran_as_$(id -u)\"}]\n");
  ASSERT_EQ(run(by(kMallory, {"init", "wf.yaml", "--engine", "journal"})).exit_code, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "wf.yaml"}, {"run"}, {"status"}, {"worker"}}) {
    const Ended refused = run(by(kAda, words));
    EXPECT_EQ(refused.exit_code, 4) << refused;
    EXPECT_SAYS(refused, "belongs to user 60004");
    EXPECT_SAYS(refused, "torc trust");
  }
  EXPECT_FALSE(fs::exists(here.path() / "ran_as_60001"));
  EXPECT_EQ(run(by(kAda, {"status", "wf.torc"})).exit_code, 0) << "it is named";
  EXPECT_EQ(run(by(kMallory, {"status"})).exit_code, 0) << "it is hers";
}

TEST_F(Attack, a_store_that_is_trusted_may_be_found_until_it_is_another) {
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: \"true\"}]\n");
  ASSERT_EQ(run(by(kMallory, {"init", "wf.yaml", "--engine", "journal"})).exit_code, 0);
  const Ended trusted = run(by(kAda, {"trust", "wf.torc"}));
  EXPECT_EQ(trusted.exit_code, 0) << trusted;
  EXPECT_SAYS(run(by(kAda, {"trust"})), "wf.torc");
  EXPECT_EQ(run(by(kAda, {"status"})).exit_code, 0);
  // Another one at the same place is not the one that was meant.
  ASSERT_EQ(run(by(kMallory, {"init", "--force", "wf.yaml", "--engine", "journal"})).exit_code, 0);
  EXPECT_EQ(run(by(kAda, {"status"})).exit_code, 4);
  EXPECT_EQ(run(by(kAda, {"trust", "wf.torc"})).exit_code, 0);
  EXPECT_EQ(run(by(kAda, {"trust", "--forget", "wf.torc"})).exit_code, 0);
  EXPECT_EQ(run(by(kAda, {"status"})).exit_code, 4);
  EXPECT_EQ(run(by(kAda, {"trust", "--forget", "wf.torc"})).exit_code, 2);
}

TEST_F(Attack, torc_exec_goes_on_with_nothing_of_another_user) {
  ASSERT_EQ(run(by(kMallory, {"exec", "-c", "touch ran_as_$(id -u)", "--dry-run"})).signal, 0);
  ASSERT_EQ(run(by(kMallory, {"exec", "-c", "touch ran_as_$(id -u); false {}", "1"})).signal, 0);
  ASSERT_TRUE(fs::exists(here.path() / ".torc-exec"));
  act(kMallory, "chmod -R a+rwX .torc-exec");
  const Ended refused = run(by(kAda, {"exec", "--resume", "--resume-failed"}));
  EXPECT_NE(refused.exit_code, 0) << refused;
  EXPECT_FALSE(fs::exists(here.path() / "ran_as_60001"));
}

TEST_F(Attack, torc_doctor_deletes_nothing_that_a_link_points_to) {
  act(kMallory, "mkdir -m777 .torc-two-node && ln -s " + home.string() + " .torc-two-node/7");
  const Ended probed =
      run(by(kAda, {"doctor", here.path().string(), "--two-node", "--wait", "1s"}));
  EXPECT_NE(probed.exit_code, 0) << probed;
  expect_untouched();
}

class AttackFromWithin : public Attack {
 protected:
  void SetUp() override {
    Attack::SetUp();
    if (IsSkipped()) return;
    here.write(
        "wf.yaml",
        "name: wf\njobs: [{name: \"j{i}\", command: echo hello, parameters: {i: \"1:3\"}}]\n");
    const Ended made = run(
        by(kAda, {"init", "wf.yaml", "--engine", "journal", "--group", std::to_string(kGroup)}));
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] Path heartbeats_of(const std::string& store) const {
    for (const auto& entry : fs::directory_iterator(here.path() / store))
      if (entry.path().filename().string().starts_with("state-")) return entry.path() / "beats";
    ADD_FAILURE() << "no state in " << store;
    return {};
  }
};

// What is written under a name that Ada gave is written to what she meant: not to what others have
// put there.
TEST_F(Attack, records_of_exec_are_written_through_no_link_and_no_fifo) {
  int stores = 0;
  const auto exec = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"exec", "-q", "--store", fmt::format("exec_{}", ++stores)});
    words.insert(words.end(), {"-c", "echo {}", ":::", "a", "b"});
    return run(by(kAda, words));
  };
  act(kMallory, "ln -s " + precious.string() + " joblog && mkfifo pipe");
  for (const char* log : {"joblog", "pipe"}) {
    const Ended refused = exec({"--joblog", log});
    EXPECT_FALSE(refused.timed_out);
    EXPECT_EQ(refused.exit_code, 2) << refused;
    EXPECT_TRUE(refused.says("of another user")) << refused;
  }
  act(kMallory, "umask 0; mkdir -p R/1/a R/1/b && ln -s " + precious.string() +
                    " R/1/a/stdout && mkfifo R/1/b/stdout && ln -s " + home.string() + " R/1/c");
  const Ended written = exec({"--results", "R"});
  EXPECT_FALSE(written.timed_out);
  EXPECT_EQ(written.exit_code, 0) << written;
  EXPECT_EQ(read_text(here.path() / "R/1/a/stdout"), "a\n");
  EXPECT_EQ(read_text(here.path() / "R/1/b/stdout"), "b\n");
  expect_untouched();
}

// A member of the group may write in the store, and so spoil it; but not what is not of the store.
TEST_F(AttackFromWithin, output_replaces_links_and_fifos_and_is_not_written_through_them) {
  act(kEve, "umask 0; mkdir -p wf.torc/logs/jobs/000000 && cd wf.torc/logs/jobs/000000 && ln -s " +
                precious.string() + " 1.1.out && mkfifo 3.1.out");
  // As Eve may where fs.protected_hardlinks is 0.
  const Path logs = here.path() / "wf.torc/logs/jobs/000000";
  fs::create_hard_link(precious, logs / "2.1.out");
  const Ended worked = run(by(kAda, {"run", "wf.torc"}));
  EXPECT_EQ(worked.exit_code, 0) << worked;
  expect_untouched();
  for (const char* file : {"1.1.out", "2.1.out", "3.1.out"}) {
    const Path output = logs / file;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(output))) << output;
    EXPECT_EQ(fs::hard_link_count(output), 1U) << output;
    EXPECT_EQ(read_text(output), "hello\n");
  }
}

TEST_F(AttackFromWithin, a_fifo_for_the_workflow_s_copy_is_not_waited_for) {
  act(kEve, "rm -f wf.torc/spec.yaml && mkfifo -m666 wf.torc/spec.yaml");
  const Ended drawn = run(by(kAda, {"graph", "wf.torc"}));
  EXPECT_FALSE(drawn.timed_out);
  EXPECT_EQ(drawn.exit_code, 0) << "it is drawn from the jobs: " << drawn;
  EXPECT_FALSE(run(by(kAda, {"export", "--ro-crate", home / "crate", "wf.torc"})).timed_out);
  here.write("more.yaml", "jobs: [{name: more, command: \"true\"}]\n");
  const Ended added = run(by(kAda, {"add", "wf.torc", "more.yaml"}));
  EXPECT_FALSE(added.timed_out);
  EXPECT_EQ(added.exit_code, 0) << added;
}

// Nor is anything read that way, or waited for.
TEST_F(AttackFromWithin, output_is_read_through_no_link_and_no_fifo) {
  ASSERT_EQ(run(by(kAda, {"run", "wf.torc"})).exit_code, 0);
  act(kEve, "cd wf.torc/logs/jobs/000000 && rm 1.1.out 2.1.out && ln -s " + precious.string() +
                " 1.1.out && mkfifo 2.1.out");
  for (const char* name : {"j1", "j2"}) {
    const Ended shown = run(by(kAda, {"logs", "wf.torc", name}));
    EXPECT_FALSE(shown.timed_out);
    EXPECT_NE(shown.exit_code, 0) << shown;
    EXPECT_FALSE(shown.says("do not lose me")) << shown;
  }
  // Nor through one on the way to it.
  write_text(home / "3.1.out", "nobody's business\n");
  act(kEve, "cd wf.torc/logs/jobs && mv 000000 away && ln -s " + home.string() + " 000000");
  const Ended shown = run(by(kAda, {"logs", "wf.torc", "j3"}));
  EXPECT_NE(shown.exit_code, 0) << shown;
  EXPECT_FALSE(shown.says("nobody's business")) << shown;
}

TEST_F(AttackFromWithin, no_directory_of_output_is_a_link_elsewhere) {
  act(kEve, "ln -s " + home.string() + " wf.torc/logs/jobs || { mkdir -p wf.torc/logs && ln -s " +
                home.string() + " wf.torc/logs/jobs; }");
  const Ended worked = run(by(kAda, {"run", "wf.torc"}));
  EXPECT_NE(worked.exit_code, 0) << worked;
  EXPECT_SAYS(worked, "symbolic link");
  expect_untouched();
}

TEST_F(AttackFromWithin, heartbeats_are_written_into_no_file_of_somebody_else) {
  here.write("long.yaml", "name: long\njobs: [{name: a, command: sleep 4}]\n");
  ASSERT_EQ(
      run(by(kAda, {"init", "long.yaml", "--engine", "journal", "--group", std::to_string(kGroup)}))
          .exit_code,
      0);
  const Path heartbeats = heartbeats_of("long.torc");
  // Of every worker that may come.
  act(kEve, "for n in 0 1 2 3 4 5 6 7 8 9; do ln -s " + precious.string() + " " +
                heartbeats.string() + "/$n; done");
  const Ended worked = run(by(kAda, {"worker", "long.torc", "--lease-ttl", "10s"}));
  EXPECT_FALSE(worked.timed_out) << worked;
  expect_untouched();
}

// Whoever has a store of engine lmdb in a directory of his own may put anything there.
TEST_F(Attack, no_command_on_a_store_of_lmdb_writes_through_a_link) {
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: \"true\"}]\n");
  ASSERT_EQ(run(by(kMallory, {"init", "wf.yaml", "--engine", "lmdb"})).exit_code, 0);
  act(kMallory, "chmod -R a+rwX wf.torc && rm wf.torc/lock.mdb && ln -s " + precious.string() +
                    " wf.torc/lock.mdb");
  for (const char* command : {"status", "jobs", "verify", "compact", "run"}) {
    const Ended refused = run(by(kAda, {command, "wf.torc"}));
    EXPECT_EQ(refused.exit_code, 4) << command << ": " << refused;
    EXPECT_SAYS(refused, "lock.mdb is not a regular file");
  }
  expect_untouched();
}

}  // namespace
}  // namespace torc::itest
