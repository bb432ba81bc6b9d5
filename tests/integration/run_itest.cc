// `torc run` of small workflows: what it runs, in which order,
// and how it ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

int files_below(const Path& directory) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    files += entry.is_regular_file() && !entry.is_symlink() ? 1 : 0;
  return files;
}

TEST(Run, ends_with_0_when_every_job_completed_and_runs_nothing_again) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: a, command: echo a >> log}
  - {name: b, command: echo b >> log, depends_on: [a]}
  - {name: c, command: echo c >> log, depends_on: [b]}
)");
  const Ended first = here.run({"run", "wf.yaml"});
  EXPECT_EQ(first.exit_code, 0) << first;
  EXPECT_TRUE(first.says("3 of 3 jobs completed")) << first;
  EXPECT_EQ(read_text(here.path() / "log"), "a\nb\nc\n");

  for (const std::string target : {"wf.yaml", "wf.torc"}) {
    const Ended again = here.run({"run", target});
    EXPECT_EQ(again.exit_code, 0) << again;
    EXPECT_EQ(again.out, "wf: nothing to do: 3 of 3 jobs completed in wf.torc\n");
    EXPECT_EQ(again.err, "");
  }
  EXPECT_EQ(here.run({"run"}).exit_code, 0) << "the only store here";
  EXPECT_EQ(read_text(here.path() / "log"), "a\nb\nc\n");
  const json again = here.json({"run"});
  EXPECT_EQ(again["nothing_to_do"], true);
  EXPECT_EQ(again["first_failures"], json::array());
}

TEST(Run, names_what_failed_with_its_first_lines_and_the_command_that_goes_on) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - name: loud
    command: for i in 1 2 3 4 5; do echo line $i >&2; done; echo out; exit 1
  - {name: plain, command: echo only this; exit 2}
  - {name: "mute_{i}", command: exit 3, parameters: {i: "1:5"}}
)");
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  const std::string failures =
      "failed: loud: exit code 1\n    line 1\n    line 2\n    line 3\n    … torc logs wf.torc loud "
      "--stderr\nfailed: plain: exit code 2\n    only this\nfailed: mute_1: exit code 3\nfailed: "
      "mute_2: exit code 3\nfailed: mute_3: exit code 3\nand 2 more: torc results wf.torc "
      "--failed\nonce that is fixed: torc retry wf.torc --failed, then torc run wf.yaml\n";
  EXPECT_NE(ended.out.find(failures), std::string::npos) << ended;

  // The second time there was nothing to do, and they are named all the same.
  const Ended again = here.run({"run", "wf.yaml"});
  EXPECT_EQ(again.exit_code, 1) << again;
  EXPECT_EQ(again.out,
            "wf: nothing to do: 0 of 7 jobs completed, 7 failed in wf.torc\n" + failures);
  const json told = here.json({"run"});
  EXPECT_EQ(told["nothing_to_do"], true);
  EXPECT_EQ(told["first_failures"].size(), 5U);
  EXPECT_EQ(told["first_failures"][1]["stream"], "stdout");
  EXPECT_EQ(told["first_failures"][1]["first_lines"], json::array({"only this"}));

  const Ended quiet = here.run({"run", "wf.yaml", "-q"});
  EXPECT_EQ(quiet.exit_code, 1) << quiet;
  EXPECT_EQ(quiet.out, "");
  EXPECT_EQ(quiet.err, failures);
  // The command that it names is one.
  EXPECT_EQ(here.run({"retry", "wf.torc", "--failed"}).exit_code, 0);
}

// Of that many `true` and one that says something.
std::string many(int jobs, const std::string& settings) {
  return "name: wf\n" + settings +
         "jobs:\n"
         "  - {name: 'quiet_{i}', command: 'true', parameters: {i: '1:" +
         std::to_string(jobs) +
         "'}}\n"
         "  - {name: loud, command: echo said; echo so >&2}\n";
}

