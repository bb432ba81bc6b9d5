#include "bin/commands/prepare/starters.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/end_margins.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/slurm/options.h"
#include "lib/spec/language/workflow.h"

namespace torc::cli {
namespace {

// @file@, @name@, @jobs@, @cpus@, @memory@, @runtime@ and @walltime@ are filled in.

constexpr std::string_view kSweep =
    R"(# A parameter sweep: each value of the parameter is one job; a last one gathers the results.
#   torc check @file@    what is wrong with it
#   torc plan @file@     what it takes
#   torc run @file@      run it here, and again later: what is missing, and nothing else

name: @name@

jobs:
  # {i} stands for the value of the parameter below: @jobs@ jobs.
  - name: run_{i}
    # Your program here. {i} may stand anywhere in it; {i:03d} is 001.
    command: mkdir -p out && echo "result of {i}" > out/{i}.txt
    # What one job needs of the node that it runs on. 'runtime' is the longest that it may take.
    cpus: @cpus@
    memory: @memory@
    runtime: @runtime@
    parameters:
      i: "1:@jobs@"             # first:last, the last one included; or a list: [1, 5, 10]
      # rate: [0.1, 0.2]    # a second one: every combination is a job; {rate} goes into name and command

  # Runs when all whose name begins with run_ have completed.
  - name: summary
    command: cat out/*.txt > summary.txt
    depends_on_regexes: ["^run_"]
)";

constexpr std::string_view kPipeline =
    R"(# A pipeline: each sample passes through two steps, and a last job joins the results. The order follows from
# the files: a job that writes a file runs before those that read it, and what has not changed does not run again.

name: @name@

# How many samples there are. "a:b" is a range; a list of names does as well: [liver, lung].
parameters:
  sample: "1:@jobs@"

files:
  - {name: "raw_{sample}", path: "work/raw_{sample}.txt", use_parameters: [sample]}
  - {name: "clean_{sample}", path: "work/clean_{sample}.txt", use_parameters: [sample]}
  - {name: result, path: result.txt}

jobs:
  # Makes its input itself, so that this file runs as it is. Yours may be there already: then leave this job out.
  - name: fetch_{sample}
    # ${files.output.NAME} is the path of the file, and says that this job writes it.
    command: mkdir -p work && seq 100 > ${files.output.raw_{sample}}
    use_parameters: [sample]

  - name: clean_{sample}
    command: sort -n ${files.input.raw_{sample}} | head -n 10 > ${files.output.clean_{sample}}
    # What one job needs of the node that it runs on. 'runtime' is the longest that it may take.
    cpus: @cpus@
    memory: @memory@
    runtime: @runtime@
    use_parameters: [sample]

  - name: join
    # All of its input files by an expression, one of its output by name.
    command: cat work/clean_*.txt > ${files.output.result}
    input_file_regexes: ["^clean_"]
)";

constexpr std::string_view kDiamond =
    R"(# A diamond: one job prepares, several work side by side, one joins. The order follows from the files:
# a job that writes a file runs before those that read it.

name: @name@

files:
  - {name: source, path: work/source.txt}
  - name: part_{k}
    path: work/part_{k}.txt
    parameters: {k: [left, right]}
  - {name: result, path: result.txt}

jobs:
  - name: prepare
    # ${files.output.source} is the path of the file, and says that this job writes it.
    command: mkdir -p work && seq 100 > ${files.output.source}

  - name: work_{k}
    command: sort -R ${files.input.source} | head -n 10 > ${files.output.part_{k}}
    parameters: {k: [left, right]}

  - name: join
    # Two files, one at a time.
    command: cat ${files.input.part_left} ${files.input.part_right} > ${files.output.result}
)";

constexpr std::string_view kScript = R"(#!/bin/bash
# One script as an array of jobs. Lines of #TORC say what each job needs; they stand before all commands.
#   torc run @file@            run it here, and again later: what is missing, and nothing else
#   torc check @file@ --yaml   the workflow file that it stands for, to go on with
# A script that was written for sbatch needs no such lines: those of #SBATCH are read as well.
#
#TORC --name @name@
#TORC --array 1-@jobs@       # and %10 behind it: ten at a time
#TORC --cpus @cpus@ --memory @memory@ --runtime @runtime@

# Commands stop at the first mistake, also within a pipe.
set -euo pipefail

# The number of this job. SLURM_ARRAY_TASK_ID says the same.
task=$TORC_ARRAY_TASK_ID

# Your program here.
mkdir -p out
echo "result of $task, CPUs: $TORC_NUM_CPUS" > "out/$task.txt"
)";

constexpr std::string_view kArray =
    R"(# What a job array of Slurm does (sbatch --array=1-@jobs@), with one batch script for all of it: workers in
# its allocation run one job after the other until none is left.
#   torc run @file@      runs it here
#   torc submit @file@   asks Slurm for nodes as its jobs need them; set your account before

name: @name@

jobs:
  - name: task_{id:03d}
    command: mkdir -p out && echo "task $SLURM_ARRAY_TASK_ID" > out/{id}.txt   # your script: ./task.sh
    cpus: @cpus@
    memory: @memory@
    runtime: @runtime@
    scheduler: cpu
    env:
      SLURM_ARRAY_TASK_ID: "{id}"   # for scripts that were written for an array
    parameters:
      id: "1:@jobs@"

slurm_schedulers:
  - name: cpu
    account: myproject
    partition: standard
    walltime: "08:00:00"
    extra: --exclusive    # all CPUs of the node: unless it is asked for more, Slurm gives one
)";

constexpr std::string_view kMpiHere =
    R"(# An MPI program on one node, with as many processes as CPUs.
#   torc run @file@      runs it here

name: @name@

jobs:
  - name: solve
    # Run before the command, in the same shell: `module load openmpi` goes here, too.
    invocation_script: |
      set -e
      command -v mpirun > /dev/null || {
        echo "there is no mpirun here: load its module in the line above (module load openmpi), or install Open MPI or MPICH" >&2
        exit 127
      }
    # Your program in place of hostname.
    command: mpirun -n @cpus@ hostname
    cpus: @cpus@
    memory: @memory@
    runtime: @runtime@

# On several nodes of a cluster: `torc new mpi`, which has num_nodes and what is asked of Slurm.
)";

constexpr std::string_view kMpi = R"(# An MPI program on @jobs@ nodes of a Slurm cluster.
#   torc submit @file@   asks for the nodes when the workflow is there; set your account before

name: @name@

jobs:
  - name: solve
    # Run before the command, in the same shell: `module load openmpi` goes here, too.
    invocation_script: |
      set -e
      command -v mpirun > /dev/null || {
        echo "there is no mpirun here: load its module in the line above (module load openmpi), or install Open MPI or MPICH" >&2
        exit 127
      }
    # Torc starts the command once, on the first node; mpirun reaches the others. Your program in place of hostname.
    command: mpirun hostname
    num_nodes: @jobs@        # whole nodes, for this job alone
    cpus: @cpus@            # of each node
    memory: @memory@        # of each node
    runtime: @runtime@
    scheduler: large

slurm_schedulers:
  - name: large
    account: myproject
    nodes: @jobs@
    walltime: "@walltime@"
    extra: --exclusive
)";

constexpr std::string_view kCheckpointing =
    R"(# A computation that is longer than an allocation may be, as one job that saves its state and goes on later.
#   torc run @file@    ends it after three seconds, and again, until it is done

name: @name@

# A job that comes to its runtime, or whose worker must leave, gets this signal and so much time to save.
execution_config:
  termination_signal: SIGTERM
  sigterm_lead_seconds: 10

jobs:
  - name: simulate
    cpus: 1
    memory: 100m
    runtime: 3s         # so short that you can watch it; in earnest hours, as 3h30m
    # By this exit code it says that it saved its state: torc runs the same command again, here or in the next
    # allocation, and it finds the checkpoint. That is no failure, and uses up no retries.
    checkpoint_exit_code: 85
    command: |
      state=checkpoint.txt
      step=$(cat $state 2> /dev/null || echo 0)
      echo "from step $step" >> legs.txt
      trap 'echo $step > $state.new && mv $state.new $state && exit 85' TERM
      while [ $step -lt 6 ]; do
        sleep 1                    # the work of one step
        step=$((step + 1))
      done
      echo "$step steps" > result.txt

# On a cluster: add a scheduler, bind the job to it with 'scheduler: night', and submit its script, which
# 'torc init' writes, as often as it takes.
#
# slurm_schedulers:
#   - name: night
#     account: myproject
#     walltime: "04:00:00"
#     serialize_allocations: true   # one allocation after the other
)";

}  // namespace

std::span<const Starter> starters() {
  static const Starter kAll[] = {
      {"sweep", ".yaml", "every value of a parameter, and a summary", "jobs", {.jobs = 10}, kSweep},
      {"pipeline",
       ".yaml",
       "steps that hand over files, for each sample",
       "samples",
       {.jobs = 4},
       kPipeline},
      {"script", ".sh", "one script as an array of jobs", "jobs", {.jobs = 10}, kScript},
      {"mpi",
       ".yaml",
       "an MPI program, on one node or on several",
       "nodes",
       {.jobs = 4, .cpus = 32, .memory = "100g", .runtime = "4h"},
       kMpi,
       kMpiHere},
      {"diamond", ".yaml", "an order that follows from files", "", {}, kDiamond},
      {"array", ".yaml", "what a Slurm job array does", "jobs", {.jobs = 100}, kArray},
      {"checkpointing",
       ".yaml",
       "a long computation that saves its state and goes on",
       "",
       {},
       kCheckpointing},
  };
  return kAll;
}

StarterValues usual_values(const Starter& starter) {
  StarterValues values = starter.usual;
  values.name = starter.kind;
  return values;
}

std::string fill(const Starter& starter, const StarterValues& values, const std::string& file) {
  const bool alone = values.jobs == 1 && !starter.of_one.empty();
  const auto runtime = parse_spec_duration(values.runtime);
  const auto walltime = shortest_walltime(runtime ? *runtime : std::chrono::hours(1),
                                          spec::RunSettings{}.kept_free());
  const std::pair<std::string_view, std::string> words[] = {
      {"file", file.empty() ? "FILE" : shell_word(file)},
      {"name", values.name},
      {"jobs", std::to_string(values.jobs)},
      {"cpus", std::to_string(values.cpus)},
      {"memory", values.memory},
      {"runtime", values.runtime},
      {"walltime", slurm::show_walltime(walltime)}};
  std::string_view text = alone ? starter.of_one : starter.text;
  std::string filled;
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@')) {
    filled += text.substr(0, at);
    text.remove_prefix(at);
    const std::size_t end = text.find('@', 1);
    const auto* const word =
        std::find_if(std::begin(words), std::end(words), [&](const auto& pair) {
          return end != std::string_view::npos && text.substr(1, end - 1) == pair.first;
        });
    if (word == std::end(words)) {
      filled += '@';
      text.remove_prefix(1);
    } else {
      filled += word->second;
      text.remove_prefix(end + 1);
    }
  }
  return filled.append(text);
}

}  // namespace torc::cli
