// Flags and names that users get wrong.
#include <gtest/gtest.h>

#include "lib/base/sanitizer.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

constexpr const char* kGood = "name: wf\njobs:\n  - {name: only, command: \"true\"}\n";

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

void expect_usage(const Workplace& here, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& words) {
  const Ended ended = here.run(arguments);
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_TRUE(ended.out.empty()) << ended;
  EXPECT_SAYS(ended, "torc: error: ");
  for (const std::string& word : words) EXPECT_SAYS(ended, word);
}

TEST(Usage, wrong_flags_and_values_are_told_with_the_command_that_helps) {
  const Workplace here;
  here.write("wf.yaml", kGood);
  expect_usage(here, {}, {"torc --help"});
  expect_usage(here, {"frobnicate"}, {"there is no command 'frobnicate'", "torc --help"});
  expect_usage(here, {"status", "--frobnicate"}, {"--frobnicate", "torc status --help"});
  expect_usage(here, {"init"}, {"SPEC", "torc init --help"});
  expect_usage(here, {"init", "wf.yaml", "--engine", "floppy"}, {"floppy", "journal"});
  expect_usage(here, {"jobs", "--state", "tired"}, {"tired", "blocked"});
  expect_usage(here, {"run", "wf.yaml", "--num-cpus", "0"}, {"--num-cpus"});
  expect_usage(here, {"run", "wf.yaml", "--num-cpus", "two"}, {"--num-cpus"});
  expect_usage(here, {"run", "wf.yaml", "--memory", "lots"}, {"--memory", "lots"});
  expect_usage(here, {"run", "wf.yaml", "--time-limit", "soon"}, {"--time-limit", "soon"});
  expect_usage(here, {"run", "wf.yaml", "--max-parallel-jobs", "0"}, {"positive whole number"});
  expect_usage(here, {"jobs", "--limit", "-1"}, {"--limit", "positive whole number"});
  expect_usage(here, {"jobs", "--limit", "0"}, {"--limit", "positive whole number"});
  expect_usage(here, {"completion", "tcsh"}, {"tcsh", "bash"});
  EXPECT_EQ(contents(here.path()).size(), 1U);
}

TEST(Usage, quantities_without_a_unit_are_refused_as_in_a_workflow_file) {
  const Workplace here;
  here.write("wf.yaml", kGood);
  const std::string forms = "write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00";
  for (const char* command : {"run", "worker"}) {
    for (const char* flag : {"--time-limit", "--idle-timeout", "--grace", "--lease-ttl"}) {
      expect_usage(here, {command, flag, "30"}, {flag, "'30' is a duration without a unit", forms});
      expect_usage(here, {command, flag, "30:00"}, {flag, "may be minutes or hours", forms});
    }
    expect_usage(here, {command, "--memory", "8"}, {"'8' without a unit is 8 bytes", "8m or 8g"});
  }
  expect_usage(here, {"exec", "--timeout", "9", "-c", "true", "x"}, {"a duration without a unit"});
  expect_usage(here, {"init", "wf.yaml", "--retention", "5"}, {"a duration without a unit"});
  expect_usage(here, {"doctor", "--two-node", "--wait", "5"}, {"a duration without a unit"});
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  expect_usage(here, {"history", "--since", "5"}, {"neither a duration nor a time"});
  expect_usage(here, {"set", "--all", "runtime=30"}, {"'30' is a duration without a unit", forms});
  expect_usage(here, {"set", "--all", "memory=8"}, {"'8' without a unit is 8 bytes", "8m or 8g"});
  here.write("bare.yaml", "name: w\njobs:\n  - {name: a, command: x, memory: 8, runtime: 30}\n");
  const Ended file = here.run({"check", "bare.yaml"});
  EXPECT_SAYS(file, "'8' without a unit is 8 bytes");
  EXPECT_SAYS(file, "'30' is a duration without a unit");
  EXPECT_SAYS(file, forms);
}

