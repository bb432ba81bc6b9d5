// Every mistake that expand() finds, with the words that its user reads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

using Mistakes = std::vector<std::string>;

TEST(ExpandMistakes, an_unknown_dependency_names_the_nearest_job) {
  Workflow w;
  w.jobs = {job("prepare"), job("train")};
  w.jobs[1].depends_on = {"prepar"};
  EXPECT_EQ(mistakes(w), Mistakes{"no job is named 'prepar' | did you mean 'prepare'?"});
}

TEST(ExpandMistakes, a_sweep_that_reaches_beyond_another_is_reported_once) {
  Workflow w;
  w.jobs = {sweep("prep_{i}", 1, 10), sweep("work_{i}", 1, 14)};
  w.jobs[1].depends_on = {"prep_{i}"};
  EXPECT_EQ(mistakes(w),
            Mistakes{"no job is named 'prep_11', nor 3 more that 'prep_{i}' stands for "
                     "| did you mean 'prep_1'?"});
}

TEST(ExpandMistakes, a_name_far_from_all_others_gets_an_explanation) {
  Workflow w;
  w.jobs = {job("a")};
  w.jobs[0].depends_on = {"something else"};
  EXPECT_EQ(mistakes(w), Mistakes{"no job is named 'something else' | name a job of this file, as "
                                  "it reads when its parameters are filled in"});
}

TEST(ExpandMistakes, an_unknown_file_of_a_command_is_reported) {
  Workflow w;
  w.files = {file("input", "x")};
  w.jobs = {job("a", "cat ${files.input.inputs}")};
  EXPECT_EQ(mistakes(w), Mistakes{"no file is named 'inputs' | did you mean 'input'?"});
}

TEST(ExpandMistakes, jobs_of_two_entries_with_one_name_show_both_lines) {
  Workflow w;
  w.jobs = {sweep("work_{i}", 1, 5, "x"), job("work_3", "y", 9)};
  w.jobs[0].place.line = 4;
  EXPECT_EQ(mistakes(w),
            Mistakes{"two jobs are named 'work_3': one of 'work_{i}' on line 4, one of "
                     "'work_3' on line 9 | rename one of them"});
}

TEST(ExpandMistakes, two_jobs_that_were_the_same_one_are_named) {
  Workflow w;
  w.jobs = {job("a"), job("b"), sweep("c_{i}", 1, 3), sweep("d_{i}", 3, 4), sweep("e_{i}", 1, 2)};
  w.jobs[0].was = "old";
  w.jobs[2].was = "x_{i}";
  w.jobs[3].was = "x_{i}";
  w.jobs[4].was = "y";
  const std::string remedy =
      " | only one job can keep what is there of another: leave `was` out of the other one";
  EXPECT_EQ(mistakes(w), (Mistakes{"both 'c_3' and 'd_3' say that they were 'x_3'" + remedy,
                                   "both 'e_1' and 'e_2' say that they were 'y'" + remedy}));
  w.jobs[3].was = "x_{i}_d";
  w.jobs[4].was = "y_{i}";
  EXPECT_EQ(mistakes(w), Mistakes{});
}

TEST(ExpandMistakes, overlapping_sweeps_are_reported_once) {
  Workflow w;
  w.jobs = {sweep("work_{i}", 1, 1000), sweep("work_{i}", 500, 2000)};
  EXPECT_EQ(mistakes(w).size(), 1U);
}

TEST(ExpandMistakes, a_parameter_missing_in_the_name_is_named) {
  Workflow w;
  w.jobs = {job("train_{bs}")};
  w.jobs[0].parameters = {{"bs", IntegerRange{1, 2, 1}}, {"lr", texts({"a", "b"})}};
  EXPECT_EQ(mistakes(w), Mistakes{"job 1 and 2 of 'train_{bs}' would both be named 'train_1' | put "
                                  "{lr} into the name"});
}

TEST(ExpandMistakes, values_that_a_format_makes_equal_are_found) {
  Workflow w;
  w.jobs = {job("t_{x:.1f}")};
  w.jobs[0].parameters = {{"x", std::vector<ParameterValue>{0.11, 0.12}}};
  EXPECT_EQ(mistakes(w),
            Mistakes{"job 1 and 2 of 't_{x:.1f}' would both be named 't_0.1' | give the parameters "
                     "values, or the name a format, that tell them apart"});
}

TEST(ExpandMistakes, files_with_one_name_are_found_as_well) {
  Workflow w;
  w.files = {file("a", "x"), file("a", "y")};
  w.jobs = {job("j")};
  EXPECT_EQ(mistakes(w),
            Mistakes{"two files are named 'a': one of 'a' on line 0, one of 'a' on line "
                     "0 | rename one of them"});
}