TEST(Run, packs_the_output_of_more_than_a_thousand_jobs_and_says_how_many_files_there_are) {
  const Workplace here;
  here.write("wf.yaml", many(1000, ""));
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(here.run({"logs", "loud"}).out, "said\n");
  EXPECT_EQ(here.run({"logs", "loud", "--stderr"}).out, "so\n");
  EXPECT_TRUE(std::filesystem::exists(here.path() / "wf.torc/logs/jobs/packed"));
  const json again = here.json({"run", "wf.torc"});
  EXPECT_EQ(again["files"], files_below(here.path() / "wf.torc"));
  EXPECT_LT(again["files"], 40);
  EXPECT_EQ(again["all_files_counted"], true);
  EXPECT_EQ(again["jobs_by_state"]["completed"], 1001);
  const auto lines = lines_of(ended.out);
  const bool told = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("wf: 1,001 of 1,001 jobs completed in ") &&
           line.ends_with(" files in wf.torc");
  });
  EXPECT_TRUE(told) << ended;
}

TEST(Run, takes_over_from_the_file_how_output_is_kept_and_runs_nothing_again_for_it) {
  const Workplace here;
  here.write("wf.yaml", many(1000, "execution_config: {stdio: {mode: separate}}\n"));
  ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  for (const char* said : {"", "execution_config: {stdio: {mode: none}}\n"}) {
    here.write("wf.yaml", many(1000, said));
    const Ended ended = here.run({"run", "wf.yaml"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_TRUE(ended.says("stdio; nothing runs again for it")) << ended;
    EXPECT_TRUE(std::filesystem::exists(here.path() / "wf.torc/logs/jobs/packed")) << said;
  }
}

TEST(Run, tells_of_each_job_where_it_is) {
  const Workplace here;
  here.write("wf.yaml", R"(name: lim
max_failures: 1
jobs:
  - {name: bad, priority: 5, command: exit 3}
  - {name: next_1, command: "true"}
  - {name: next_2, command: "true"}
  - {name: after, command: "true", depends_on: [next_1]}
)");
  const Ended ended = here.run({"run", "wf.yaml", "--max-parallel-jobs", "1"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("0 of 4 jobs completed, 1 failed, 2 ready, 1 waiting in ")) << ended;
}

TEST(Run, takes_a_word_that_is_no_path_for_a_store_and_says_how_a_job_is_named) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: t_1, command: 'true'}]\n");
  EXPECT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"status", "t_1"}, {"verify", "t_1"}}) {
    const Ended refused = here.run(words);
    EXPECT_TRUE(refused.says("there is no store ")) << refused;
    EXPECT_TRUE(refused.says("a job is named after it: torc job STORE t_1")) << refused;
  }
  for (const char* path : {"other.torc", "./t_1"}) {
    const Ended refused = here.run({"jobs", path});
    EXPECT_TRUE(refused.says("there is no store ")) << refused;
    EXPECT_FALSE(refused.says("a job is named")) << refused;
  }
}

TEST(Run, ends_with_1_when_a_job_failed_and_says_what_was_never_reached) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: good, command: "true"}
  - {name: bad, command: echo why >&2; exit 3}
  - {name: after, command: touch reached, depends_on: [good, bad]}
)");
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_TRUE(ended.says("1 of 3 jobs completed, 1 failed, 1 never reached")) << ended;
  EXPECT_TRUE(ended.says("failed: bad: exit code 3")) << ended;
  EXPECT_FALSE(std::filesystem::exists(here.path() / "reached"));

  const json status = here.json({"status"});
  EXPECT_EQ(status["state"], "failed");
  EXPECT_EQ(status["jobs_by_state"]["completed"], 1);
  EXPECT_EQ(status["jobs_by_state"]["failed"], 1);
  EXPECT_EQ(status["jobs_by_state"]["blocked"], 1);
  ASSERT_EQ(status["failures"].size(), 1U);
  EXPECT_EQ(status["failures"][0]["job"], "bad");
  const Ended shown = here.run({"status"});
  EXPECT_EQ(shown.exit_code, 0) << shown;
  EXPECT_TRUE(shown.says("never reached")) << shown;
  EXPECT_EQ(here.json({"job", "after"})["waits_for"][0]["job"], "bad");
  EXPECT_EQ(here.run({"logs", "bad", "--stderr"}).out, "why\n");
  EXPECT_EQ(here.run({"run"}).exit_code, 1);
}

TEST(Run, tells_apart_the_ways_in_which_jobs_end) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
resource_requirements:
  - {name: short, runtime: PT1S}
