// Dependencies that follow from files, through expand().
#include "lib/spec/expand/job_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

using Names = std::vector<std::string>;

FileEntry file_sweep(std::string name, std::string path, std::int64_t last) {
  FileEntry entry = file(std::move(name), std::move(path));
  entry.parameters = {{"i", IntegerRange{1, last, 1}}};
  return entry;
}

TEST(JobFiles, a_job_that_outputs_a_file_precedes_those_that_input_it) {
  Workflow w;
  w.files = {file("raw", "raw.txt"), file("mid1", "m1"), file("mid2", "m2"), file("end", "e")};
  w.jobs.push_back(job("last", "cat > ${files.output.end}"));
  w.jobs[0].input_files = {"mid1", "mid2"};
  w.jobs.push_back(job("left", "l ${files.input.raw} ${files.output.mid1}"));
  w.jobs.push_back(job("right"));
  w.jobs[2].input_files = {"raw"};
  w.jobs[2].output_files = {"mid2"};
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.upstream("last"), (Names{"left", "right"}));
  EXPECT_EQ(jobs.upstream("left"), Names{}) << "nobody makes raw: it is there already";
  EXPECT_EQ(jobs.rendered[1].command, "l raw.txt m1");
}

TEST(JobFiles, a_sweep_hands_its_files_on_one_to_one) {
  Workflow w;
  w.files = {file_sweep("part_{i}", "p/{i}", 3)};
  w.jobs.push_back(sweep("make_{i}", 1, 3, "mk ${files.output.part_{i}}"));
  w.jobs.push_back(sweep("use_{i}", 1, 3, "use ${files.input.part_{i}}"));
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.upstream("use_2"), Names{"make_2"});
  EXPECT_EQ(jobs.rendered[4].command, "use p/2");
}

TEST(JobFiles, a_job_without_the_parameter_takes_all_files_of_a_sweep) {
  Workflow w;
  w.files = {file_sweep("part_{i}", "p/{i}", 3)};
  w.jobs.push_back(sweep("make_{i}", 1, 3));
  w.jobs[0].output_files = {"part_{i}"};
  w.jobs.push_back(job("merge"));
  w.jobs[1].input_files = {"part_{i}"};
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.upstream("merge"), (Names{"make_1", "make_2", "make_3"}));
  EXPECT_EQ(jobs.rendered[3].input_files, (Names{"p/1", "p/2", "p/3"}));
}

TEST(JobFiles, expressions_take_files_by_their_names_not_their_paths) {
  Workflow w;
  w.files = {file("a1", "x"), file("a2", "y"), file("b1", "a1")};
  w.jobs.push_back(job("make"));
  w.jobs[0].output_file_regexes = {"^a"};
  w.jobs.push_back(job("use"));
  w.jobs[1].input_file_regexes = {"1$"};
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.rendered[0].output_files, (Names{"x", "y"}));
  EXPECT_EQ(jobs.rendered[1].input_files, (Names{"x", "a1"}));
  EXPECT_EQ(jobs.upstream("use"), Names{"make"});
}

TEST(JobFiles, a_job_may_input_what_it_outputs) {
  Workflow w;
  w.files = {file("log", "log")};
  w.jobs.push_back(job("a", "append ${files.input.log} ${files.output.log}"));
  EXPECT_EQ(expand_all(w).upstream("a"), Names{});
}

TEST(JobFiles, files_of_many_single_entries_are_told_apart) {
  Workflow w;
  for (const char* name : {"f_3", "f_1", "g_9", "f_2"}) {
    w.files.push_back(file(name, std::string("path/") + name));
  }
  w.jobs.push_back(sweep("t_{i}", 1, 3, "run ${files.input.f_{i}}"));
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.rendered[0].command, "run path/f_1");
  EXPECT_EQ(jobs.rendered[1].command, "run path/f_2");
  EXPECT_EQ(jobs.rendered[2].command, "run path/f_3");
  EXPECT_EQ(jobs.rendered[2].input_files, Names{"path/f_3"});
}

TEST(JobFiles, only_the_parameter_that_a_reference_uses_matters) {
  Workflow w;
  w.files = {file_sweep("model_{i}", "m{i}", 2)};
  w.jobs.push_back(job("eval_{i}_{r}", "eval ${files.input.model_{i}} {r}"));
  w.jobs[0].parameters = {{"i", IntegerRange{1, 2, 1}}, {"r", IntegerRange{1, 2, 1}}};
  w.jobs.push_back(sweep("train_{i}", 1, 2, "train ${files.output.model_{i}}"));
  const Jobs jobs = expand_all(w);
  EXPECT_EQ(jobs.rendered[1].command, "eval m1 2");
  EXPECT_EQ(jobs.rendered[2].command, "eval m2 1");
  EXPECT_EQ(jobs.upstream("eval_2_1"), Names{"train_2"});
  EXPECT_EQ(jobs.expansion.dependencies.size(), 2U);
}

}  // namespace
}  // namespace torc::spec
