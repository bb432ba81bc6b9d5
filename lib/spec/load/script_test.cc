// What a script stands for, and what is said of its lines.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

Loaded load_script(const std::string& text, const std::string& file = "job.sh") {
  return load(text, file, [](const std::string& path) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there is no '" + path + "'", ""};
  });
}

std::string said_of(const std::string& text, const std::string& file = "job.sh") {
  return to_text(load_script(text, file).diagnostics);
}

// The lines of the YAML without the first, a comment. Expects no diagnostics.
std::string yaml_of(const std::string& text, const std::string& file = "job.sh") {
  const Loaded loaded = load_script(text, file);
  EXPECT_EQ(to_text(loaded.diagnostics), "");
  return loaded.yaml.substr(std::min(loaded.yaml.find('\n') + 1, loaded.yaml.size()));
}

Jobs jobs_of_script(const std::string& text) {
  Loaded loaded = load_script(text);
  EXPECT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  return loaded.expansion ? render_all(*std::move(loaded.expansion)) : Jobs{};
}

TEST(Script, without_lines_of_its_own_is_one_job_and_its_input) {
  EXPECT_EQ(yaml_of("#!/bin/bash\necho hi\n"), R"(name: job
files:
  - name: script
    path: ./job.sh
jobs:
  - name: job
    command: /bin/bash ./job.sh
    input_files: [script]
)");
}

TEST(Script, is_run_as_the_kernel_would_by_its_path) {
  const auto command = [](const std::string& first, const std::string& file) {
    const Loaded loaded = load_script("#!" + first + "\n", file);
    EXPECT_TRUE(loaded.workflow) << to_text(loaded.diagnostics);
    return loaded.workflow ? loaded.workflow->jobs[0].command : "";
  };
  EXPECT_EQ(command(" /usr/bin/env python3", "fit.py"), "/usr/bin/env python3 ./fit.py");
  EXPECT_EQ(command("/usr/bin/env -S python3 -u\r", "a/fit.py"),
            "/usr/bin/env '-S python3 -u' a/fit.py");
  EXPECT_EQ(command("/bin/sh", "/data/my job.sh"), "/bin/sh '/data/my job.sh'");
  EXPECT_EQ(command("/bin/sh", "-x/job.sh"), "/bin/sh ./-x/job.sh");
}

TEST(Script, lines_of_torc_are_keys_of_the_job_or_else_of_the_workflow) {
  EXPECT_EQ(yaml_of("#!/bin/sh\n"
                    "# what it is for\n"
                    "#TORC --name fit --cpus 4 --memory=8g --runtime 30m   # as measured\n"
                    "\n"
                    "#TORC --gpus 1 --time-limit 1h --env A=1 --env 'B=x y' --max-failures 3\n"
                    "#TORC --label gpu --priority -2 --allow-missing-outputs\n"
                    "echo hi\n"),
            R"(name: fit
max_failures: 3
files:
  - name: script
    path: ./job.sh
jobs:
  - name: fit
    command: /bin/sh ./job.sh
    cpus: 4
    memory: 8g
    runtime: 30m
    gpus: 1
    time_limit: 1h
    label: gpu
    priority: -2
    allow_missing_outputs: true
    env:
      A: "1"
      B: x y
    input_files: [script]
)");
}

TEST(Script, with_an_array_is_a_sweep) {
  const Jobs jobs = jobs_of_script("#!/bin/sh\n#TORC --array 1-100%10 --output-file o/{task}\n");
  ASSERT_EQ(jobs.names.size(), 100U);
  EXPECT_EQ(jobs.names[6], "job_7");
  const auto& env = jobs.rendered[6].env;
  const auto value = [&](const std::string& name) {
    for (const auto& [key, text] : env) {
      if (key == name) return text;
    }
    return std::string("none");
  };
  EXPECT_EQ(value("SLURM_ARRAY_TASK_ID"), "7");
  EXPECT_EQ(value("TORC_ARRAY_TASK_ID"), "7");
  EXPECT_EQ(value("SLURM_ARRAY_TASK_COUNT"), "100");
  EXPECT_EQ(value("SLURM_ARRAY_TASK_MIN"), "1");
  EXPECT_EQ(value("SLURM_ARRAY_TASK_MAX"), "100");
  const Loaded loaded = load_script("#!/bin/sh\n#TORC --array 1-100%10\n");
  EXPECT_EQ(loaded.workflow->jobs[0].max_parallel, 10U);
}