TEST(ExpandMistakes, zipped_parameters_of_different_lengths_are_both_named) {
  Workflow w;
  w.jobs = {job("{a}{b}")};
  w.jobs[0].parameters = {{"a", IntegerRange{1, 3, 1}}, {"b", IntegerRange{1, 2, 1}}};
  w.jobs[0].mode = ParameterMode::zip;
  EXPECT_EQ(mistakes(w),
            Mistakes{"parameters 'a' and 'b' of '{a}{b}' are zipped but have 3 and 2 values | give "
                     "both the same number of values, or use parameter_mode: product"});
}

TEST(ExpandMistakes, a_broken_entry_is_not_reported_again_by_those_that_name_it) {
  Workflow w;
  w.jobs = {sweep("work_{i}", 2, 1), job("merge"), job("other")};
  w.jobs[1].depends_on = {"work_{i}", "work_7"};
  w.jobs[2].depends_on = {"nothing like it"};
  const Mistakes all = mistakes(w);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0],
            "no job is named 'nothing like it' | name a job of this file, as it reads when its "
            "parameters are filled in");
  EXPECT_EQ(all[1], "parameter 'i' of 'work_{i}' has no values | give it at least one");
}

TEST(ExpandMistakes, a_format_that_does_not_fit_its_value_is_refused_wherever_it_stands) {
  const std::string remedy =
      " | formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for "
      "text";
  Workflow w;
  w.jobs = {job("t_{s}", "run {s:03d}")};
  w.jobs[0].parameters = {{"s", texts({"abc"})}};
  const std::string message = "the format of '{s:03d}' does not fit the value 'abc'" + remedy;
  EXPECT_EQ(mistakes(w), Mistakes{message});
  w.jobs[0].command = "run";
  w.jobs[0].env = {{"A", "{s:03d}"}};
  EXPECT_EQ(mistakes(w), Mistakes{message});
  w.jobs[0].env.clear();
  w.jobs[0].depends_on = {"{s:03d}"};
  EXPECT_EQ(mistakes(w), Mistakes{message});
  w.jobs[0].depends_on = {"t_{s:#5}"};
  EXPECT_EQ(mistakes(w), Mistakes{"the format of '{s:#5}' is not known" + remedy});
}

TEST(ExpandMistakes, a_broken_expression_is_shown_with_the_reason) {
  Workflow w;
  w.jobs = {job("a")};
  w.jobs[0].depends_on_regexes = {"(x"};
  EXPECT_EQ(mistakes(w),
            Mistakes{"'(x' is not a regular expression: missing ): (x | see "
                     "https://github.com/google/re2/wiki/Syntax for what can be written"});
}

TEST(ExpandMistakes, an_expression_that_matches_nothing_is_a_warning) {
  Workflow w;
  w.jobs = {job("a")};
  w.jobs[0].depends_on_regexes = {"^b"};
  const Expanded expanded = expand(w, "", "wf.yaml");
  EXPECT_TRUE(expanded.expansion);
  ASSERT_EQ(expanded.diagnostics.size(), 1U);
  EXPECT_EQ(expanded.diagnostics[0].severity, Severity::warning);
  EXPECT_EQ(expanded.diagnostics[0].message, "'^b' matches no job");
}

TEST(ExpandMistakes, a_job_cannot_wait_for_itself) {
  Workflow w;
  w.jobs = {sweep("w_{i}", 1, 3)};
  w.jobs[0].depends_on = {"w_{i}"};
  const Mistakes one = {"job 'w_1' depends on itself | take it out of its dependencies"};
  EXPECT_EQ(mistakes(w), one);
}

TEST(ExpandMistakes, a_circle_is_shown_in_full) {
  Workflow w;
  w.jobs = {job("a"), job("b"), job("c"), job("d")};
  w.jobs[0].depends_on = {"b"};
  w.jobs[1].depends_on = {"c"};
  w.jobs[2].depends_on = {"a"};
  w.jobs[3].depends_on = {"a"};
  EXPECT_EQ(mistakes(w),
            Mistakes{"jobs wait for each other in a circle: a -> b -> c -> a | remove one of these "
                     "dependencies ('->' is 'waits for'; files count too)"});
}

TEST(ExpandMistakes, jobs_of_a_sweep_that_match_their_own_expression_are_a_circle) {
  Workflow w;
  w.jobs = {sweep("w_{i}", 1, 3)};
  w.jobs[0].depends_on_regexes = {"^w_"};
  ASSERT_EQ(mistakes(w).size(), 1U);
  EXPECT_EQ(mistakes(w)[0].substr(0, 60),
            "jobs wait for each other in a circle: w_1 -> w_2 -> w_1 | re");
}

TEST(ExpandMistakes, a_very_long_circle_is_shown_by_its_ends) {
  Workflow w;
  for (std::size_t i = 0; i < 1000; ++i) {
    w.jobs.push_back(job(numbered("j", i)));
    w.jobs.back().depends_on = {numbered("j", (i + 1) % 1000)};
  }
  const std::string text = mistakes(w).at(0);
  EXPECT_NE(text.find("j48 -> j49 -> (900 more) -> j950 -> j951"), std::string::npos) << text;
  EXPECT_NE(text.find("j999 -> j0 |"), std::string::npos);
}