TEST(Usage, help_counts_characters_and_says_only_what_concerns_the_command) {
  const Workplace here;
  const auto help = [&](const char* command) { return here.run({command, "--help"}).out; };
  const std::string set = help("set");
  EXPECT_NE(set.find("Usage: torc set [OPTIONS] [STORE] NAME… KEY=VALUE…\n"), std::string::npos)
      << set;
  // A row that holds "…" begins its second column where the others do.
  const std::string hold = help("hold");
  EXPECT_NE(hold.find("\n  [STORE] NAME…" + std::string(19, ' ') + "[STORE] NAME…: jobs by name"),
            std::string::npos)
      << hold;
  constexpr const char* kNote = "STORE may be left out";
  for (const char* command : {"plan", "new", "schema", "node", "completion", "init"})
    EXPECT_EQ(help(command).find(kNote), std::string::npos) << command;
  for (const char* command : {"status", "set", "run", "data", "job", "add"})
    EXPECT_NE(help(command).find(kNote), std::string::npos) << command;
  EXPECT_NE(help("plan").find("Exit codes:"), std::string::npos);
}

TEST(Usage, a_slip_in_a_command_is_answered_with_the_nearest_one) {
  const Workplace here;
  expect_usage(here, {"stauts"}, {"there is no command 'stauts'", "did you mean `torc status`?"});
}

TEST(Usage, flags_that_only_a_spec_can_use_are_refused_with_a_store) {
  const Workplace here;
  here.write("wf.yaml", kGood);
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  expect_usage(here, {"run", "wf.torc", "--store", "b.torc"}, {"from a workflow file"});
  expect_usage(here, {"run", "--engine", "lmdb"}, {"from a workflow file"});
}

TEST(Usage, a_binding_that_no_job_has_is_noted_with_the_nearest_one) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: j, command: \"true\", label: gpu_a100}\n");
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  const Ended slip = here.run({"worker", "--label", "gpu_a10", "--idle-timeout", "1s"});
  EXPECT_SAYS(slip, "did you mean gpu_a100?");
  const Ended run = here.run({"run", "--label", "gpu_a10", "--idle-timeout", "1s"});
  EXPECT_SAYS(run, "did you mean gpu_a100?");
  const Ended right = here.run({"worker", "--label", "gpu_a100"});
  EXPECT_FALSE(right.says("note:")) << right;
}

TEST(Usage, a_command_to_paste_is_quoted_for_the_shell) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: \"it's $x\", command: \"echo out\"}\n");
  ASSERT_EQ(here.run({"run", "wf.yaml", "--store", "my store.torc"}).exit_code, 0);
  const Ended job = here.run({"job", "my store.torc", "it's $x"});
  EXPECT_SAYS(job, R"(torc logs 'my store.torc' 'it'\''s $x' [--stderr])");
}

TEST(Usage, a_worker_flag_that_cannot_be_is_refused) {
  const Workplace here;
  here.write("wf.yaml", kGood);
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  expect_usage(here, {"worker", "--lease-ttl", "3s"}, {"--lease-ttl 3s", "at least 10s"});
  expect_usage(here, {"worker", "--num-gpus", "4097"}, {"--num-gpus 4097"});
  expect_usage(here, {"worker", "--time-limit", "0s"}, {"--time-limit 0", "leave it out"});
}

TEST(Usage, help_shows_how_a_command_is_written_and_the_first_steps_only_above_all) {
  const Workplace here;
  const Ended job = here.run({"job", "--help"});
  EXPECT_SAYS(job, "torc job [OPTIONS] [STORE] NAME…\n");
  EXPECT_FALSE(job.says("First steps")) << job;
  EXPECT_SAYS(job, "Exit codes");
  EXPECT_SAYS(here.run({"--help"}), "First steps");
}

TEST(Usage, a_slip_in_a_flag_is_told_with_the_flag_that_is_meant) {
  const Workplace here;
  here.write("wf.yaml", kGood);
  expect_usage(here, {"run", "wf.yaml", "--shceduler", "gpu"},
               {"`torc run` has no flag --shceduler", "did you mean `--scheduler`?"});
  expect_usage(here, {"init", "--egnine=lmdb", "wf.yaml"}, {"did you mean `--engine`?"});
  expect_usage(here, {"logs", "export", "--tailing"}, {"`torc logs export` has no flag"});
}

TEST(Usage, help_is_a_command_too) {
  const Workplace here;
  EXPECT_EQ(here.run({"help"}).out, here.run({"--help"}).out);
  EXPECT_EQ(here.run({"help", "job"}).out, here.run({"job", "--help"}).out);
  EXPECT_SAYS(here.run({"supervise", "--help"}), "at most 3 times");
}

