// Jobs that a workflow has no more: since its file has them no more, or a person took them out.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class Removed : public ::testing::TestWithParam<std::string> {
 protected:
  Ended run_file(const std::string& text, Words words = {}) const {
    here.write("wf.yaml", "name: wf\n" + text);
    words.insert(words.begin(), {"run", "wf.yaml"});
    if (!fs::exists(here.path() / "wf.torc")) words.insert(words.end(), {"--engine", GetParam()});
    return here.run(words);
  }
  std::string state(const std::string& job) const { return here.json({"job", job})["state"]; }
  void expect_sound() const { EXPECT_EQ(here.run({"verify"}).exit_code, 0); }

  Workplace here;
};
INSTANTIATE_TEST_SUITE_P(Engines, Removed, ::testing::Values("journal", "lmdb"));

const std::string kFiles =
    "files: [{name: x, path: x.txt}, {name: raw, path: raw.txt}, {name: y, path: y.txt}]\n";
const std::string kGen = "  - {name: gen, command: echo x > x.txt, output_files: [x]}\n";
const std::string kUse =
    "  - {name: use, command: cat x.txt > y.txt, input_files: [x], output_files: [y]}\n";
const std::string kOther = "  - {name: other, command: echo}\n";

TEST_P(Removed, a_completed_job_is_told_as_such) {
  ASSERT_EQ(run_file("jobs:\n" + kOther).exit_code, 0);
  EXPECT_FALSE(here.run({"why", "other"}).says("no longer in the workflow"));
  ASSERT_EQ(here.run({"rm", "other"}).exit_code, 0);
  EXPECT_TRUE(here.run({"job", "other"}).says("completed, removed from the workflow"));
  const Ended why = here.run({"why", "other"});
  EXPECT_TRUE(why.says("It completed with attempt 1")) << why;
  EXPECT_TRUE(why.says("no longer in the workflow")) << why;
  EXPECT_TRUE(why.says("torc rm --undo wf.torc other")) << why;
  EXPECT_EQ(here.json({"why", "other"})["reasons"][1]["kind"], "removed");
}

// Its files are looked at as those of any other job.
TEST_P(Removed, a_job_that_comes_back_without_its_output_runs) {
  const std::string with = kFiles + "jobs:\n" + kGen + kOther;
  ASSERT_EQ(run_file(with).exit_code, 0);
  ASSERT_EQ(run_file(kFiles + "jobs:\n" + kOther).exit_code, 0);
  fs::remove(here.path() / "x.txt");
  const Ended back = run_file(with);
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_TRUE(back.says("output x.txt is not there")) << back;
  EXPECT_TRUE(fs::exists(here.path() / "x.txt"));
  expect_sound();
}

TEST_P(Removed, a_sample_that_is_taken_out_may_go_with_its_files) {
  const auto file = [](int samples) {
    const std::string range = "parameters: {i: \"1:" + std::to_string(samples) + "\"}";
    return "files:\n  - {name: 'raw_{i}', path: 'raw_{i}', " + range +
           "}\n  - {name: 'c_{i}', path: 'c_{i}', " + range +
           "}\njobs:\n  - {name: 'count_{i}', command: 'cp raw_{i} c_{i}', input_files: "
           "['raw_{i}'], "
           "output_files: ['c_{i}'], " +
           range + "}\n  - {name: report, command: cat c_* > report, depends_on: ['count_{i}']}\n";
  };
  for (const char* raw : {"raw_1", "raw_2", "raw_3"}) here.write(raw, raw);
  ASSERT_EQ(run_file(file(3)).exit_code, 0);
  fs::remove(here.path() / "raw_3");
  fs::remove(here.path() / "c_3");
  const Ended less = run_file(file(2));
  EXPECT_EQ(less.exit_code, 0) << less;
  EXPECT_FALSE(less.says("is not there")) << less;
  EXPECT_EQ(read_text(here.path() / "report"), "raw_1raw_2");
  EXPECT_EQ(state("count_3"), "completed") << "its result stays in the history";
  EXPECT_TRUE(run_file(file(2)).says("nothing to do"));
  expect_sound();
}

