#include "lib/spec/sweep/recipe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

using Paths = std::vector<std::string>;

Recipe recipe_of(const Workflow& workflow, std::size_t entry = 0) {
  const Expanded expanded = expand(workflow, "", "wf.yaml");
  EXPECT_TRUE(expanded.expansion) << to_text(expanded.diagnostics);
  auto recipe = Recipe::decode(expanded.expansion->entries.at(entry).recipe);
  EXPECT_TRUE(recipe.ok());
  return *std::move(recipe);
}

TEST(Recipe, a_job_is_rendered_with_all_its_texts_filled_in) {
  Workflow w;
  w.jobs.push_back(sweep("t_{i:02d}", 1, 3, "run {i} > out_{i:02d}"));
  w.jobs[0].invocation_script = "bash wrap.sh {i}";
  w.jobs[0].env = {{"SEED", "{i}"}, {"FIXED", "x"}};
  w.jobs[0].stdio = Stdio{StdioMode::combined, true};
  const RenderedJob job = recipe_of(w).render(1);
  EXPECT_EQ(job.name, "t_02");
  EXPECT_EQ(job.command, "bash wrap.sh 2 run 2 > out_02");
  EXPECT_EQ(job.env, (Environment{{"SEED", "2"}, {"FIXED", "x"}}));
  EXPECT_EQ(job.stdio.mode, StdioMode::combined);
  EXPECT_TRUE(job.stdio.delete_on_success);
}

TEST(Recipe, an_entry_is_named_by_its_parameters) {
  Workflow w;
  w.jobs.push_back(sweep("t_{i:02d}_x", 1, 3, "run {i}"));
  EXPECT_EQ(recipe_of(w).entry_name(), "t_{i}_x");
}

TEST(Recipe, an_invocation_script_of_whole_lines_stands_above_the_command) {
  Workflow w;
  w.jobs.push_back(job("a", "run"));
  w.jobs[0].invocation_script = "#!/bin/bash\nset -e\n";
  EXPECT_EQ(recipe_of(w).render(0).command, "#!/bin/bash\nset -e\nrun");
}

TEST(Recipe, the_workflow_says_where_output_goes_unless_the_job_does) {
  Workflow w;
  w.execution.stdio = {StdioMode::none};
  w.jobs.push_back(job("a"));
  EXPECT_EQ(recipe_of(w).render(0).stdio.mode, StdioMode::none);
}

TEST(Recipe, files_of_the_command_come_first_and_each_path_once) {
  Workflow w;
  w.files = {file("raw", "in/raw.csv"), file("out", "out/x"), file("more", "in/more")};
  w.jobs.push_back(job("a", "run ${files.input.more} -o ${files.output.out} ${files.input.more}"));
  w.jobs[0].input_files = {"raw", "more"};
  const RenderedJob a = recipe_of(w).render(0);
  EXPECT_EQ(a.command, "run in/more -o out/x in/more");
  EXPECT_EQ(a.input_files, (Paths{"in/more", "in/raw.csv"}));
  EXPECT_EQ(a.output_files, Paths{"out/x"});
}

TEST(Recipe, output_files_may_be_missing_where_the_job_says_so_or_the_workflow_does) {
  Workflow w;
  w.files = {file("a", "out/a"), file("b", "out/b"), file("c", "out/c")};
  w.jobs = {job("ja"), job("jb"), job("jc"), job("jd")};
  w.jobs[0].output_files = {"a"};
  w.jobs[1].output_files = {"b"};
  w.jobs[1].allow_missing_outputs = false;
  w.jobs[2].output_files = {"c"};
  w.jobs[2].allow_missing_outputs = true;
  EXPECT_FALSE(recipe_of(w, 0).render(0).allow_missing_outputs);
  EXPECT_TRUE(recipe_of(w, 2).render(0).allow_missing_outputs);
  w.allow_missing_outputs = true;
  EXPECT_TRUE(recipe_of(w, 0).render(0).allow_missing_outputs);
  EXPECT_FALSE(recipe_of(w, 1).render(0).allow_missing_outputs);
  EXPECT_FALSE(recipe_of(w, 3).render(0).allow_missing_outputs) << "it has none";
}

TEST(Recipe, tells_the_files_of_one_job_by_themselves) {
  Workflow w;
  w.files = {file("in", "raw"), file("out", "out/x")};
  w.jobs.push_back(job("a", "run ${files.input.in} > ${files.output.out}"));
  w.jobs.push_back(job("b"));
  const Recipe a = recipe_of(w);
  EXPECT_TRUE(a.takes_files());
  EXPECT_TRUE(a.makes_files());
  EXPECT_EQ(a.input_files(0), Paths{"raw"});
  EXPECT_EQ(a.output_files(0), Paths{"out/x"});
  EXPECT_FALSE(recipe_of(w, 1).takes_files());
  EXPECT_FALSE(recipe_of(w, 1).makes_files());
}

