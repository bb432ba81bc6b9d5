// What a scheduler says of allocations that come and go by themselves, and what an action asks for.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "lib/spec/testing/test_parse.h"

namespace torc::spec {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

SlurmScheduler scheduler_with(const std::string& keys) {
  const Parsed parsed =
      parse("name: w\njobs: [{name: a, command: b}]\nslurm_schedulers: [{name: s, " + keys + "}]\n",
            "wf.yaml", {});
  EXPECT_TRUE(parsed.diagnostics.empty()) << to_text(parsed.diagnostics);
  if (!parsed.workflow || parsed.workflow->slurm_schedulers.size() != 1) return {};
  return parsed.workflow->slurm_schedulers[0];
}

TEST(Allocate, a_scheduler_that_says_nothing_of_it_has_none) {
  EXPECT_FALSE(scheduler_with("nodes: 2").allocate.has_value());
  EXPECT_FALSE(scheduler_with("allocate: ").allocate.has_value());
  EXPECT_EQ(scheduler_with("allocate: {}").allocate, AllocateTerms{});
}

TEST(Allocate, every_key_of_it_is_read) {
  EXPECT_EQ(
      scheduler_with("walltime: '1:00:00', allocate: {min: 1, max: 8, max_queued: 3, backlog: 2, "
                     "min_utilization: 62.5%, workers_idle: PT2M, "
                     "budget: {core_hours: 1000, node_hours: 12.5}}")
          .allocate,
      (AllocateTerms{.min = 1,
                     .max = 8,
                     .max_queued = 3,
                     .backlog = 2,
                     .min_utilization = 625,
                     .workers_idle = minutes(2),
                     .budget_core_hours = 1000,
                     .budget_node_hours = 12.5}));
}

TEST(Allocate, a_utilization_is_a_number_or_a_percentage) {
  const auto of = [](const std::string& text) {
    return scheduler_with("allocate: {min_utilization: " + text + "}").allocate->min_utilization;
  };
  EXPECT_EQ(of("0"), 0U);
  EXPECT_EQ(of("0.75"), 750U);
  EXPECT_EQ(of("1"), 1000U);
  EXPECT_EQ(of("80%"), 800U);
  EXPECT_EQ(of("'80%'"), 800U);
}

TEST(Allocate, of_allocations_one_after_the_other_the_next_one_waits) {
  const AllocateTerms chain = *scheduler_with("serialize_allocations: true, allocate: {}").allocate;
  EXPECT_EQ(chain.max, 2U);
  EXPECT_EQ(chain.max_queued, 1U);
  const AllocateTerms said =
      *scheduler_with("serialize_allocations: true, allocate: {max: 1, max_queued: 2}").allocate;
  EXPECT_EQ(said.max, 1U);
  EXPECT_EQ(said.max_queued, 2U);
}

TEST(Allocate, compute_nodes_submit_unless_it_is_said_that_they_may_not) {
  EXPECT_FALSE(scheduler_with("nodes: 2").submit_from_login);
  EXPECT_FALSE(scheduler_with("submit_from: anywhere").submit_from_login);
  EXPECT_TRUE(scheduler_with("submit_from: login").submit_from_login);
}

TEST(Allocate, json5_and_kdl_say_the_same) {
  const std::string json5 =
      "{name: 'w', jobs: [{name: 'a', command: 'b'}], slurm_schedulers: [{name: 's', submit_from: "
      "'login', walltime: '60', allocate: {max: 3, min_utilization: '20%', budget: {node_hours: "
      "2}}}]}";
  const std::string kdl =
      "name w\njob a { command b; }\nslurm_scheduler s submit_from=login walltime=\"60\" {\n"
      "  allocate max=3 min_utilization=\"20%\" {\n    budget node_hours=2\n  }\n}\n";
  for (const auto& [text, file] : {std::pair(json5, "wf.json5"), std::pair(kdl, "wf.kdl")}) {
    const Parsed parsed = parse(text, file, {});
    ASSERT_TRUE(parsed.workflow) << to_text(parsed.diagnostics);
    const SlurmScheduler& s = parsed.workflow->slurm_schedulers.at(0);
    EXPECT_TRUE(s.submit_from_login) << file;
    EXPECT_EQ(s.allocate, (AllocateTerms{.max = 3, .min_utilization = 200, .budget_node_hours = 2}))
        << file;
  }
}

TEST(Allocate, an_action_says_how_many_and_what_their_workers_do_at_once) {
  const auto of = [](const std::string& keys) {
    const Parsed parsed = parse(
        "name: w\njobs: [{name: a, command: b}]\nslurm_schedulers: [{name: s}]\nactions: "
        "[{trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s" +
            keys + "}]\n",
        "wf.yaml", {});
    EXPECT_TRUE(parsed.diagnostics.empty()) << to_text(parsed.diagnostics);
    return parsed.workflow->actions.at(0);
  };
  const Action usual = of("");
  EXPECT_EQ(usual.kind, Action::Kind::schedule_nodes);
  EXPECT_EQ(usual.scheduler, "s");
  EXPECT_EQ(usual.num_allocations, 1U);
  EXPECT_FALSE(usual.max_parallel_jobs.has_value());
  EXPECT_FALSE(usual.start_one_worker_per_node);
  const Action said =
      of(", scheduler_type: slurm, num_allocations: 10000, max_parallel_jobs: 3, "
         "start_one_worker_per_node: true");
  EXPECT_EQ(said.num_allocations, 10'000U);
  EXPECT_EQ(said.max_parallel_jobs, 3U);
  EXPECT_TRUE(said.start_one_worker_per_node);
}

}  // namespace
}  // namespace torc::spec