TEST_P(Removed, a_job_makes_no_file_of_another) {
  ASSERT_EQ(run_file(kFiles + "jobs:\n" + kGen + kUse).exit_code, 0);
  fs::remove(here.path() / "x.txt");
  const Ended refused = run_file(kFiles + "jobs:\n" + kUse);
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_TRUE(refused.says("no job makes")) << refused;
  EXPECT_EQ(state("use"), "completed") << "nothing was changed";
}

TEST_P(Removed, what_a_canceled_job_lacks_refuses_nothing) {
  const auto file = [](const std::string& word) {
    return kFiles + "jobs:\n  - {name: gen, command: echo " + word +
           " > x.txt, output_files: [x]}\n"
           "  - {name: c, command: cat raw.txt x.txt, input_files: [raw, x]}\n";
  };
  here.write("raw.txt", "raw");
  ASSERT_EQ(run_file(file("one"), {"gen"}).exit_code, 0);
  ASSERT_EQ(here.run({"cancel", "c"}).exit_code, 0);
  fs::remove(here.path() / "raw.txt");
  const Ended changed = run_file(file("two"), {"gen"});
  EXPECT_EQ(changed.exit_code, 0) << changed;
  EXPECT_EQ(read_text(here.path() / "x.txt"), "two\n");
}

// The jobs of the new entries make what others of the file take, each of its own recipe.
TEST_P(Removed, a_sweep_that_is_split_makes_what_its_parts_say) {
  const auto o = [](const std::string& name, const std::string& range) {
    return "  - {name: '" + name + "_{i}', path: '" + name + "_{i}', parameters: {i: \"" + range +
           "\"}}\n";
  };
  const auto a = [](const std::string& range, const std::string& out) {
    return "  - {name: 'a_{i}', command: 'echo {i} > " + out + "_{i}', output_files: ['" + out +
           "_{i}'], parameters: {i: \"" + range + "\"}}\n";
  };
  const auto m = [](const std::string& inputs) {
    return "  - {name: m, command: 'cat ?_* > all', input_files: [" + inputs + "]}\n";
  };
  ASSERT_EQ(
      run_file("files:\n" + o("o", "1:4") + "jobs:\n" + a("1:4", "o") + m("o_1, o_2, o_3, o_4"))
          .exit_code,
      0);
  const Ended split = run_file("files:\n" + o("o", "1:2") + o("n", "3:4") + "jobs:\n" +
                               a("1:2", "o") + a("3:4", "n") + m("o_1, o_2, n_3, n_4"));
  EXPECT_EQ(split.exit_code, 0) << split;
  EXPECT_TRUE(fs::exists(here.path() / "n_4"));
  fs::remove(here.path() / "n_4");
  const Ended mended = run_file("files:\n" + o("o", "1:2") + o("n", "3:4") + "jobs:\n" +
                                a("1:2", "o") + a("3:4", "n") + m("o_1, o_2, n_3, n_4"));
  EXPECT_EQ(mended.exit_code, 0) << mended;
  EXPECT_TRUE(fs::exists(here.path() / "n_4"));
  expect_sound();
}

TEST_P(Removed, jobs_are_told_apart_from_those_of_the_file) {
  ASSERT_EQ(run_file("jobs:\n" + kOther + "  - {name: old, command: echo}\n").exit_code, 0);
  ASSERT_EQ(run_file("jobs:\n" + kOther).exit_code, 0);
  EXPECT_TRUE(here.run({"jobs"}).says("completed, removed")) << here.run({"jobs"});
  EXPECT_EQ(here.json({"job", "old"})["removed"], true);
  EXPECT_EQ(here.json({"job", "other"})["removed"], false);
  const auto stages = here.json({"status", "--stages"})["jobs_by_entry"];
  ASSERT_EQ(stages.size(), 1U) << stages;
  EXPECT_TRUE(here.run({"run", "wf.yaml"}).says("nothing to do: 1 of 1 job completed"));
  EXPECT_TRUE(here.run({"wait"}).says("1 of 1 job completed"));
  EXPECT_EQ(here.json({"status"})["jobs_by_state"]["completed"], 1);
  const Ended asked = here.run({"run", "wf.yaml", "old"});
  EXPECT_EQ(asked.exit_code, 2) << asked;
  EXPECT_TRUE(asked.says("no longer in the workflow")) << asked;
}