TEST(Usage, a_word_behind_two_dashes_is_a_name_wherever_they_stand) {
  const Workplace here;
  here.write("wf.yaml",
             "name: wf\njobs:\n  - {name: -x, command: echo out}\n  - {name: export, command: echo "
             "two}\n");
  ASSERT_EQ(here.run({"run", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(here.run({"logs", "wf.torc", "--", "-x"}).out, "out\n");
  EXPECT_EQ(here.run({"logs", "--", "wf.torc", "-x"}).out, "out\n");
  EXPECT_EQ(here.run({"logs", "--", "export"}).out, "two\n");
}

TEST(Usage, what_is_no_workflow_file_and_no_store_is_told) {
  const Workplace here;
  expect_usage(here, {"check", "."}, {"'.' is a directory, not a workflow file"});
  EXPECT_SAYS(here.run({"run", "nosuch.torc"}), "there is no store");
  expect_usage(here, {"run", "nosuch.yaml"}, {"there is no file 'nosuch.yaml'"});
}

TEST(Usage, names_of_jobs_that_are_not_there_are_told) {
  const Workplace here;
  here.write("wf.yaml", kGood);
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  expect_usage(here, {"job", "onyl"}, {"there is no job 'onyl'", "torc jobs --name"});
  expect_usage(here, {"job", "wf.torc", "onyl"}, {"there is no job 'onyl'"});
  expect_usage(here, {"job", "#2"}, {"there is no job '#2'"});
  expect_usage(here, {"logs", "onyl"}, {"there is no job 'onyl'"});
  expect_usage(here, {"logs", "only"}, {"'only' has not run"});
  expect_usage(here, {"jobs", "--name", "("}, {"--name '('"});
}

TEST(Usage, a_number_is_digits_and_fits) {
  const Workplace here;
  for (const char* number : {"-1", "1e3", "0x10", "99999999999999999999", " 1", ""}) {
    expect_usage(here, {"history", "--limit", number}, {"--limit", "is not a whole number from 0"});
    expect_usage(here, {"set", "--keep-attempts", number},
                 {"--keep-attempts", "is not a whole number from 0"});
  }
}

TEST(Usage, without_a_store_it_says_where_it_looked) {
  const Workplace here;
  const Ended ended = here.run({"status"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  for (const std::string& text : {"no *.torc in " + here.path().string(), std::string("TORC_STORE"),
                                  std::string("torc init")})
    EXPECT_TRUE(ended.says(text)) << ended;
}

TEST(Usage, of_several_stores_it_asks_which_one) {
  const Workplace here;
  here.write("wf.yaml", kGood);
  ASSERT_EQ(here.run({"init", "wf.yaml", "--store", "a.torc"}).exit_code, 0);
  EXPECT_EQ(here.run({"status"}).exit_code, 0);  // the only one
  ASSERT_EQ(here.run({"init", "wf.yaml", "--store", "b.torc"}).exit_code, 0);
  expect_usage(here, {"status"}, {"several stores here: a.torc, b.torc", "TORC_STORE"});
  EXPECT_EQ(here.run({"status", "a.torc"}).exit_code, 0);
  Launch launch = here.torc({"status"});
  launch.env["TORC_STORE"] = "b.torc";
  const Ended chosen = run(launch);
  EXPECT_EQ(chosen.exit_code, 0) << chosen;
  EXPECT_SAYS(chosen, "b.torc");
}

// As batch systems limit it, with RLIMIT_AS.
TEST(Usage, too_little_memory_is_told_and_is_no_crash) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const Workplace here;
  std::string large = "name: wf\njobs:\n";
  for (int i = 0; i < 100'000; ++i)
    large += "  - {name: j" + std::to_string(i) + ", command: \"true\"}\n";
  here.write("wf.yaml", large);
  bool told = false;
  for (const char* limit : {"24000", "28000", "32000", "36000"}) {
    Launch launch = here.torc({"check", "wf.yaml"});
    launch.argv.insert(launch.argv.begin(),
                       {"/bin/sh", "-c", "ulimit -v \"$0\"; exec \"$@\"", limit});
    const Ended ended = run(launch);
    EXPECT_EQ(ended.signal, 0) << limit << ": " << ended;
    if (ended.exit_code != 4) continue;
    EXPECT_SAYS(ended, "torc: error: there is not enough memory");
    told = true;
  }
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace torc::itest