jobs:
  - {name: good, command: "true"}
  - {name: coded, command: exit 7}
  - {name: killed, command: kill -KILL $$}
  - {name: late, command: sleep 1000, resource_requirements: short}
  - {name: missing, command: ./no-such-program}
)");
  EXPECT_EQ(here.run({"run", "wf.yaml"}).exit_code, 1);
  const auto jobs = here.jobs("wf.torc");
  ASSERT_EQ(jobs.size(), 5U);
  EXPECT_EQ(jobs.at("good")["state"], "completed");
  EXPECT_EQ(jobs.at("good")["exit_code"], 0);
  EXPECT_EQ(jobs.at("coded")["state"], "failed");
  EXPECT_EQ(jobs.at("coded")["exit_code"], 7);
  EXPECT_EQ(jobs.at("coded")["cause"], "exited");
  EXPECT_EQ(jobs.at("killed")["state"], "failed");
  EXPECT_EQ(jobs.at("killed")["signal"], 9);
  EXPECT_EQ(jobs.at("killed")["exit_code"], nullptr);
  EXPECT_EQ(jobs.at("late")["state"], "terminated");
  EXPECT_EQ(jobs.at("late")["exit_code"], 152);
  EXPECT_EQ(jobs.at("late")["cause"], "timed_out");
  const double ran =
      jobs.at("late")["ended_at"].get<double>() - jobs.at("late")["started_at"].get<double>();
  EXPECT_GE(ran, 0.9);
  EXPECT_EQ(jobs.at("missing")["state"], "failed");
  EXPECT_EQ(here.run({"verify"}).exit_code, 0);
}

TEST(Run, goes_on_where_a_killed_one_stopped) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: a, command: echo a $TORC_ATTEMPT_ID > record}
  - {name: b, command: echo b $TORC_ATTEMPT_ID > record; read x < gate, depends_on: [a]}
  - {name: c, command: echo c $TORC_ATTEMPT_ID > record, depends_on: [b]}
)");
  const auto killed = here.start({"run", "wf.yaml"});
  ASSERT_TRUE(wait_for_line(record, "b 1", *killed));
  killed->kill(SIGKILL);
  (void)killed->wait();
  gate.open_gate(10);
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  record.pump();
  EXPECT_EQ(record.lines(), (std::vector<std::string>{"a 1", "b 1", "b 2", "c 1"}));
}

TEST(Order, higher_priorities_run_first_and_equal_ones_in_the_order_of_the_file) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: low, command: echo $TORC_JOB_NAME >> log, priority: -5}
  - {name: plain1, command: echo $TORC_JOB_NAME >> log}
  - {name: high, command: echo $TORC_JOB_NAME >> log, priority: 10}
  - {name: plain2, command: echo $TORC_JOB_NAME >> log}
  - {name: highest, command: echo $TORC_JOB_NAME >> log, priority: 11}
)");
  ASSERT_EQ(here.run({"run", "wf.yaml", "--num-cpus", "1"}).exit_code, 0);
  EXPECT_EQ(lines_of(read_text(here.path() / "log")),
            (std::vector<std::string>{"highest", "high", "plain1", "plain2", "low"}));
}

