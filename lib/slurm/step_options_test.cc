#include "lib/slurm/step_options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace torc::slurm {
namespace {

using namespace std::chrono_literals;

bool is_among(const std::vector<std::string>& options, const std::string& one) {
  return std::ranges::find(options, one) != options.end();
}

bool sets(const std::vector<std::string>& options, const std::string& name) {
  return std::ranges::any_of(options, [&](const auto& o) { return o.starts_with(name); });
}

TEST(StepOptions, a_step_takes_its_own_share_of_one_node) {
  const auto options = step_options({"n2", "17.1", 3, ByteCount{512 << 20}, {}, false});
  for (const char* one : {"--nodes=1", "--ntasks=1", "--nodelist=n2", "--exact",
                          "--cpus-per-task=3", "--mem=512M", "--job-name=17.1", "--cpu-bind=none"})
    EXPECT_TRUE(is_among(options, one)) << one;
  EXPECT_FALSE(sets(options, "--gres"));
}

TEST(StepOptions, steps_without_declared_memory_run_side_by_side) {
  EXPECT_TRUE(is_among(step_options({"n2", "17.1", 1, {}, {}, false}), "--mem=0"));
  // Slurm counts in megabytes, and takes 0 for all.
  EXPECT_TRUE(is_among(step_options({"n2", "17.1", 1, ByteCount{5}, {}, false}), "--mem=1M"));
}

TEST(StepOptions, a_job_without_gpus_gets_none_of_a_node_that_has_some) {
  EXPECT_TRUE(is_among(step_options({"n2", "17.1", 1, {}, 0, false}), "--gres=none"));
  EXPECT_TRUE(is_among(step_options({"n2", "17.1", 1, {}, 2, false}), "--gres=gpu:2"));
}

TEST(StepOptions, the_site_binds_tasks_only_when_it_is_asked_to) {
  EXPECT_FALSE(sets(step_options({"n2", "17.1", 1, {}, {}, true}), "--cpu-bind"));
}

TEST(StepOptions, the_limit_of_slurm_comes_after_the_one_of_torc) {
  EXPECT_EQ(step_time(1s), "--time=2");
  EXPECT_EQ(step_time(60s), "--time=3");
  EXPECT_EQ(step_time(59min + 59s), "--time=61");
}

TEST(StepOptions, have_one_time_at_most) {
  std::vector<std::string> options{"--nodes=1", "--time=3", "--mem=0"};
  set_step_time(options, 10min);
  EXPECT_EQ(options, (std::vector<std::string>{"--nodes=1", "--mem=0", "--time=12"}));
  set_step_time(options, std::chrono::nanoseconds::max());
  EXPECT_EQ(options, (std::vector<std::string>{"--nodes=1", "--mem=0"}));
}

}  // namespace
}  // namespace torc::slurm
