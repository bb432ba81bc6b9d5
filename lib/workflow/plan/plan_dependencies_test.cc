#include "lib/workflow/plan/plan_dependencies.h"

#include <gtest/gtest.h>

#include <string>

#include "lib/spec/load/load.h"

namespace torc::workflow {
namespace {

struct Read {
  spec::Workflow workflow;
  spec::Expansion expansion;
};

Read read(const std::string& text) {
  const spec::ReadFile no_files = [](const std::string& name) -> Result<std::string> {
    return Error{ErrorKind::not_found, name, ""};
  };
  auto loaded = spec::load(text, "wf.yaml", no_files, {});
  EXPECT_TRUE(loaded.workflow && loaded.expansion) << text;
  return {*std::move(loaded.workflow), *std::move(loaded.expansion)};
}

std::string show(const std::vector<claim::JobRange>& ranges) {
  std::string text;
  for (const claim::JobRange& r : ranges)
    text += std::to_string(raw(r.first)) + "+" + std::to_string(r.count) + " ";
  return text;
}

std::string show(const claim::DependencySet& set) {
  std::string text = show(set.members) + "wait for " + show(set.upstream);
  for (const claim::Dependency& d : set.conditional)
    text += std::string(to_string(d.condition)) + " " + show({d.jobs});
  return text + (set.cancels ? "or are canceled" : "");
}

std::vector<std::string> sets_of(const std::string& jobs) {
  const Read r = read("name: w\njobs:\n" + jobs);
  std::vector<std::string> out;
  for (const auto& set : plan_dependencies(r.workflow, r.expansion)) out.push_back(show(set));
  return out;
}

TEST(PlanDependencies, conditions_of_one_job_come_together_in_one_set) {
  EXPECT_EQ(sets_of(R"(
  - {name: a, command: x}
  - {name: b, command: x}
  - {name: c, command: x, depends: {afterok: a, afternotok: b}}
  - {name: d, command: x, depends_on: [a], depends: {afternotok: b}}
  - {name: e, command: x, depends_on: [a]}
)"),
            (std::vector<std::string>{"3+2 wait for 1+1 afternotok 2+1 ", "5+1 wait for 1+1 "}));
}

TEST(PlanDependencies, all_to_all_on_a_condition_stays_one_set) {
  EXPECT_EQ(sets_of(R"(
  - {name: "a_{i}", command: x, parameters: {i: "1:10000"}}
  - {name: "b_{j}", command: x, depends: {afterany: ["a_{i}"]}, parameters: {j: "1:10000"}}
)"),
            std::vector<std::string>{"10001+10000 wait for afterany 1+10000 "});
}

TEST(PlanDependencies, jobs_that_failures_cancel_are_a_set_of_their_own) {
  EXPECT_EQ(sets_of(R"(
  - {name: a, command: x}
  - {name: b, command: x, depends_on: [a]}
  - {name: c, command: x, depends_on: [a], cancel_on_blocking_job_failure: true}
  - {name: d, command: x, cancel_on_blocking_job_failure: true}
)"),
            (std::vector<std::string>{"2+1 wait for 1+1 ", "3+1 wait for 1+1 or are canceled"}));
}

TEST(PlanLimits, of_two_limits_of_an_entry_the_smaller_counts) {
  const Read r = read(R"(
name: w
limits: {"a_{i}": 7, b: 2}
jobs:
  - {name: "a_{i}", command: x, parameters: {i: "1:3"}, max_parallel: 5}
  - {name: b, command: x}
  - {name: c, command: x}
)");
  const PlannedLimits planned = plan_limits(r.workflow, r.expansion);
  ASSERT_EQ(planned.limits.size(), 2U);
  EXPECT_EQ(planned.limits[0].name, "a_{i}");
  EXPECT_EQ(planned.limits[0].most, 5U);
  EXPECT_EQ(planned.limits[1].most, 2U);
  using Shares = std::vector<claim::LimitShare>;
  EXPECT_EQ(planned.of_entry, (std::vector<Shares>{{{1, 1}}, {{2, 1}}, {}}));
}

TEST(PlanLimits, what_jobs_share_has_a_limit_of_its_own_also_before_anybody_uses_it) {
  const Read r = read(R"(
name: w
limits: {a: 7, licence: 10, unused: 3}
max_parallel: 4
jobs:
  - {name: a, command: x, limits: {licence: 2}}
  - {name: b, command: x, limits: [licence]}
  - {name: c, command: x}
)");
  const PlannedLimits planned = plan_limits(r.workflow, r.expansion);
  std::vector<std::string> names;
  for (const claim::Limit& limit : planned.limits) names.push_back(limit.name);
  EXPECT_EQ(names, (std::vector<std::string>{"licence", "unused", "a", ""}));
  EXPECT_EQ(planned.limits[0].kind, claim::LimitKind::named);
  EXPECT_EQ(planned.limits[2].kind, claim::LimitKind::entry);
  EXPECT_EQ(planned.limits[3].kind, claim::LimitKind::workflow);
  EXPECT_EQ(planned.limits[3].most, 4U);
  using Shares = std::vector<claim::LimitShare>;
  EXPECT_EQ(planned.of_entry,
            (std::vector<Shares>{{{1, 2}, {3, 1}, {4, 1}}, {{1, 1}, {4, 1}}, {{4, 1}}}));
}

TEST(PlanBudget, hours_become_time_and_a_trifle_is_not_taken_for_no_budget) {
  EXPECT_EQ(plan_budget({1.5, {}}).core, std::chrono::minutes(90));
  EXPECT_EQ(plan_budget({1.5, {}}).node.count(), 0);
  EXPECT_EQ(plan_budget({{}, 1e-12}).node.count(), 1);
}

}  // namespace
}  // namespace torc::workflow