// --- torc rm ---

TEST_P(Removed, rm_takes_jobs_out_and_back) {
  ASSERT_EQ(run_file("jobs:\n" + kOther).exit_code, 0);
  here.write("more.yaml",
             "jobs:\n  - {name: 'more_{i}', command: 'echo {i} >> log', parameters: "
             "{i: \"1:3\"}}\n");
  ASSERT_EQ(here.run({"add", "wf.torc", "more.yaml"}).exit_code, 0);
  const Ended tried = here.run({"rm", "more_1", "more_2", "--dry-run"});
  EXPECT_EQ(tried.exit_code, 0) << tried;
  EXPECT_TRUE(tried.says("would remove 2 jobs")) << tried;
  EXPECT_EQ(state("more_1"), "ready");
  const Ended done = here.run({"rm", "more_1", "more_2"});
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_TRUE(done.says("removed 2 jobs")) << done;
  EXPECT_EQ(here.run({"run", "wf.torc"}).exit_code, 0);
  EXPECT_EQ(read_text(here.path() / "log"), "3\n");
  EXPECT_TRUE(here.run({"rm", "more_1"}).says("nothing to change"));
  expect_sound();
  const Ended back = here.run({"rm", "--undo", "more_*"});
  EXPECT_TRUE(back.says("back in the workflow: 2 jobs")) << back;
  EXPECT_EQ(here.run({"run", "wf.torc"}).exit_code, 0);
  EXPECT_EQ(lines_of(read_text(here.path() / "log")).size(), 3U);
  expect_sound();
}

TEST_P(Removed, rm_leaves_nobody_waiting_for_what_is_gone) {
  ASSERT_EQ(run_file("jobs:\n  - {name: a, command: echo a >> log}\n"
                     "  - {name: b, command: echo b >> log, depends_on: [a]}\n"
                     "  - {name: c, command: echo c >> log}\n",
                     {"c"})
                .exit_code,
            0);
  const Ended refused = here.run({"rm", "a"});
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_TRUE(refused.says("1 job depends on these: b")) << refused;
  EXPECT_EQ(state("a"), "ready") << "nothing was changed";
  EXPECT_EQ(here.run({"rm", "a", "--with-dependents"}).exit_code, 0);
  const Ended done = here.run({"run", "wf.torc"});
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_EQ(read_text(here.path() / "log"), "c\n");
  expect_sound();
  // The file has them.
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(read_text(here.path() / "log"), "c\na\nb\n");
  expect_sound();
}

// Each of them is among those that were named, however many there are.
TEST_P(Removed, rm_of_very_many_is_one_change) {
  ASSERT_EQ(run_file("jobs:\n  - {name: 'a_{i}', command: echo, parameters: {i: \"1:100001\"}}\n"
                     "  - {name: y, command: echo, depends_on: [a_100001]}\n"
                     "  - {name: z, command: echo, depends_on: [a_1]}\n",
                     {"a_1"})
                .exit_code,
            0);
  const Ended refused = here.run({"rm", "a_*", "z"});
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_TRUE(refused.says("1 job depends on these: y")) << refused;
  EXPECT_EQ(state("a_2"), "ready") << "nothing was changed";
  const Ended done = here.run({"rm", "a_*", "y", "z"});
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_TRUE(done.says("removed 100,003 jobs")) << done;
  expect_sound();
}

TEST_P(Removed, undo_brings_back_what_jobs_are_built_on) {
  ASSERT_EQ(run_file("jobs:\n  - {name: a, command: echo a >> log}\n"
                     "  - {name: b, command: echo b >> log, depends_on: [a]}\n"
                     "  - {name: c, command: echo c >> log}\n",
                     {"c"})
                .exit_code,
            0);
  ASSERT_EQ(here.run({"rm", "a", "--with-dependents"}).exit_code, 0);
  const Ended back = here.run({"rm", "--undo", "b"});
  EXPECT_TRUE(back.says("2 jobs")) << back;
  EXPECT_EQ(here.run({"run", "wf.torc"}).exit_code, 0);
  EXPECT_EQ(read_text(here.path() / "log"), "c\na\nb\n");
  expect_sound();
}

