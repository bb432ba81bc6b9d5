// Jobs that take their worker with them, and what becomes of those that ran or waited beside them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

// No start of the deadly one is ever told before it kills.
TEST(Poison, a_job_that_kills_its_worker_at_once_fails_and_the_innocent_complete) {
  Workplace here;
  here.write("wf.yaml", R"(
name: poison
jobs:
  - {name: deadly, command: "kill -9 $PPID; sleep 60", crash_limit: 2, priority: 1}
  - {name: "i{i}", command: "true", parameters: {i: "1:12"}}
)");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "lmdb"}).exit_code, 0);
  int runs = 0;
  while (here.run({"run", "poison.torc", "--num-cpus", "4"}).signal == 9) ASSERT_LT(++runs, 10);
  const auto deadly = here.json({"job", "poison.torc", "deadly"});
  EXPECT_EQ(deadly["state"], "failed");
  EXPECT_LE(deadly["attempt"].get<int>(), 3) << "one loss as one of many, two of its own";
  for (int i = 1; i <= 12; ++i) {
    const auto innocent = here.json({"job", "poison.torc", "i" + std::to_string(i)});
    EXPECT_EQ(innocent["state"], "completed") << innocent;
    EXPECT_LE(innocent["attempt"].get<int>(), 2) << innocent;
    EXPECT_EQ(innocent["suspect"], false);
  }
}

}  // namespace
}  // namespace torc::itest
