#include "lib/spec/expand/expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/spec/sweep/recipe.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

using Names = std::vector<std::string>;

TEST(Expand, a_plain_job_is_one_entry) {
  Workflow w;
  w.jobs.push_back(job("hello", "echo hi"));
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.names, Names{"hello"});
  EXPECT_EQ(jobs.rendered[0].command, "echo hi");
  EXPECT_TRUE(jobs.expansion.dependencies.empty());
}

TEST(Expand, jobs_are_numbered_in_the_order_of_the_file_and_the_last_parameter_varies_fastest) {
  Workflow w;
  w.jobs.push_back(job("first"));
  w.jobs.push_back(job("t_{a}_{b}", "run {b} {a}"));
  w.jobs.back().parameters = {{"a", IntegerRange{1, 2, 1}}, {"b", texts({"x", "y"})}};
  w.jobs.push_back(job("last"));
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.names, (Names{"first", "t_1_x", "t_1_y", "t_2_x", "t_2_y", "last"}));
  EXPECT_EQ(jobs.rendered[3].command, "run x 2");
  ASSERT_EQ(jobs.expansion.entries.size(), 3U);
  EXPECT_EQ(jobs.expansion.entries[1].first, 2U);
  EXPECT_EQ(jobs.expansion.entries[1].count, 4U);
}

TEST(Expand, zipped_parameters_advance_together) {
  Workflow w;
  w.jobs.push_back(job("{d}_{m}"));
  w.jobs[0].parameters = {{"d", texts({"a", "b"})}, {"m", IntegerRange{7, 8, 1}}};
  w.jobs[0].mode = ParameterMode::zip;
  EXPECT_EQ(expand_all(w).names, (Names{"a_7", "b_8"}));
}

TEST(Expand, text_in_braces_that_names_no_parameter_stays_as_it_is) {
  Workflow w;
  w.jobs.push_back(job("t_{i}", "awk '{print $1}' ${HOME}/{{i}} ${i} {j} {i}"));
  w.jobs[0].parameters = {{"i", IntegerRange{1, 1, 1}}};
  EXPECT_EQ(expand_all(w).rendered[0].command, "awk '{print $1}' ${HOME}/{{i}} ${i} {j} 1");
}

TEST(Expand, a_dependency_with_own_parameters_is_one_to_one) {
  Workflow w;
  w.jobs.push_back(sweep("prep_{i}", 1, 3));
  w.jobs.push_back(sweep("work_{i}", 1, 3));
  w.jobs[1].depends_on = {"prep_{i}"};
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.upstream("work_1"), Names{"prep_1"});
  EXPECT_EQ(jobs.upstream("work_2"), Names{"prep_2"});
  EXPECT_EQ(jobs.upstream("work_3"), Names{"prep_3"});
  EXPECT_EQ(jobs.upstream("prep_1"), Names{});
}

TEST(Expand, a_job_without_the_parameter_waits_for_the_whole_sweep) {
  Workflow w;
  w.jobs.push_back(sweep("work_{i:03d}", 1, 1000));
  w.jobs.push_back(job("merge"));
  w.jobs[1].depends_on = {"work_{i:03d}"};
  const Jobs jobs = expand_all(w);
  ASSERT_EQ(jobs.expansion.dependencies.size(), 1U);
  EXPECT_EQ(jobs.expansion.dependencies[0].upstream, (std::vector<Range>{{1, 1000}}));
  EXPECT_EQ(jobs.expansion.dependencies[0].members, (std::vector<Range>{{1001, 1}}));
}

TEST(Expand, a_group_waits_for_its_own_part_of_a_sweep) {
  Workflow w;
  w.jobs.push_back(job("work_{g}_{i}"));
  w.jobs[0].parameters = {{"g", texts({"a", "b"})}, {"i", IntegerRange{1, 3, 1}}};
  w.jobs.push_back(job("agg_{g}"));
  w.jobs[1].parameters = {{"g", texts({"b", "a"})}};
  w.jobs[1].depends_on = {"work_{g}_{i}"};
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.upstream("agg_a"), (Names{"work_a_1", "work_a_2", "work_a_3"}));
  EXPECT_EQ(jobs.upstream("agg_b"), (Names{"work_b_1", "work_b_2", "work_b_3"}));
  for (const DependencySet& set : jobs.expansion.dependencies) {
    EXPECT_EQ(set.upstream.size(), 1U) << "one contiguous range each";
  }
}