TEST_P(Removed, what_failed_comes_back_so_and_is_told) {
  const std::string file = "jobs:\n" + kOther + "  - {name: f, command: 'echo f >> log; exit 3'}\n";
  ASSERT_EQ(run_file(file).exit_code, 1);
  ASSERT_EQ(here.run({"rm", "f"}).exit_code, 0);
  const Ended back = here.run({"rm", "--undo", "f"});
  EXPECT_EQ(back.exit_code, 0) << back;
  EXPECT_TRUE(back.says("1 of them failed before, and stays so")) << back;
  EXPECT_TRUE(back.says("torc retry wf.torc --failed")) << back;
  EXPECT_EQ(here.json({"job", "f"})["exit_code"], 3);
  // The same by the file.
  ASSERT_EQ(run_file("jobs:\n" + kOther).exit_code, 0);
  EXPECT_EQ(run_file(file).exit_code, 1);
  EXPECT_EQ(state("f"), "failed");
  EXPECT_EQ(read_text(here.path() / "log"), "f\n") << "it ran once";
  // With another command it runs again.
  ASSERT_EQ(run_file("jobs:\n" + kOther).exit_code, 0);
  const Ended mended = run_file("jobs:\n" + kOther + "  - {name: f, command: 'echo g >> log'}\n");
  EXPECT_EQ(mended.exit_code, 0) << mended;
  EXPECT_TRUE(mended.says("1 had run and runs again")) << mended;
  EXPECT_EQ(read_text(here.path() / "log"), "f\ng\n");
  expect_sound();
}

TEST_P(Removed, what_was_held_stays_held_after_an_attempt) {
  const std::string file = "jobs:\n  - {name: h, command: 'echo h >> log; exit 3'}\n" + kOther;
  ASSERT_EQ(run_file(file).exit_code, 1);
  ASSERT_EQ(here.run({"retry", "h"}).exit_code, 0);
  ASSERT_EQ(here.run({"hold", "h"}).exit_code, 0);
  ASSERT_EQ(here.run({"rm", "h"}).exit_code, 0);
  ASSERT_EQ(here.run({"rm", "--undo", "h"}).exit_code, 0);
  EXPECT_EQ(state("h"), "held");
  ASSERT_EQ(run_file("jobs:\n" + kOther).exit_code, 0);
  (void)run_file(file);
  EXPECT_EQ(state("h"), "held");
  EXPECT_EQ(read_text(here.path() / "log"), "h\n");
  expect_sound();
}

// It took the name, and threw away what `was` is to keep.
TEST_P(Removed, a_job_keeps_no_name_from_one_that_is_renamed) {
  const auto job = [](const std::string& name, const std::string& word, const std::string& was) {
    return "  - {name: '" + name + "_{i}', command: 'echo " + word +
           "_{i} >> log', parameters: {i: \"1:2\"}" + was + "}\n";
  };
  ASSERT_EQ(run_file("jobs:\n" + job("a", "a", "") + job("b", "b", "")).exit_code, 0);
  ASSERT_EQ(run_file("jobs:\n" + job("a", "a", "")).exit_code, 0);
  here.write("log", "");
  const std::string renamed = "jobs:\n" + job("b", "a", ", was: 'a_{i}'");
  const Ended done = run_file(renamed);
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_EQ(read_text(here.path() / "log"), "") << "what is there of a is that of b";
  EXPECT_TRUE(done.says("its name was 'b_{i}', which is another job's now")) << done;
  EXPECT_EQ(here.json({"job", "b_2"})["removed"], false);
  EXPECT_EQ(here.run({"job", "a_1"}).exit_code, 2);
  const auto gone = here.json({"job", "b_2#3"});
  EXPECT_EQ(gone["removed"], true);
  EXPECT_EQ(gone["state"], "completed");
  EXPECT_TRUE(here.run({"logs", "b_2#3"}).exit_code == 0);
  expect_sound();
  EXPECT_TRUE(here.run({"apply", "wf.yaml"}).says("nothing differs"));
  // Each may go and come.
  ASSERT_EQ(here.run({"rm", "b_1"}).exit_code, 0);
  EXPECT_EQ(run_file(renamed).exit_code, 0);
  EXPECT_EQ(here.json({"job", "b_1"})["removed"], false);
  EXPECT_EQ(run_file("jobs:\n" + job("b", "a", "") + job("a", "new", "")).exit_code, 0);
  EXPECT_EQ(lines_of(read_text(here.path() / "log")).size(), 2U) << "the new ones alone";
  expect_sound();
}

