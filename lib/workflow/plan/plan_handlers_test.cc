#include <gtest/gtest.h>

#include "lib/spec/load/load.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using namespace std::chrono_literals;

claim::Plan plan_of(const std::string& text) {
  const spec::ReadFile no_files = [](const std::string& name) -> Result<std::string> {
    return Error{ErrorKind::not_found, name, ""};
  };
  auto loaded = spec::load("name: w\n" + text, "wf.yaml", no_files, {});
  EXPECT_TRUE(loaded.workflow && loaded.expansion) << text;
  claim::Plan plan;
  add_expansion(plan, *loaded.workflow, *loaded.expansion);
  return plan;
}
claim::Handler handler_of(const claim::Plan& plan, std::size_t entry) {
  const std::uint32_t number = plan.templates.at(entry).handler;
  return number == 0 ? claim::Handler{} : plan.handlers.at(number - 1);
}

constexpr const char* kTwoSchedulers =
    "slurm_schedulers:\n"
    "  - {name: small, nodes: 1, walltime: \"01:00:00\", mem: 8G}\n"
    "  - {name: big, nodes: 1, walltime: \"08:00:00\", mem: 64G}\n";

TEST(PlanHandlers, without_on_failure_only_those_that_the_file_has) {
  const claim::Plan plan = plan_of(
      "failure_handlers: [{name: h, rules: [{on: oom}]}]\n"
      "jobs: [{name: a, command: x}, {name: b, command: x, failure_handler: h}]\n");
  EXPECT_EQ(plan.handlers.size(), 1U);
  EXPECT_EQ(plan.templates.at(0).handler, 0U);
  EXPECT_EQ(handler_of(plan, 1).recoveries, 0U);
}

TEST(PlanHandlers, that_recover_know_what_the_scheduler_of_the_job_offers) {
  const claim::Plan plan =
      plan_of(std::string("on_failure: recover\nmax_recoveries: 5\n") + kTwoSchedulers +
              "jobs:\n"
              "  - {name: a, command: x, scheduler: small}\n"
              "  - {name: b, command: x, scheduler: big}\n"
              "  - {name: c, command: x}\n"
              "  - {name: d, command: x}\n");
  EXPECT_EQ(handler_of(plan, 0).memory_ceiling, mebibytes(8 << 10));
  EXPECT_EQ(handler_of(plan, 1).memory_ceiling, mebibytes(64 << 10));
  EXPECT_EQ(handler_of(plan, 2).memory_ceiling, mebibytes(64 << 10)) << "any of them may have it";
  EXPECT_LT(handler_of(plan, 0).runtime_ceiling, 1h);
  EXPECT_GT(handler_of(plan, 1).runtime_ceiling, 7h);
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(handler_of(plan, e).recoveries, 5U) << e;
  EXPECT_EQ(plan.templates.at(2).handler, plan.templates.at(3).handler);
}

TEST(PlanHandlers, that_recover_keep_the_rules_of_the_file) {
  const claim::Plan plan = plan_of(
      "on_failure: recover\nfailure_handlers: [{name: h, rules: [{on: oom}]}]\n"
      "jobs: [{name: a, command: x, failure_handler: h}, {name: b, command: x}]\n");
  EXPECT_EQ(handler_of(plan, 0).rules.size(), 1U);
  EXPECT_EQ(handler_of(plan, 0).recoveries, spec::kMaxRecoveries);
  EXPECT_TRUE(handler_of(plan, 1).rules.empty());
  EXPECT_EQ(spec::kMaxRecoveries, 3U);
}

}  // namespace
}  // namespace torc::workflow
