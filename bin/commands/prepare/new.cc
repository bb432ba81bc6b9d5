// torc new: a workflow file to start from.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "lib/base/text/quote.h"
#include "lib/store/disk/disk.h"

namespace torc::cli {
namespace {

struct Starter {
  std::string_view kind;
  std::string_view about;  // one line
  std::string_view text;   // the file
};

constexpr std::string_view kSweep =
    R"(# A parameter sweep: every combination of the parameters is one job; a last one gathers the results.
#   torc check sweep.yaml    what is wrong with it
#   torc plan sweep.yaml     what it takes
#   torc run sweep.yaml      run it here

name: sweep

jobs:
  # {rate:.2f} and {seed} stand for the values of the parameters below: 3 x 10 = 30 jobs.
  - name: train_{rate:.2f}_{seed}
    command: mkdir -p out && echo "rate {rate} seed {seed}" > out/{rate:.2f}_{seed}.txt
    # What one job needs of the node that it runs on. 'runtime' is the longest that it may take.
    cpus: 1
    memory: 100m
    runtime: 10m
    parameters:
      rate: "0.10:0.30:0.10"   # first:last:step, the last one included
      seed: "1:10"

  # Runs when all whose name begins with train_ have completed.
  - name: summary
    command: cat out/*.txt > summary.txt
    depends_on_regexes: ["^train_"]
)";

constexpr std::string_view kDiamond =
    R"(# A diamond: one job prepares, several work side by side, one joins. The order follows from the files:
# a job that writes a file runs before those that read it.

name: diamond

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

constexpr std::string_view kMpi = R"(# An MPI program on four nodes of a Slurm cluster.
# Its action asks for the allocation once the workflow is there; 'torc submit FILE' sends it.

name: mpi

# Torc starts the command once, on the first node; the launcher in the command reaches the others.
execution_config:
  mode: direct

jobs:
  - name: solve
    command: mpirun ./solver input.dat
    num_nodes: 4        # whole nodes, for this job alone
    cpus: 32            # of each node: 128 in all
    memory: 100g        # of each node
    runtime: 4h
    scheduler: large

slurm_schedulers:
  - name: large
    account: myproject
    nodes: 4
    walltime: "06:00:00"
    extra: --exclusive

# Asks Slurm for the allocation when the workflow starts.
actions:
  - trigger_type: on_workflow_start
    action_type: schedule_nodes
    scheduler: large
    scheduler_type: slurm
    num_allocations: 1
)";

constexpr std::string_view kArray =
    R"(# What a job array of Slurm does (sbatch --array=0-99), with one batch script for all of it: workers in
# its allocation run one job after the other until none is left.
#   torc init array.yaml                 makes array.torc and the batch scripts
#   sbatch array.torc/slurm/cpu.sbatch   as often as you want nodes

name: array

jobs:
  - name: task_{id:03d}
    command: ./task.sh
    cpus: 4
    memory: 8g
    runtime: 1h
    scheduler: cpu
    env:
      SLURM_ARRAY_TASK_ID: "{id}"   # for scripts that were written for an array
    parameters:
      id: "0:99"

slurm_schedulers:
  - name: cpu
    account: myproject
    partition: standard
    walltime: "08:00:00"
    extra: --exclusive    # all CPUs of the node: unless it is asked for more, Slurm gives one
)";

constexpr std::string_view kCheckpointing =
    R"(# A computation that is longer than an allocation may be, as one job that saves its state and goes on later.
#   torc run checkpointing.yaml    ends it after three seconds, and again, until it is done

name: checkpointing

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

constexpr Starter kStarters[] = {
    {"sweep", "every combination of some parameters, and a summary", kSweep},
    {"diamond", "an order that follows from files", kDiamond},
    {"array", "what a Slurm job array does", kArray},
    {"checkpointing", "a long computation that saves its state and goes on", kCheckpointing},
    {"mpi", "an MPI program on several nodes (runs once you take its action out)", kMpi},
};

struct NewOptions {
  std::string kind;  // empty: list them
  std::string file;  // empty: to stdout
};

Result<Exit> run(const App& app, const NewOptions& options) {
  if (options.kind.empty()) {
    for (const Starter& s : kStarters) say(app.out, "{:<14} {}\n", s.kind, s.about);
    say(app.out, "\ntorc new KIND FILE makes one\n");
    return Exit::ok;
  }
  const auto found = std::find_if(std::begin(kStarters), std::end(kStarters),
                                  [&](const Starter& s) { return s.kind == options.kind; });
  if (options.file.empty()) {
    say(app.out, "{}", found->text);
    return Exit::ok;
  }
  const Path path = (app.directory / options.file).lexically_normal();
  store::Disk& disk = app.world.disk;
  auto file = disk.create(path);  // fails when it is there
  if (!file) {
    if (file.error().kind != ErrorKind::exists) return file.error();
    return Error{ErrorKind::invalid, fmt::format("{} exists already", options.file),
                 "name another file, or remove it"};
  }
  store::OpenFile open(disk, *file, path);
  auto written = open.write(0, found->text);
  auto closed = open.close();
  if (!written || !closed) return written ? closed.error() : written.error();
  say(app.out, "made {}\nnext: torc check {}\n", options.file, shell_word(options.file));
  return Exit::ok;
}

}  // namespace

void add_new(Command& c) {
  auto& o = c.options<NewOptions>();
  c.about("Write a workflow file to start from");
  std::vector<std::string> kinds;
  for (const Starter& s : kStarters) kinds.emplace_back(s.kind);
  c.argument("KIND", o.kind, "without one: list them").value("KIND").choices(kinds);
  c.argument("FILE", o.file, "file to make (default: print it)").value("FILE");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