// Runs nine jobs of which each needs two CPUs, and gives the largest number that ran at a time.
int widest(const std::vector<std::string>& flags, int expected) {
  const Workplace here;
  Fifo record(here.path() / "record");
  Fifo gate(here.path() / "gate");
  here.write("wf.yaml", R"(name: wf
resource_requirements: [{name: two, num_cpus: 2}]
jobs:
  - name: j{i}
    command: "echo start > record; read x < gate; echo done > record"
    parameters: {i: "1:9"}
    resource_requirements: two
)");
  std::vector<std::string> arguments{"run", "wf.yaml"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const auto process = here.start(arguments);
  // So many do run at the same time: none of them is done before all of them have started.
  EXPECT_TRUE(wait_until({process.get(), &record}, [&] {
    return record.lines().size() >= static_cast<std::size_t>(expected) || !process->running();
  }));
  gate.open_gate(9);
  const Ended ended = process->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  record.pump();
  int now = 0;
  int most = 0;
  for (const std::string& line : record.lines())
    most = std::max(most, now += line == "start" ? 1 : -1);
  return most;
}

TEST(Order, as_many_jobs_run_at_a_time_as_their_cpus_allow) {
  EXPECT_EQ(widest({"--num-cpus", "5"}, 2), 2);
}

TEST(Order, with_max_parallel_jobs_only_the_number_counts) {
  EXPECT_EQ(widest({"--num-cpus", "1", "--max-parallel-jobs", "3"}, 3), 3);
}

TEST(Order, jobs_that_never_fit_are_left_and_told) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
resource_requirements: [{name: huge, num_cpus: 5000}]
jobs:
  - {name: small, command: "true"}
  - {name: big, command: "true", resource_requirements: huge}
)");
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_TRUE(ended.says("1 ready job cannot run on this worker")) << ended;
  EXPECT_TRUE(ended.says("big: it needs 5000 CPUs of ")) << ended;
  // And before anything ran.
  EXPECT_NE(ended.err.find("torc: warning: 'big' cannot run here: it needs 5000 CPUs of "),
            std::string::npos)
      << ended;
  EXPECT_NE(ended.err.find("; let it need less (torc set wf.torc big cpus="), std::string::npos);
  EXPECT_NE(ended.err.find("), or start a worker where there is more: torc worker wf.torc\n"),
            std::string::npos);
  EXPECT_EQ(here.jobs("wf.torc").at("big")["state"], "ready");
  EXPECT_EQ(here.jobs("wf.torc").at("small")["state"], "completed");
}

TEST(Order, jobs_that_wait_and_will_never_fit_are_told_at_the_start_by_what_they_need) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
jobs:
  - {name: first, command: "true"}
  - {name: "big_{i}", command: "true", cpus: 5000, depends_on: [first], parameters: {i: "1:3"}}
  - {name: wide, command: "true", num_nodes: 4, depends_on: [first]}
)");
  const Ended ended = here.run({"run", "wf.yaml"});
  EXPECT_NE(ended.err.find("3 jobs (the first is 'big_1') cannot run here: it needs 5000 CPUs"),
            std::string::npos)
      << ended;
  EXPECT_NE(ended.err.find("'wide' cannot run here: it needs 4 nodes; start workers where"),
            std::string::npos)
      << ended;
  EXPECT_EQ(here.jobs("wf.torc").at("first")["state"], "completed");
  // Those that are over are not told.
  ASSERT_EQ(here.run({"cancel", "wf.torc", "big_1", "big_2", "big_3", "wide"}).exit_code, 0);
  EXPECT_EQ(here.run({"run", "wf.yaml"}).err, "");
}

TEST(Order, a_label_that_does_not_match_is_told_as_that) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: \"true\", label: fast}]\n");
  const Ended ended = here.run({"run", "wf.yaml", "--label", "slow"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_TRUE(ended.says("a: it asks for label 'fast', and this worker has 'slow'")) << ended;
}

TEST(Order, a_worker_of_a_scheduler_takes_its_jobs_and_the_unbound_ones) {
  const Workplace here;
  here.write("wf.yaml", R"(name: wf
slurm_schedulers: [{name: big}, {name: small}]
jobs:
  - {name: free, command: "true"}
  - {name: for_big, command: "true", scheduler: big}
  - {name: for_small, command: "true", scheduler: small}
  - {name: labelled, command: "true", label: fast}
)");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  const auto states = [&] {
    std::string all;
    for (const auto& [name, job] : here.jobs("wf.torc"))
      all += name + "=" + job["state"].get<std::string>() + " ";
    return all;
  };
  const Ended big = here.run({"worker", "--scheduler", "big"});
  EXPECT_EQ(big.exit_code, 0) << big;
  EXPECT_EQ(states(), "for_big=completed for_small=ready free=completed labelled=ready ");
  EXPECT_EQ(here.run({"worker", "--label", "fast"}).exit_code, 0);
  EXPECT_EQ(states(), "for_big=completed for_small=ready free=completed labelled=completed ");
  EXPECT_EQ(here.run({"run"}).exit_code, 0);
  EXPECT_EQ(states(), "for_big=completed for_small=completed free=completed labelled=completed ");
}

}  // namespace
}  // namespace torc::itest
