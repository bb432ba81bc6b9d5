// A store that a group of users shares, with real users: ids without any entry in passwd, which the
// kernel minds as little as torc does. Who is not root can be one user only and sees the modes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

constexpr gid_t kGroup = 60100;

struct User {
  uid_t id;
  std::vector<gid_t> groups;
  mode_t umask;
};
const User kAda{60001, {kGroup}, 077};  // whose umask would shut everybody out
const User kBob{60002, {kGroup}, 022};
const User kEve{60003, {}, 022};

Launch by(const User& user, const Workplace& here, std::vector<std::string> arguments) {
  Launch launch = here.torc(std::move(arguments));
  launch.user = user.id;
  launch.groups = user.groups;
  launch.umask = user.umask;
  return launch;
}

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

struct stat status_of(const Path& path) {
  struct stat st {};
  EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
  return st;
}

// Every file is the group's and nobody else's; the owners that were found.
std::set<uid_t> expect_shared(const Path& store, gid_t group) {
  std::set<uid_t> owners;
  std::vector<Path> paths{store};
  for (const auto& entry : fs::recursive_directory_iterator(store)) paths.push_back(entry.path());
  for (const Path& path : paths) {
    const struct stat st = status_of(path);
    EXPECT_EQ(st.st_gid, group) << path;
    EXPECT_EQ(st.st_mode & 07777, S_ISDIR(st.st_mode) ? 02770U : 0660U) << path;
    owners.insert(st.st_uid);
  }
  return owners;
}

void two_users_work(const std::string& engine) {
  const Workplace here;
  fs::permissions(here.path(), fs::perms(01777));
  Fifo said(here.path() / "said");
  Fifo gate(here.path() / "gate");
  for (const Fifo* fifo : {&said, &gate}) fs::permissions(fifo->path(), fs::perms(0666));
  here.write("wf.yaml", R"(name: wf
jobs:
  - name: meet_{i}
    command: "echo met by $(id -u) umask $(umask) > said; read x < gate"
    parameters: {i: "1:2"}
  - name: then_{i}
    command: "echo out; touch made_by_job_{i}"
    depends_on_regexes: ["meet_.*"]
    parameters: {i: "1:40"}
)");
  const Ended made = run(
      by(kAda, here, {"init", "wf.yaml", "--engine", engine, "--group", std::to_string(kGroup)}));
  ASSERT_EQ(made.exit_code, 0) << made;
  const Path store = here.path() / "wf.torc";
  EXPECT_EQ(expect_shared(store, kGroup), std::set<uid_t>{kAda.id});

  // One CPU each: both must come before either goes on.
  Process ada(by(kAda, here, {"worker", "wf.torc", "--num-cpus", "1"}));
  Process bob(by(kBob, here, {"worker", "wf.torc", "--num-cpus", "1"}));
  ASSERT_TRUE(wait_for_line(said, "met by 60001 umask 0077", ada));
  ASSERT_TRUE(wait_for_line(said, "met by 60002 umask 0022", bob));
  gate.open_gate(2);
  for (Process* worker : {&ada, &bob}) {
    const Ended ended = worker->wait();
    EXPECT_EQ(ended.exit_code, 0) << ended;
  }
  EXPECT_EQ(expect_shared(store, kGroup), (std::set<uid_t>{kAda.id, kBob.id}));
  for (const User& user : {kAda, kBob}) {
    const Ended status = run(by(user, here, {"status", "wf.torc"}));
    EXPECT_SAYS(status, "42");
    const Ended verified = run(by(user, here, {"verify", "wf.torc"}));
    EXPECT_EQ(verified.exit_code, 0) << verified;
    const Ended logs = run(by(user, here, {"logs", "wf.torc", "then_1"}));
    EXPECT_SAYS(logs, "out");
  }
  // What a job makes is its user's affair, not the store's.
  const struct stat of_job = status_of(here.path() / "made_by_job_1");
  EXPECT_EQ(of_job.st_mode & 07777, of_job.st_uid == kAda.id ? 0600U : 0644U);

  for (const std::string command : {"status", "worker", "verify"}) {
    const Ended refused = run(by(kEve, here, {command, "wf.torc"}));
    EXPECT_EQ(refused.exit_code, 4) << refused;
    EXPECT_SAYS(refused, "Permission denied");
  }
}

TEST(SharedStore, two_users_of_a_group_work_on_a_journal_and_a_third_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
  two_users_work("journal");
}

TEST(SharedStore, two_users_of_a_group_work_on_an_embedded_store_and_a_third_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
  two_users_work("lmdb");
}