TEST(Script, an_array_is_what_sbatch_takes) {
  const auto names = [](const std::string& array) {
    std::string all;
    for (const std::string& name :
         jobs_of_script("#!/bin/sh\n#SBATCH --array=" + array + "\n#TORC --name a{task}\n").names)
      all += name + " ";
    return all;
  };
  EXPECT_EQ(names("1-3"), "a1 a2 a3 ");
  EXPECT_EQ(names("0-10:4"), "a0 a4 a8 ");
  EXPECT_EQ(names("7"), "a7 ");
  EXPECT_EQ(names("1,4,7-9,4%2"), "a1 a4 a7 a8 a9 ");
  EXPECT_EQ(names("007-008"), "a7 a8 ");
  for (const std::string wrong : {"1-", "3-1", "a", "1,,2", "1-3:0", "1-3%x", "1,", "-1"}) {
    EXPECT_NE(said_of("#!/bin/sh\n#SBATCH --array=" + wrong + "\n")
                  .find("job.sh:2:17: error: '" + wrong + "' is not an array of jobs"),
              std::string::npos)
        << wrong;
  }
  EXPECT_NE(said_of("#!/bin/sh\n#SBATCH -a 1-1000000,2-3000000\n").find("several ranges"),
            std::string::npos);
}

TEST(Script, lines_of_sbatch_are_translated_and_ask_slurm_for_the_same) {
  EXPECT_EQ(yaml_of("#!/bin/bash -l\n"
                    "#SBATCH -J align -c 4 --ntasks=2\n"
                    "#SBATCH --mem-per-cpu=1G -t 1:30:00 --gres=gpu:2\n"
                    "#SBATCH -A lab --partition=long --qos=high --constraint='a&b'\n"
                    "#SBATCH --export=ALL,A=1\n"
                    "./align\n"),
            R"(name: align
files:
  - name: script
    path: ./job.sh
jobs:
  - name: align
    command: /bin/bash -l ./job.sh
    cpus: 8
    gpus: 2
    memory: 8g
    runtime: 1h30m
    scheduler: slurm
    env:
      SLURM_JOB_NAME: align
      SLURM_CPUS_PER_TASK: "4"
      SLURM_NTASKS: "2"
      A: "1"
    input_files: [script]
slurm_schedulers:
  - name: slurm
    account: lab
    partition: long
    qos: high
    walltime: "92"
    mem: 8192M
    gres: "gpu:2"
    extra: "--constraint='a&b' --cpus-per-task=8"
)");
}

TEST(Script, over_several_nodes_starts_once_as_a_batch_script_does) {
  const Loaded loaded = load_script(
      "#!/bin/sh\n#SBATCH --nodes=2 --ntasks=7 --cpus-per-task=3 --gpus=a100:3\nsrun ./x\n");
  ASSERT_TRUE(loaded.workflow) << to_text(loaded.diagnostics);
  const JobEntry& job = loaded.workflow->jobs[0];
  const Resources needs = job.needs.over(Resources{});
  EXPECT_EQ(needs.nodes, 2U);
  EXPECT_EQ(needs.cpus, 12U) << "of each node, for four of the seven tasks";
  EXPECT_EQ(job.launch.on, LaunchOn::head);
  EXPECT_EQ(job.launch.tasks_per_node, 4U);
  EXPECT_EQ(loaded.workflow->slurm_schedulers[0].nodes, 2U);
  EXPECT_EQ(loaded.workflow->slurm_schedulers[0].gres, "gpu:a100:2");
}

