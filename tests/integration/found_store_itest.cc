// `torc run FILE` goes on with the store that it finds beside the file, if that would run what the
// file says. An archive that was unpacked may bring a store along, which then belongs to whoever
// unpacked it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lib/base/clock.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/tables.h"
#include "lib/exec/machine/machine.h"
#include "lib/spec/load/load.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"
#include "lib/store/mount/home.h"
#include "lib/workflow/plan/workflow_plan.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

constexpr const char* kFile = R"(name: wf
failure_handlers:
  - {name: grow, rules: [{on: signal, memory_multiplier: 4, max_retries: 1}]}
resource_requirements: [{name: little, num_cpus: 1, memory: 100m}]
jobs:
  - {name: a, command: echo a >> log}
  - name: grows
    command: test -e go && echo grows $TORC_MEMORY_BYTES >> log || kill -SEGV $$
    resource_requirements: little
    failure_handler: grow
  - {name: b, command: echo b >> log, depends_on: [a]}
)";

class FoundStore : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    here.write("wf.yaml", kFile);
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] Ended run_file() const { return here.run({"run", "wf.yaml", "--num-cpus", "1"}); }
  [[nodiscard]] std::string log() const { return read_text(here.path() / "log"); }

  // One commit with what torc itself never writes; META, and the copy of the file, stay as they
  // are.
  void forge(const store::Store::Body& body) {
    store::PosixDisk disk;
    SystemClock clock;
    SystemEntropy entropy;
    char host[256] = {};
    ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
    const store::World world{disk,
                             clock,
                             entropy,
                             host,
                             exec::boot_id(),
                             exec::pid_namespace(),
                             static_cast<std::uint32_t>(::geteuid()),
                             {here.new_tmpdir("forger")},
                             {},
                             store::machine_id()};
    auto opened = store::Store::open(world, here.path() / "wf.torc", store::Tuning{});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const auto done = (*opened)->commit(0, body);
    ASSERT_TRUE(done.ok()) << done.error().text();
  }

  const Workplace here;
};

// The recipe of the one job of a workflow.
std::string recipe(const std::string& job) {
  const spec::Loaded loaded = spec::load(
      "name: wf\njobs: [" + job + "]\n", "wf.yaml", [](const std::string&) -> Result<std::string> {
        return Error{ErrorKind::not_found, "there are no files", ""};
      });
  EXPECT_TRUE(loaded.expansion);
  return loaded.expansion ? loaded.expansion->entries.front().recipe : "";
}

TEST_P(FoundStore, commands_that_were_forged_are_not_run_by_the_name_of_the_file) {
  forge([](store::Transaction& tx) -> Result<void> {
    claim::Template t = *claim::read_template(tx, JobId{1});
    t.recipe = recipe("{name: a, command: touch evil}");
    tx.put(claim::Key(claim::Table::job_template, 1), encode(t));
    return {};
  });
  here.write("go", "");
  const Ended ran = run_file();
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_SAYS(ran, "the command changed: 'echo a >> log' was 'touch evil'");
  EXPECT_FALSE(fs::exists(here.path() / "evil"));
  EXPECT_EQ(log().substr(0, 2), "a\n");
}

// The name of the store is the word for them.
TEST_P(FoundStore, commands_that_were_forged_are_run_by_the_name_of_the_store) {
  forge([](store::Transaction& tx) -> Result<void> {
    claim::Template t = *claim::read_template(tx, JobId{1});
    t.recipe = recipe("{name: a, command: touch evil}");
    tx.put(claim::Key(claim::Table::job_template, 1), encode(t));
    return {};
  });
  here.write("go", "");
  const Ended named = here.run({"run", "wf.torc", "--num-cpus", "1"});
  EXPECT_EQ(named.exit_code, 0) << named;
  EXPECT_TRUE(fs::exists(here.path() / "evil"));
}

