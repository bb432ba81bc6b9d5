// What is changed and then run at once: torc retry --run and torc redo.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

// `a` fails as long as there is no file `good`; `b` is built on `c`.
void make_store(const Workplace& here, const std::string& engine) {
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: a, command: test -e good}
  - {name: c, command: "echo c >> ran"}
  - {name: b, command: "echo b >> ran", depends_on: c}
)");
  const Ended ended = here.run({"run", "wf.yaml", "--engine", engine});
  ASSERT_EQ(ended.exit_code, 1) << ended;
}

class SecondRun : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, SecondRun, testing::Values("journal", "lmdb"));

TEST_P(SecondRun, retry_runs_here_what_failed) {
  const Workplace here;
  make_store(here, GetParam());
  const Ended again = here.run({"retry", "--failed", "--run"});
  EXPECT_EQ(again.exit_code, 1) << again;  // as torc run has it
  EXPECT_TRUE(again.says("2 of 3 jobs completed, 1 failed")) << again;
  EXPECT_FALSE(again.says("no worker is at work")) << again;
  here.write("good", "");
  const Ended ended = here.run({"retry", "a", "--run"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("to run again: 1 job")) << ended;
  EXPECT_EQ(here.json({"job", "a"})["attempt"], 3);
  EXPECT_EQ(lines_of(read_text(here.path() / "ran")).size(), 2U);
  EXPECT_EQ(here.run({"retry", "a", "--run", "--dry-run"}).exit_code, 2);
}

TEST_P(SecondRun, redo_runs_what_is_named_and_built_on_it_and_nothing_else) {
  const Workplace here;
  make_store(here, GetParam());
  const Ended asked = here.run({"redo", "c"});
  EXPECT_EQ(asked.exit_code, 2) << asked;
  EXPECT_TRUE(asked.says("2 completed jobs would lose their results")) << asked;
  EXPECT_EQ(here.json({"job", "c"})["state"], "completed");
  const Ended planned = here.run({"redo", "c", "--dry-run"});
  EXPECT_EQ(planned.exit_code, 0) << planned;
  EXPECT_TRUE(planned.says("would run again:")) << planned;
  EXPECT_EQ(here.json({"job", "c"})["attempt"], 1);
  const Ended ended = here.run({"redo", "c", "--yes"});
  EXPECT_EQ(ended.exit_code, 1) << ended;  // a has failed, and was not named
  EXPECT_EQ(read_text(here.path() / "ran"), "c\nb\nc\nb\n");
  EXPECT_EQ(here.json({"job", "a"})["attempt"], 1);
  here.write("good", "");
  EXPECT_EQ(here.run({"redo", "a"}).exit_code, 0);  // nothing is lost, nothing is asked
}

TEST(SecondRunOfNothing, is_refused) {
  const Workplace here;
  make_store(here, "journal");
  EXPECT_EQ(here.run({"redo"}).exit_code, 2);
  EXPECT_EQ(here.run({"redo", "nobody"}).exit_code, 2);
  EXPECT_EQ(here.run({"redo", "gone.torc", "a"}).exit_code, 4);
}

}  // namespace
}  // namespace torc::itest