TEST(ExpandMistakes, a_file_that_two_jobs_output_names_both) {
  Workflow w;
  w.files = {file("out", "x")};
  w.jobs = {job("a", "run ${files.output.out}"), sweep("b_{i}", 1, 2)};
  w.jobs[1].output_files = {"out"};
  EXPECT_EQ(mistakes(w),
            Mistakes{"two jobs output the file 'out': 'a' and 'b_1' | let one job make "
                     "it, or give each job a file of its own"});
}

TEST(ExpandMistakes, a_command_cannot_name_many_files_at_one_place) {
  Workflow w;
  w.files = {file("f_{i}", "{i}")};
  w.files[0].parameters = {{"i", IntegerRange{1, 9, 1}}};
  w.jobs = {job("a", "cat ${files.input.f_{i}}")};
  EXPECT_EQ(mistakes(w),
            Mistakes{"'f_{i}' in the command stands for 9 files | name one here, and the others in "
                     "input_files or output_files"});
}

TEST(ExpandMistakes, unknown_resources_and_schedulers_are_found_per_value) {
  Workflow w;
  w.slurm_schedulers.push_back({});
  w.slurm_schedulers[0].name = "fast";
  w.jobs = {job("t_{s}")};
  w.jobs[0].parameters = {{"s", texts({"fast", "fost"})}};
  w.jobs[0].scheduler = "{s}";
  w.jobs.push_back(sweep("u_{i}", 1, 1));
  w.jobs[1].resource_requirements = "big{i}";
  EXPECT_EQ(
      mistakes(w),
      (Mistakes{"no resource requirements are named 'big1' | define it under resource_requirements",
                "no scheduler is named 'fost' | did you mean 'fast'?"}));
}

TEST(ExpandMistakes, more_jobs_than_the_limit_are_refused_at_once) {
  Workflow w;
  w.jobs = {job("t_{a}_{b}_{c}")};
  w.jobs[0].parameters = {{"a", IntegerRange{1, 1'000'000, 1}},
                          {"b", IntegerRange{1, 1'000'000'000, 1}},
                          {"c", IntegerRange{1, 1'000'000'000, 1}}};
  ASSERT_EQ(mistakes(w).size(), 1U);
  w.jobs[0].parameters.pop_back();
  w.jobs[0].parameters[1].values = IntegerRange{1, 21, 1};
  w.jobs[0].name = "t_{a}_{b}";
  EXPECT_EQ(
      mistakes(w),
      Mistakes{"with 't_{a}_{b}' the workflow has 21000000 jobs or more | a workflow can have "
               "20000000 jobs; take fewer values, or let one job do several steps"});
}

TEST(ExpandMistakes, names_have_at_least_one_and_only_printable_characters) {
  Workflow w;
  w.jobs = {job("t_{s}"), job("{s}")};
  w.jobs[0].parameters = {{"s", texts({"a\nb"})}};
  w.jobs[1].parameters = {{"s", texts({"x", ""})}};
  EXPECT_EQ(mistakes(w), (Mistakes{"'{s}' gives an empty name | put a word before the placeholder",
                                   "the value 'a\\nb' has control characters, but is part of the "
                                   "name 't_{s}' | take it out of the name"}));
}

// Found by the fuzzer: its path named a parameter that the entry was no longer taken to have.
TEST(ExpandMistakes, a_file_whose_parameters_could_not_be_read_is_left_out_with_its_path) {
  Workflow w;
  w.jobs = {job("a")};
  w.files.emplace_back();
  w.files[0].name = "o";
  w.files[0].path = "out/{i}.txt";
  w.files[0].parameters = {{"i", IntegerRange{1, 3, 1}}};
  w.files[0].sound = false;
  EXPECT_EQ(mistakes(w), Mistakes{});
}

TEST(ExpandMistakes, all_are_shown_in_the_order_of_the_file_with_their_lines) {
  Workflow w;
  w.jobs = {job("a", "x", 1), sweep("b_{i}", 1, 1)};
  w.jobs[0].depends_on = {"nope"};
  w.jobs[0].places["depends_on[0]"] = {4, 3, 4};
  w.jobs[1].scheduler = "none{i}";
  w.jobs[1].places["scheduler"] = {3, 1, 1};
  const Expanded expanded = expand(w, "one\ntwo\nthree\nfour", "wf.yaml");
  EXPECT_FALSE(expanded.expansion);
  ASSERT_EQ(expanded.diagnostics.size(), 2U);
  EXPECT_EQ(expanded.diagnostics[0].source_line, "three");
  EXPECT_EQ(expanded.diagnostics[1].source_line, "four");
  EXPECT_EQ(expanded.diagnostics[1].place.column, 3U);
  EXPECT_EQ(expanded.diagnostics[1].file, "wf.yaml");
}

}  // namespace
}  // namespace torc::spec
