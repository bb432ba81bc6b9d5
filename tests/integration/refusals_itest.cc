// What torc refuses at once, with the reason and the remedy, and what it does when nobody reads its
// output or nobody can.
#include <gtest/gtest.h>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

Ended shell(const Workplace& here, const std::string& line) {
  Launch launch = here.torc({});
  const std::string torc = launch.argv.front();
  launch.argv = {"/bin/bash", "-c", line};
  launch.env["T"] = torc;
  return run(launch);
}

TEST(Refusals, init_does_not_move_a_store_aside_in_which_somebody_works) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: echo a > record; read x < gate}]\n");
  const auto worker = here.start({"run", "wf.yaml"});
  ASSERT_TRUE(wait_for_line(record, "a", *worker));
  const Ended refused = here.run({"init", "wf.yaml", "--force"});
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_TRUE(refused.says("1 worker is registered")) << refused;
  EXPECT_TRUE(refused.says("end them first")) << refused;
  EXPECT_FALSE(std::filesystem::exists(here.path() / "wf.torc.old1"));
  gate.open_gate(1);
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(here.run({"init", "wf.yaml", "--force"}).exit_code, 0);
}

// As of a newer torc, whose workers may be at work.
TEST(Refusals, init_does_not_move_a_store_aside_that_it_cannot_look_into) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: \"true\"}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const Path meta = here.path() / "wf.torc" / "META";
  std::string text = read_text(meta);
  const auto at = text.find("format: ");
  ASSERT_NE(at, std::string::npos);
  std::filesystem::permissions(meta, std::filesystem::perms(0600));
  write_text(meta, text.insert(at + 8, "99"));
  const Ended refused = here.run({"init", "wf.yaml", "--force"});
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_TRUE(refused.says("cannot be determined")) << refused;
  EXPECT_FALSE(std::filesystem::exists(here.path() / "wf.torc.old1"));
}

TEST(Refusals, a_store_without_its_data_is_told_so) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: \"true\"}]\n");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "lmdb"}).exit_code, 0);
  std::filesystem::remove(here.path() / "wf.torc" / "data.mdb");
  const Ended ended = here.run({"status"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says("data.mdb")) << ended;
  EXPECT_FALSE(std::filesystem::exists(here.path() / "wf.torc" / "data.mdb"))
      << "an empty one was made in its place";
}

TEST(Refusals, an_output_directory_that_cannot_be_made_is_refused_before_any_job) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: touch ran}]\n");
  here.write("file", "");
  const Ended ended = here.run({"run", "wf.yaml", "--output-dir", "file/out"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says("cannot make the output directory")) << ended;
  EXPECT_TRUE(ended.says("--output-dir")) << ended;
  EXPECT_FALSE(std::filesystem::exists(here.path() / "ran"));
}

TEST(Refusals, a_worker_leaves_with_3_where_its_jobs_cannot_run) {
  const Workplace here;
  here.write("gone/wf.yaml",
             "name: wf\njobs: [{name: \"j{i}\", command: \"true\", "
             "parameters: {i: \"1:4\"}}]\n");
  Launch init = here.torc({"init", "wf.yaml", "--store", (here.path() / "wf.torc").string()});
  init.directory = here.path() / "gone";
  const Ended made = run(init);
  ASSERT_EQ(made.exit_code, 0) << made;
  std::filesystem::remove_all(here.path() / "gone");
  const Ended ended = here.run({"worker", "wf.torc"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says("the working directory of the jobs is not there")) << ended;
}

class Output : public testing::Test {
 protected:
  Output() {
    here_.write("wf.yaml",
                "name: wf\njobs: [{name: \"a_rather_long_name_{i}\", command: "
                "\"true\", parameters: {i: \"1:5000\"}}]\n");
    EXPECT_EQ(here_.run({"init", "wf.yaml"}).exit_code, 0);
  }
  Workplace here_;
};

TEST_F(Output, who_reads_only_the_first_line_hears_no_complaint) {
  const Ended ended = shell(here_, "\"$T\" jobs | head -1");
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(lines_of(ended.out).size(), 1U) << ended;
  EXPECT_EQ(ended.err, "") << ended;
}

TEST_F(Output, that_cannot_be_written_is_an_error) {
  for (const char* command : {"jobs", "status"}) {
    const Ended ended = shell(here_, std::string("\"$T\" ") + command + " > /dev/full");
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_TRUE(ended.says("cannot write the output")) << ended;
  }
}

TEST_F(Output, of_a_worker_may_go_nowhere) {
  const Ended full =
      shell(here_, "\"$T\" worker --max-parallel-jobs 1 --time-limit 1s > /dev/full");
  EXPECT_EQ(full.exit_code, 0) << full;
}

}  // namespace
}  // namespace torc::itest