// The same command, so that the recipe is that of the one that is out.
TEST_P(Removed, a_former_name_says_which_job_it_is_also_where_two_run_the_same) {
  const std::string both = "  - {name: a, command: 'echo >> log'}\n";
  ASSERT_EQ(run_file("jobs:\n" + both + "  - {name: b, command: 'echo >> log'}\n").exit_code, 0);
  ASSERT_EQ(run_file("jobs:\n" + both).exit_code, 0);
  ASSERT_EQ(run_file("jobs:\n  - {name: b, command: 'echo >> log', was: a}\n").exit_code, 0);
  EXPECT_EQ(here.run({"job", "a"}).exit_code, 2);
  EXPECT_EQ(here.json({"job", "b"})["job_id"], 1);
  EXPECT_EQ(here.json({"job", "b#2"})["removed"], true);
  expect_sound();
  ASSERT_EQ(here.run({"undo", "wf.torc", "--yes"}).exit_code, 0);
  EXPECT_EQ(here.json({"job", "b"})["removed"], true);
  expect_sound();
}

TEST_P(Removed, a_former_name_that_another_entry_has_is_told_as_such) {
  ASSERT_EQ(run_file("jobs:\n" + kOther).exit_code, 0);
  const Ended done = run_file("jobs:\n" + kOther + "  - {name: b, command: echo, was: other}\n");
  EXPECT_TRUE(done.says("the job that its `was:` names is another one of the file")) << done;
  const Ended unknown = run_file("jobs:\n" + kOther + "  - {name: c, command: echo, was: x}\n");
  EXPECT_TRUE(unknown.says("no job here has the name that its `was:` says")) << unknown;
  here.write("two.yaml",
             "jobs: [{name: a, command: echo, was: x}, {name: b, command: echo, was: x}]\n");
  const Ended checked = here.run({"check", "two.yaml"});
  EXPECT_NE(checked.exit_code, 0);
  EXPECT_TRUE(checked.says("both 'a' and 'b' say that they were 'x'")) << checked;
}

TEST_P(Removed, what_is_out_is_not_waited_for) {
  ASSERT_EQ(run_file("jobs:\n  - {name: 'j_{i}', command: echo, parameters: {i: \"1:3\"}}\n",
                     {"j_1", "j_3"})
                .exit_code,
            0);
  ASSERT_EQ(here.run({"rm", "j_2"}).exit_code, 0);
  const Ended all = here.run({"wait", "j_*"});
  EXPECT_EQ(all.exit_code, 0) << all;
  EXPECT_EQ(here.run({"wait", "j_2"}).exit_code, 2);
}

TEST_P(Removed, rm_ends_what_runs_and_keeps_what_completed) {
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: done, command: echo, priority: 1}
  - {name: at_work, command: "echo up > record; read x < gate"}
  - {name: last, command: echo, depends_on: [done]}
)");
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", GetParam()}).exit_code, 0);
  const auto worker = here.start({"run", "wf.torc"});
  ASSERT_TRUE(wait_for_line(record, "up", *worker)) << worker->err();
  const Ended done = here.run({"rm", "at_work"});
  EXPECT_EQ(done.exit_code, 0) << done;
  EXPECT_EQ(worker->wait().exit_code, 0);
  EXPECT_EQ(here.run({"rm", "done", "--with-dependents"}).exit_code, 0);
  EXPECT_EQ(state("done"), "completed") << "it stays in the history";
  EXPECT_EQ(here.json({"job", "done"})["removed"], true);
  expect_sound();
}

}  // namespace
}  // namespace torc::itest