TEST(Recipe, says_how_a_job_is_started_on_its_nodes_where_that_is_unusual) {
  Workflow w;
  w.jobs.push_back(job("a", "run"));
  const std::string usual = expand(w, "", "wf.yaml").expansion->entries.at(0).recipe;
  EXPECT_EQ(recipe_of(w).render(0).launch, Launch{});
  w.jobs[0].launch = {LaunchOn::all, LaunchEnd::all, 3};
  EXPECT_EQ(recipe_of(w).render(0).launch, w.jobs[0].launch);
  // What an earlier version wrote is the beginning of it.
  const std::string said = expand(w, "", "wf.yaml").expansion->entries.at(0).recipe;
  ASSERT_TRUE(said.starts_with(usual));
  EXPECT_TRUE(Recipe::decode(usual).ok());
  EXPECT_FALSE(Recipe::decode(said + '\x01').ok());
  EXPECT_FALSE(Recipe::decode(said.substr(0, said.size() - 1)).ok());
  std::string unknown = said;
  unknown[usual.size() + 2] = 3;  // a place where a command could be started
  EXPECT_FALSE(Recipe::decode(unknown).ok());
}

TEST(Recipe, names_are_found_without_the_others) {
  Workflow w;
  w.jobs.push_back(sweep("t_{i:04d}_x", 1, 1'000'000));
  const Recipe recipe = recipe_of(w);
  EXPECT_EQ(recipe.count(), 1'000'000U);
  EXPECT_EQ(recipe.find("t_0001_x"), 0U);
  EXPECT_EQ(recipe.find("t_1000000_x"), 999'999U);
  for (const char* no : {"t_1_x", "t_0000_x", "t_1000001_x", "t_0001", "t_0001_xx", "", "t_",
                         "t_+001_x", "t_00001_x", "t_99999999999999999999999_x"}) {
    EXPECT_EQ(recipe.find(no), std::nullopt) << no;
  }
}

TEST(Recipe, a_name_that_can_be_taken_apart_in_several_ways_is_found) {
  Workflow w;
  w.jobs.push_back(job("{a}{b}{c}"));
  w.jobs[0].parameters = {
      {"a", texts({"x", "xx"})}, {"b", texts({"y", "xyy"})}, {"c", texts({"z"})}};
  const Recipe recipe = recipe_of(w);
  for (std::uint64_t k = 0; k < recipe.count(); ++k) EXPECT_EQ(recipe.find(recipe.name(k)), k);
  EXPECT_EQ(recipe.find("xxyz"), 2U);
}

TEST(Recipe, names_of_a_split_entry_are_found_in_their_run_alone) {
  Workflow w;
  w.jobs.push_back(job("t_{l}_{i}"));
  w.jobs[0].parameters = {{"l", texts({"p", "q"})}, {"i", IntegerRange{1, 5, 2}}};
  w.jobs[0].labels = {"{l}"};
  const Recipe second = recipe_of(w, 1);
  EXPECT_EQ(second.name(2), "t_q_5");
  EXPECT_EQ(second.find("t_q_5"), 2U);
  EXPECT_EQ(second.find("t_p_5"), std::nullopt);
}

TEST(Recipe, a_run_across_values_of_the_slower_parameter_has_its_own_jobs_only) {
  Workflow w;
  w.jobs.push_back(job("t_{g}_{x}"));
  w.jobs[0].parameters = {{"g", IntegerRange{1, 2, 1}},
                          {"x", std::vector<ParameterValue>{0.9, 2.0, 1.2}}};
  w.jobs[0].labels = {"{x:.0f}"};  // 1 2 1, 1 2 1
  const Recipe third = recipe_of(w, 2);
  ASSERT_EQ(third.count(), 2U);
  EXPECT_EQ(third.name(0), "t_1_1.2");
  EXPECT_EQ(third.name(1), "t_2_0.9");
  EXPECT_EQ(third.find("t_2_0.9"), 1U);
  EXPECT_EQ(third.find("t_1_0.9"), std::nullopt);
  EXPECT_EQ(third.find("t_2_1.2"), std::nullopt);
}

TEST(Recipe, a_run_of_one_job_does_not_carry_the_values_of_the_others) {
  Workflow w;
  w.jobs.push_back(job("t_{s}"));
  std::vector<std::string> values;
  for (std::size_t i = 0; i < 1000; ++i) values.push_back(numbered("value_", i));
  w.jobs[0].parameters = {{"s", texts(values)}};
  w.jobs[0].labels = {"{s}"};
  const Expanded expanded = expand(w, "", "wf.yaml");
  ASSERT_EQ(expanded.expansion->entries.size(), 1000U);
  EXPECT_LT(expanded.expansion->entries[500].recipe.size(), 100U);
}

TEST(Recipe, a_sweep_over_files_of_a_sweep_needs_no_list_of_them) {
  Workflow w;
  w.files = {file("f_{i}", "data/{i:06d}.bin")};
  w.files[0].parameters = {{"i", IntegerRange{1, 100'000, 1}}};
  w.jobs.push_back(sweep("t_{i}", 1, 100'000, "run ${files.input.f_{i}}"));
  const Expanded expanded = expand(w, "", "wf.yaml");
  EXPECT_LT(expanded.expansion->entries[0].recipe.size(), 1024U);
  EXPECT_EQ(recipe_of(w).render(99'998).command, "run data/099999.bin");
}

RC_GTEST_PROP(Recipe, damaged_bytes_are_refused_or_harmless,
              (std::size_t at, std::uint8_t value, std::size_t cut)) {
  Workflow w;
  w.files = {file("f_{i}", "data/{i}"), file("g", "g")};
  w.files[0].parameters = {{"i", IntegerRange{1, 4, 1}}};
  w.jobs.push_back(job("t_{i}_{x:.2f}_{s}", "run {i} ${files.input.f_{i}}"));
  w.jobs[0].parameters = {
      {"i", IntegerRange{1, 4, 1}}, {"x", FloatRange{0, 0.5, 2, 1}}, {"s", texts({"a", "b"})}};
  w.jobs[0].input_files = {"g"};
  std::string bytes = expand(w, "", "f").expansion->entries[0].recipe;
  bytes[at % bytes.size()] = static_cast<char>(value);
  if (cut % 3 == 0) bytes.resize(cut % bytes.size());
  const auto recipe = Recipe::decode(bytes);
  if (!recipe) {
    RC_ASSERT(recipe.error().kind == ErrorKind::corrupt);
    return;
  }
  RC_ASSERT(recipe->render(recipe->count() - 1).name == recipe->name(recipe->count() - 1));
  (void)recipe->find("t_1_0.00_a");
}

TEST(RunSettings, come_back_as_they_were_written) {
  RunSettings s;
  s.name = "wf";
  s.env = {{"A", "1"}, {"B", ""}};
  s.execution.mode = ExecutionMode::direct;
  s.execution.limit_resources = false;
  s.execution.termination_signal = 2;
  s.execution.sigterm_lead = std::chrono::seconds(7);
  s.execution.sigkill_headroom = std::chrono::seconds(8);
  s.execution.timeout_exit_code = 99;
  s.execution.oom_exit_code = 98;
  s.execution.stdio = {StdioMode::packed, true};
  s.execution.staggered_start = true;
  s.workers_stay = true;
  s.expiration_buffer = std::chrono::seconds(180);
  s.use_pending_failed = true;
  s.recoveries = 7;
  s.allow_missing_outputs = true;
  s.lease = {std::chrono::seconds(60), std::chrono::seconds(10)};
  s.execution.enable_cpu_bind = true;
  s.monitor = {true, std::chrono::seconds(3)};
  const auto back = decode_settings(encode(s));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->name, s.name);
  EXPECT_EQ(back->env, s.env);
  EXPECT_EQ(encode(*back), encode(s));
  EXPECT_EQ(back->execution.sigkill_headroom, std::chrono::seconds(8));
  EXPECT_FALSE(back->execution.limit_resources);
  EXPECT_TRUE(back->execution.enable_cpu_bind);
  EXPECT_TRUE(back->monitor.time_series);
  EXPECT_EQ(back->monitor.interval, std::chrono::seconds(3));
  EXPECT_EQ(back->execution.stdio.mode, StdioMode::packed);
  EXPECT_TRUE(back->execution.staggered_start && back->workers_stay && back->use_pending_failed);
  EXPECT_EQ(back->expiration_buffer, std::chrono::seconds(180));
  EXPECT_EQ(back->recoveries, 7U);
  EXPECT_TRUE(back->allow_missing_outputs);
  EXPECT_EQ(back->lease.ttl, std::chrono::seconds(60));
  EXPECT_EQ(back->lease.heartbeat, std::chrono::seconds(10));
  EXPECT_FALSE(decode_settings(encode(RunSettings{}))->lease.ttl.has_value());
}

TEST(RunSettings, truncated_bytes_are_refused) {
  const std::string bytes = encode(RunSettings{});
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const auto back = decode_settings(std::string_view(bytes).substr(0, n));
    ASSERT_FALSE(back.ok()) << n;
    EXPECT_EQ(back.error().kind, ErrorKind::corrupt);
  }
}

}  // namespace
}  // namespace torc::spec