TEST(Script, changes_its_directory_and_knows_where_it_was_submitted) {
  const auto command = [](const std::string& lines, const std::string& file = "job.sh") {
    const Loaded loaded = load_script("#!/bin/sh\n" + lines, file);
    EXPECT_TRUE(loaded.workflow) << to_text(loaded.diagnostics);
    return loaded.workflow ? loaded.workflow->jobs[0].command : "";
  };
  EXPECT_EQ(command("#SBATCH -D /data\n"), "cd /data && /bin/sh \"$OLDPWD\"/./job.sh");
  EXPECT_EQ(command("#SBATCH -D 'my data' -i in\n", "/a/job.sh"),
            "cd 'my data' && /bin/sh /a/job.sh < in");
  EXPECT_EQ(command("#SBATCH -c 2\ncd $SLURM_SUBMIT_DIR\n"),
            "SLURM_SUBMIT_DIR=\"$PWD\" /bin/sh ./job.sh");
  EXPECT_EQ(command("#SBATCH -D x\ncd $SLURM_SUBMIT_DIR\n"),
            "export SLURM_SUBMIT_DIR=\"$PWD\" && cd x && /bin/sh \"$OLDPWD\"/./job.sh");
}

TEST(Script, lines_of_torc_win_over_those_of_sbatch) {
  const Loaded loaded = load_script(
      "#!/bin/sh\n#TORC --cpus 2 --memory 1g --name mine\n"
      "#SBATCH -c 8 --mem=8G -J theirs --account=lab\n#TORC --account other --runtime 5m\n"
      "#SBATCH --time=60\n");
  ASSERT_TRUE(loaded.workflow) << to_text(loaded.diagnostics);
  const Resources needs = loaded.workflow->jobs[0].needs.over(Resources{});
  EXPECT_EQ(loaded.workflow->name, "mine");
  EXPECT_EQ(needs.cpus, 2U);
  EXPECT_EQ(needs.memory.value, std::uint64_t{1} << 30U);
  EXPECT_EQ(needs.runtime, std::chrono::minutes(5));
  EXPECT_EQ(loaded.workflow->slurm_schedulers[0].account, "other");
}

TEST(Script, what_is_not_translated_is_named_with_its_line) {
  EXPECT_EQ(said_of("#!/bin/sh\n"
                    "#SBATCH --mail-type=END -o x.out\n"
                    "#SBATCH --nonsense=3 --cpus-per-tusk=4\n"
                    "#SBATCH --mem=0 --nodes=2-4\n"
                    "#PBS -l walltime=1\n"
                    "true\n"
                    "#SBATCH -c 9\n"
                    "#TORC --cpus 9\n"),
            R"(job.sh:2:9: note: --mail-type, --output have no effect here
    2 | #SBATCH --mail-type=END -o x.out
      |         ^~~~~~~~~~~
      = torc keeps what jobs print: `torc logs NAME` shows it
job.sh:3:9: warning: '--nonsense' of sbatch is not known here, and is left out
    3 | #SBATCH --nonsense=3 --cpus-per-tusk=4
      |         ^~~~~~~~~~
      = remove it, or say in a line of #TORC what it is for
job.sh:3:22: warning: '--cpus-per-tusk' of sbatch is not known here, and is left out
    3 | #SBATCH --nonsense=3 --cpus-per-tusk=4
      |                      ^~~~~~~~~~~~~~~
      = did you mean '--cpus-per-task'?
job.sh:4:15: warning: all the memory of a node cannot be asked for here, and is left out
    4 | #SBATCH --mem=0 --nodes=2-4
      |               ^
      = say how much the job needs: #TORC --memory 64g
job.sh:4:25: warning: a job has a fixed number of nodes: 2 of 2-4
    4 | #SBATCH --mem=0 --nodes=2-4
      |                         ^~~
      = write --nodes=2, or another number
job.sh:5:1: warning: lines of #PBS are not read
    5 | #PBS -l walltime=1
      | ^~~~
      = say the same in lines of #TORC: #TORC --cpus 4
job.sh:7:1: warning: this line comes after the first command and does not count, nor do 1 more
    7 | #SBATCH -c 9
      | ^~~~~~~~~~~~
      = write lines of #TORC and #SBATCH before all commands, below the line of #!
)");
}