TEST(SharedStore, is_for_a_group_that_exists_and_has_its_maker_as_a_member) {
  const Workplace here;
  fs::permissions(here.path(), fs::perms(01777));
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: \"true\"}\n");
  const Ended unknown = here.run({"init", "wf.yaml", "--group", "no-such-group"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown;
  EXPECT_SAYS(unknown, "there is no group 'no-such-group'");
  Launch launch = ::geteuid() == 0 ? by(kEve, here, {}) : here.torc({});
  for (const char* word : {"init", "wf.yaml", "--group", "60100"}) launch.argv.emplace_back(word);
  const Ended stranger = run(launch);
  EXPECT_EQ(stranger.exit_code, 4) << stranger;
  EXPECT_SAYS(stranger, "be a member of that group");
  EXPECT_EQ(contents(here.path()).size(), 1U) << "something was made";
}

TEST(SharedStore, keeps_its_modes_whatever_the_umask_of_its_only_user) {
  for (const std::string engine : {"journal", "lmdb"}) {
    const Workplace here;
    here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: \"echo out\"}\n");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"init", "wf.yaml", "--engine", engine, "--group",
                                   std::to_string(::getegid())},
          std::vector<std::string>{"run", "wf.torc"}}) {
      Launch launch = here.torc(arguments);
      launch.umask = 077;
      const Ended ended = run(launch);
      EXPECT_EQ(ended.exit_code, 0) << ended;
    }
    expect_shared(here.path() / "wf.torc", ::getegid());
  }
}

TEST(SharedStore, gives_its_group_nothing_outside_of_it) {
  for (const mode_t mask : {077U, 022U}) {
    for (const std::string engine : {"journal", "lmdb"}) {
      const Workplace here;
      here.write("wf.yaml", R"(name: wf
failure_handlers:
  - name: again
    rules: [{exit_codes: [3], recovery_script: "echo mending", max_retries: 1}]
actions: [{trigger_type: on_workflow_complete, action_type: run_commands, commands: [echo done]}]
jobs:
  - {name: a, command: "echo out"}
  - {name: b, command: "echo out; exit 3", failure_handler: again}
  - {name: c, command: "echo out", stdio: {mode: packed}}
)");
      const std::string group = std::to_string(::getegid());
      const auto by_mask = [&](const std::vector<std::string>& arguments) {
        Launch launch = here.torc(arguments);
        launch.umask = mask;
        launch.env["XDG_CONFIG_HOME"] = (here.path() / "made" / "config").string();
        return run(launch);
      };
      fs::create_directory(here.path() / "made");
      EXPECT_EQ(by_mask({"init", "wf.yaml", "--engine", engine, "--group", group}).exit_code, 0);
      const Ended ran = by_mask({"run", "wf.torc", "--output-dir", "made/output"});
      EXPECT_EQ(ran.exit_code, 1) << ran;
      EXPECT_EQ(by_mask({"logs", "export", "wf.torc", "made/export"}).exit_code, 0);
      EXPECT_EQ(by_mask({"backup", "wf.torc", "made/copy"}).exit_code, 0);
      EXPECT_EQ(by_mask({"trust", "wf.torc"}).exit_code, 0);
      std::set<std::string> met;
      for (const auto& entry : fs::recursive_directory_iterator(here.path() / "made")) {
        EXPECT_EQ(status_of(entry.path()).st_mode & mask, 0U) << entry.path();
        met.insert(entry.path().extension());
        met.insert(entry.path().filename());
      }
      for (const std::string what : {".out", ".recovery", "packed", "actions", "trusted", "META"})
        EXPECT_TRUE(met.contains(what)) << what;
      expect_shared(here.path() / "wf.torc", ::getegid());
    }
  }
}

TEST(PrivateStore, has_the_modes_that_the_umask_of_its_user_gives) {
  for (const mode_t mask : {077U, 027U, 022U}) {
    for (const std::string engine : {"journal", "lmdb"}) {
      const Workplace here;
      here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: \"echo out\"}\n");
      for (const std::vector<std::string>& arguments :
           {std::vector<std::string>{"init", "wf.yaml", "--engine", engine},
            std::vector<std::string>{"run", "wf.torc"}}) {
        Launch launch = here.torc(arguments);
        launch.umask = mask;
        const Ended ended = run(launch);
        EXPECT_EQ(ended.exit_code, 0) << ended;
      }
      for (const auto& entry : fs::recursive_directory_iterator(here.path() / "wf.torc")) {
        const struct stat st = status_of(entry.path());
        EXPECT_EQ(st.st_mode & 0777, (S_ISDIR(st.st_mode) ? 0777U : 0666U) & ~mask) << entry.path();
      }
    }
  }
}

}  // namespace
}  // namespace torc::itest
