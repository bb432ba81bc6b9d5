// Jobs are added to a living workflow: by people from files, by running jobs themselves.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

constexpr const char* kMore = R"(jobs:
  - {name: merge, command: "cat ${files.input.part_1} ${files.input.part_2}"}
  - {name: "more_{i}", command: "echo {i}", depends_on: ["work_{i}"], parameters: {i: "1:3"}}
)";

class Adding : public ::testing::TestWithParam<const char*> {
 protected:
  Adding() {
    here.write("wf.yaml", R"(name: wf
files:
  - {name: "part_{i}", path: "part_{i}.txt", parameters: {i: "1:3"}}
jobs:
  - {name: "work_{i}", command: "echo {i} > ${files.output.part_{i}}", parameters: {i: "1:3"}}
)");
    here.write("more.yaml", kMore);
    const Ended made = here.run({"init", "wf.yaml", "--engine", GetParam()});
    EXPECT_EQ(made.exit_code, 0) << made;
  }
  const Workplace here;
};

TEST_P(Adding, jobs_of_a_file_are_added_once_and_wait_for_those_that_are_there) {
  EXPECT_EQ(here.json({"add", "more.yaml"})["added"], 4);
  const json again = here.json({"add", "more.yaml"});
  EXPECT_EQ(again["added"], 0);
  EXPECT_EQ(again["there"], 4);
  EXPECT_EQ(here.json({"job", "merge"})["waits_for"], json({"work_1", "work_2"}));
  EXPECT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(here.json({"status"})["counts"]["completed"], 7);
  EXPECT_EQ(here.json({"add", "more.yaml"})["added"], 0);
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST_P(Adding, another_job_of_the_same_name_is_an_error_that_shows_both) {
  ASSERT_EQ(here.run({"add", "more.yaml"}).exit_code, 0);
  here.write("other.yaml", "jobs: [{name: work_2, command: other}, {name: x, command: y}]\n");
  const Ended refused = here.run({"add", "other.yaml"});
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_NE(refused.err.find("there 'echo 2 > part_2.txt', here 'other'"), std::string::npos)
      << refused;
  EXPECT_EQ(here.json({"status"})["jobs"], 7);
}

INSTANTIATE_TEST_SUITE_P(Engines, Adding, ::testing::Values("lmdb", "journal"));

TEST(Spawning, a_job_goes_on_in_iterations_until_its_lineage_ends) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
dynamic_jobs: {max_iterations: 3}
jobs:
  - name: refine
    command: |
      echo "$TORC_ITERATION $TORC_SPAWN_STATE" >> trace
      )" + here.torc({}).argv[0] +
                            R"( spawn --state "{\"x\": $TORC_ITERATION}"; echo "rc $?" >> trace
)");
  const Ended ran = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ran.exit_code, 0) << ran;
  std::ifstream trace(here.path() / "trace");
  const std::string text(std::istreambuf_iterator<char>(trace), {});
  EXPECT_EQ(text, "1 \nrc 0\n2 {\"x\":1}\nrc 0\n3 {\"x\":2}\nrc 1\n");
  EXPECT_EQ(here.json({"jobs"}).size(), 3U);
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST(Spawning, an_attempt_that_is_tried_again_spawns_nothing_twice) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - name: a
    command: |
      )" + here.torc({}).argv[0] +
                            R"( spawn --name b --command true --now
      test $TORC_ATTEMPT_ID = 2
)");
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 1);
  EXPECT_EQ(here.run({"retry", "a"}).exit_code, 0);
  EXPECT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(here.json({"jobs"}).size(), 2U);
}

}  // namespace
}  // namespace torc::itest