TEST(Expand, a_group_by_the_slower_parameter_gets_every_nth_job) {
  Workflow w;
  w.jobs.push_back(job("work_{g}_{i}"));
  w.jobs[0].parameters = {{"g", IntegerRange{1, 2, 1}}, {"i", IntegerRange{1, 3, 1}}};
  w.jobs.push_back(job("column_{i}"));
  w.jobs[1].parameters = {{"i", IntegerRange{1, 3, 1}}};
  w.jobs[1].depends_on = {"work_{g}_{i}"};
  EXPECT_EQ(expand_all(w).upstream("column_2"), (Names{"work_1_2", "work_2_2"}));
}

TEST(Expand, an_expression_matches_anywhere_in_a_name_and_never_the_job_itself) {
  Workflow w;
  w.jobs.push_back(sweep("work_{i}", 1, 11));
  w.jobs.push_back(job("network_1"));
  w.jobs.push_back(job("rework_all"));
  w.jobs[2].depends_on_regexes = {"work_"};
  w.jobs.push_back(job("end"));
  w.jobs[3].depends_on_regexes = {"^work_1$", "^work_1\\d$", "^work_1$"};
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.upstream("rework_all").size(), 12U);
  EXPECT_EQ(jobs.upstream("end"), (Names{"work_1", "work_10", "work_11"}));
}

TEST(Expand, values_in_an_expression_stand_for_themselves) {
  Workflow w;
  w.jobs.push_back(job("t_a.b"));
  w.jobs.push_back(job("t_axb"));
  w.jobs.push_back(job("u_{s}"));
  w.jobs[2].parameters = {{"s", texts({"a.b"})}};
  w.jobs[2].depends_on_regexes = {"^t_{s}$"};
  EXPECT_EQ(expand_all(w).upstream("u_a.b"), Names{"t_a.b"});
}

TEST(Expand, jobs_with_equal_dependencies_share_one_set_in_any_way_of_saying_it) {
  Workflow w;
  w.jobs.push_back(sweep("a_{i}", 1, 10'000));
  w.jobs.push_back(sweep("b_{i}", 1, 10'000));
  w.jobs[1].depends_on_regexes = {"^a_"};
  w.jobs.push_back(job("c"));
  w.jobs[2].depends_on = {"a_{i}"};
  const Jobs jobs = expand_all(w, Render::no);
  ASSERT_EQ(jobs.expansion.dependencies.size(), 1U);
  EXPECT_EQ(jobs.expansion.dependencies[0].upstream, (std::vector<Range>{{1, 10'000}}));
  EXPECT_EQ(jobs.expansion.dependencies[0].members, (std::vector<Range>{{10'001, 10'001}}));
}

TEST(Expand, entries_are_split_where_label_or_scheduler_or_resources_change) {
  Workflow w;
  w.resource_requirements = {{Resources{}, "small", {}}, {Resources{.cpus = 8}, "big", {}}};
  w.jobs.push_back(job("t_{size}_{i}", "run {i}"));
  w.jobs[0].parameters = {{"size", texts({"small", "big"})}, {"i", IntegerRange{1, 2, 1}}};
  w.jobs[0].resource_requirements = "{size}";
  w.jobs[0].labels = {"on-{size}"};
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.names, (Names{"t_small_1", "t_small_2", "t_big_1", "t_big_2"}));
  ASSERT_EQ(jobs.expansion.entries.size(), 2U);
  EXPECT_EQ(jobs.expansion.entries[1].first, 3U);
  EXPECT_EQ(jobs.expansion.entries[1].resources.cpus, 8U);
  EXPECT_EQ(jobs.expansion.entries[1].labels, "on-big");
  EXPECT_EQ(jobs.rendered[3].command, "run 2");
}

TEST(Expand, a_million_jobs_of_a_sweep_are_one_entry_of_less_than_a_kibibyte) {
  Workflow w;
  w.jobs.push_back(sweep("a_{i}", 1, 1'000'000));
  const Jobs jobs = expand_all(w, Render::no);
  ASSERT_EQ(jobs.expansion.entries.size(), 1U);
  EXPECT_LT(jobs.expansion.entries[0].recipe.size(), 1024U);
  EXPECT_EQ(jobs.expansion.jobs, 1'000'000U);
}

}  // namespace
}  // namespace torc::spec