TEST_P(FoundStore, jobs_that_the_file_does_not_have_are_not_run_by_its_name) {
  here.write("more.yaml", "jobs: [{name: more, command: touch evil}]\n");
  ASSERT_EQ(here.run({"add", "more.yaml"}).exit_code, 0);
  const Ended refused = run_file();
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_SAYS(refused, "job 'more' is not in the file; it runs 'touch evil'");
  EXPECT_FALSE(fs::exists(here.path() / "evil"));
  EXPECT_EQ(log(), "");
}

TEST_P(FoundStore, jobs_do_not_run_in_another_directory_than_that_of_the_store) {
  fs::create_directory(here.path() / "other");
  const Ended made =
      here.run({"init", "wf.yaml", "--store", "other/wf.torc", "--engine", GetParam()});
  ASSERT_EQ(made.exit_code, 0) << made;
  Launch launch = here.torc({"run", "../wf.yaml"});
  launch.directory = here.path() / "other";
  const Ended refused = run(launch);
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_SAYS(refused, "the jobs of the store run in " + here.path().string() + ", and not here");
  EXPECT_EQ(log(), "");
}

TEST_P(FoundStore, a_store_that_was_moved_away_from_its_project_runs_nothing) {
  fs::create_directory(here.path() / "other");
  fs::rename(here.path() / "wf.torc", here.path() / "other" / "wf.torc");
  Launch launch = here.torc({"run", "../wf.yaml"});
  launch.directory = here.path() / "other";
  const Ended refused = run(launch);
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_SAYS(refused, "was moved or copied without its project");
  EXPECT_EQ(log(), "");
}

TEST_P(FoundStore, a_list_beside_the_file_is_a_part_of_it) {
  here.write("words", "one\ntwo\n");
  here.write("wf.yaml",
             "name: list\njobs: [{name: 'j_{w}', command: 'echo {w} >> log', "
             "parameters: {w: '@words'}}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  here.write("words", "one\n2\n");
  const Ended ran = run_file();
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_SAYS(ran, "+ job j_2");
  EXPECT_SAYS(ran, "- job j_two");
  EXPECT_EQ(log(), "one\n2\n");
}

TEST_P(FoundStore, what_began_goes_on_after_a_failure_more_memory_and_a_reset) {
  EXPECT_EQ(run_file().exit_code, 1) << "'grows' failed twice";
  EXPECT_EQ(log(), "a\nb\n");
  EXPECT_EQ(here.json({"job", "grows"})["memory_bytes"], 400U << 20);
  here.write("go", "");
  ASSERT_EQ(here.run({"retry", "grows"}).exit_code, 0);
  const Ended second = run_file();
  EXPECT_EQ(second.exit_code, 0) << second;
  EXPECT_EQ(log(), "a\nb\ngrows 419430400\n") << "with the memory that its handler gave it";
  ASSERT_EQ(here.run({"reset", "b", "--yes"}).exit_code, 0);
  ASSERT_EQ(here.run({"set", "b", "memory=64m"}).exit_code, 0);
  const Ended third = run_file();
  EXPECT_EQ(third.exit_code, 0) << third;
  EXPECT_EQ(log(), "a\nb\ngrows 419430400\nb\n");
}

// Another command, a new job in front of all, and one that is over and left out.
TEST_P(FoundStore, what_the_file_says_otherwise_is_taken_over) {
  here.write("go", "");
  ASSERT_EQ(run_file().exit_code, 0);
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: new, command: echo new >> log}
  - {name: a, command: echo a >> log}
  - {name: b, command: echo B >> log, depends_on: [a]}
)");
  here.write("log", "");
  const Ended ran = run_file();
  EXPECT_SAYS(ran, "- job grows");
  EXPECT_EQ(ran.exit_code, 0) << ran;
  EXPECT_EQ(log(), "B\nnew\n");
}

INSTANTIATE_TEST_SUITE_P(Engines, FoundStore, testing::Values("lmdb", "journal"));

}  // namespace
}  // namespace torc::itest