TEST(Script, mistakes_are_told_with_their_place) {
  EXPECT_EQ(said_of("#!/bin/sh\n"
                    "#TORC --cpus four --mem 8g\n"
                    "#TORC --name 'a --gpus\n"
                    "#TORC --runtime soon --runtime 5m --env A\n"
                    "#SBATCH --dependency=afterok:1 --time\n"
                    "#TORC cpus\n"),
            R"(job.sh:2:14: error: 'cpus' must be a whole number, not 'four'
    2 | #TORC --cpus four --mem 8g
      |              ^~~~
      = write a whole number from 1 to 65536
job.sh:2:19: error: unknown option '--mem' of #TORC
    2 | #TORC --cpus four --mem 8g
      |                   ^~~~~
      = did you mean '--memory'?
job.sh:3:14: error: a quote that is not closed
    3 | #TORC --name 'a --gpus
      |              ^~~~~~~~~
      = close it with ' on the same line
job.sh:4:17: error: 'soon' is not a duration
    4 | #TORC --runtime soon --runtime 5m --env A
      |                 ^~~~
      = write it like PT30M, P1DT12H, 30m, 1h30m, 1:30:00 or 2-12:00:00
job.sh:4:22: error: '--runtime' is given twice
    4 | #TORC --runtime soon --runtime 5m --env A
      |                      ^~~~~~~~~
      = keep one of the two
job.sh:4:41: error: 'A' sets no variable
    4 | #TORC --runtime soon --runtime 5m --env A
      |                                         ^
      = write --env NAME=VALUE; one for each variable
job.sh:5:9: error: '--dependency' cannot be kept here
    5 | #SBATCH --dependency=afterok:1 --time
      |         ^~~~~~~~~~~~
      = write both jobs into one workflow file, and depends_on into the second one; `torc new` makes one to start from
job.sh:5:32: error: '--time' has no value
    5 | #SBATCH --dependency=afterok:1 --time
      |                                ^~~~~~
      = write --time=…, or remove it
job.sh:6:7: error: 'cpus' is not an option
    6 | #TORC cpus
      |       ^~~~
      = options begin with '--'; a value with blanks stands in quotes
)");
}

TEST(Script, a_file_that_says_what_it_is_is_none) {
  const Loaded loaded =
      load_script("#!/usr/bin/env torc\nname: w\njobs: [{name: a, command: b}]\n", "wf.yaml");
  ASSERT_TRUE(loaded.workflow);
  EXPECT_EQ(loaded.yaml, "");
  EXPECT_EQ(loaded.workflow->jobs[0].command, "b");
}

TEST(Script, what_it_stands_for_is_the_same_workflow) {
  const std::vector<std::string> scripts{
      "#!/bin/sh\n#TORC --array 1-9:2 --env 'A={task}: #x' --memory 1.5g --name {task:03d}\n",
      "#!/bin/sh\n#SBATCH -N2 -n8 --array=1,5-6%2 --gpus-per-task=a:1 -D 'x y' -i in\n"
      "echo $SLURM_SUBMIT_DIR\n",
      "#!/bin/sh\n#TORC --name true --env y=null --env n=~ --output-file 'a: b'\n"};
  for (const std::string& script : scripts) {
    Loaded from = load_script(script);
    ASSERT_TRUE(from.expansion) << to_text(from.diagnostics);
    Loaded read = load_script(from.yaml, "job.yaml");
    ASSERT_TRUE(read.expansion) << to_text(read.diagnostics) << from.yaml;
    ASSERT_EQ(from.expansion->entries.size(), read.expansion->entries.size());
    EXPECT_EQ(from.expansion->entries[0].recipe, read.expansion->entries[0].recipe);
    EXPECT_EQ(from.expansion->entries[0].resources.same_needs(read.expansion->entries[0].resources),
              true);
    EXPECT_EQ(from.workflow->slurm_schedulers.size(), read.workflow->slurm_schedulers.size());
  }
}

}  // namespace
}  // namespace torc::spec
