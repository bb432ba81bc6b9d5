// What commands advise: it can be pasted, and does what it is advised for.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

#define EXPECT_SAYS(ended, text) EXPECT_TRUE((ended).says(text)) << (text) << "\n" << (ended)

class Advice : public ::testing::Test {
 protected:
  void make(const std::string& jobs) const {
    here.write("wf.yaml", "name: wf\njobs:\n" + jobs);
    const Ended made = here.run({"init", "wf.yaml"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] std::string remedy(const std::string& job) const {
    return here.json({"why", "wf.torc", job})["reasons"][0]["remedy"];
  }
  const Workplace here;
};

TEST_F(Advice, where_no_worker_is_names_what_a_worker_must_be_told_for_the_jobs) {
  here.write("wf.yaml",
             "name: wf\njobs:\n  - {name: wide, command: \"true\", num_nodes: 2, labels: [ssd]}\n"
             "  - {name: fp, command: \"true\", resources: {fpga: 2}}\n");
  const Ended made = here.run({"init", "wf.yaml"});
  EXPECT_SAYS(made, "  torc run wf.torc --resource fpga=2 ");
  EXPECT_SAYS(made, "   # where there is that\n");
  EXPECT_SAYS(made, "  torc worker wf.torc --group nodes --label ssd   # on each of 2 nodes\n");
  EXPECT_FALSE(made.says("work here")) << "torc run alone would run nothing: " << made;
  const std::string wide = "torc worker wf.torc --group nodes --label ssd (on each of 2 nodes)";
  const std::string named = "torc run wf.torc --resource fpga=2 (where there is that)";
  for (const char* command : {"status", "history"})
    EXPECT_SAYS(here.run({command, "wf.torc"}), "start one: " + named + ", or " + wide + "\n");
  EXPECT_EQ(here.json({"status", "wf.torc"})["remedy"], named + ", or " + wide);
  EXPECT_EQ(remedy("wide"), wide);
  EXPECT_EQ(remedy("fp"), named);
  EXPECT_EQ(here.run({"run", "wf.torc", "--resource", "fpga=2", "-q"}).exit_code, 3);
  EXPECT_EQ(here.jobs("wf.torc")["fp"]["state"], "completed");
}

TEST_F(Advice, is_torc_run_where_that_runs_what_waits) {
  make("  - {name: a, command: \"true\", labels: [ssd]}\n");
  EXPECT_SAYS(here.run({"status", "wf.torc"}), "start one: torc run wf.torc\n");
  EXPECT_EQ(here.run({"run", "wf.torc", "-q"}).exit_code, 0);
}

TEST_F(Advice, to_set_a_job_that_is_over_names_the_retry_that_it_takes) {
  make("  - {name: a, command: test -e there}\n  - {name: b, command: \"true\"}\n");
  EXPECT_EQ(here.run({"run", "wf.torc", "-q"}).exit_code, 1);
  const Ended set = here.run({"set", "wf.torc", "a", "memory=64m"});
  EXPECT_SAYS(set, "has ended; this counts when it is tried again: torc retry wf.torc a\n");
  here.write("there", "");
  EXPECT_EQ(here.run({"retry", "wf.torc", "a"}).exit_code, 0);
  EXPECT_FALSE(here.run({"set", "wf.torc", "a", "memory=65m"}).says("torc retry"));
}

TEST_F(Advice, of_reinit_tells_what_was_taken_over_where_nothing_runs_again) {
  make("  - {name: a, command: \"true\"}\n  - {name: b, command: echo old}\n");
  here.write(
      "new.yaml",
      "name: wf\njobs:\n  - {name: a, command: \"true\"}\n  - {name: b, command: echo new}\n");
  const Ended tried = here.run({"reinit", "wf.torc", "--spec", "new.yaml", "--dry-run"});
  EXPECT_SAYS(tried, "~ job b: the command changed: 'echo new' was 'echo old'\n");
  const Ended done = here.run({"reinit", "wf.torc", "--spec", "new.yaml"});
  EXPECT_SAYS(done, "~ job b: the command changed: 'echo new' was 'echo old'\n");
  EXPECT_FALSE(done.says("again")) << done;
  EXPECT_EQ(here.run({"run", "wf.torc", "-q"}).exit_code, 0);
  EXPECT_SAYS(here.run({"logs", "wf.torc", "b"}), "new\n");
  const Ended again = here.run({"reinit", "wf.torc", "--spec", "new.yaml"});
  EXPECT_SAYS(again, "nothing differs");
}

TEST_F(Advice, a_crate_counts_the_files_that_are_there_and_names_the_others) {
  make(
      "  - {name: a, command: touch out.txt gone.txt, output_files: [out, gone]}\n"
      "files:\n  - {name: out, path: out.txt}\n  - {name: gone, path: gone.txt}\n");
  EXPECT_EQ(here.run({"run", "wf.torc", "-q"}).exit_code, 0);
  std::filesystem::remove(here.path() / "gone.txt");
  const Ended made = here.run({"export", "wf.torc", "--ro-crate", "crate"});
  EXPECT_SAYS(made, "1 run of jobs and 1 file in crate\n");
  EXPECT_SAYS(made, "1 more file is not there, and only named in it:\n  " +
                        (here.path() / "gone.txt").string() + "\n");
}

}  // namespace
}  // namespace torc::itest
