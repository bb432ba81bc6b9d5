#include "lib/spec/language/language.h"

#include <algorithm>
#include <array>

#include "lib/base/text/text.h"

namespace torc::spec {
namespace {

constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMinInt32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMaxSeconds = 86'400;
constexpr std::int64_t kMaxCpus = 65'536;
constexpr std::int64_t kMaxGpus = 1024;
constexpr std::int64_t kMaxNodesOfJob = 1'000'000;
constexpr std::int64_t kMaxAllocations = 10'000;

constexpr Support kIgnored = Support::ignored;
constexpr Support kPlanned = Support::planned;

constexpr std::string_view kStdioModes = "separate combined no_stdout no_stderr none packed";

constexpr auto kLanguage = std::to_array<Key>({
    // clang-format off
    // The workflow.
    {.where = Where::workflow, .name = "name", .type = Type::word, .required = true, .about = "names the workflow and its store"},
    {.where = Where::workflow, .name = "user", .about = "whose it is"},
    {.where = Where::workflow, .name = "description", .type = Type::prose, .about = "what it is for"},
    {.where = Where::workflow, .name = "project", .about = "what it belongs to"},
    {.where = Where::workflow, .name = "metadata", .type = Type::json, .about = "kept as it is, for you"},
    {.where = Where::workflow, .name = "parameters", .type = Type::parameters, .about = "parameters that jobs and files take with use_parameters"},
    {.where = Where::workflow, .name = "parameters_file", .type = Type::word, .about = "a table in CSV, JSON or JSON lines, whose columns are parameters that jobs, files and user data take with use_parameters_file"},
    {.where = Where::workflow, .name = "variables", .type = Type::constants, .about = "constants put in for {name} everywhere"},
    {.where = Where::workflow, .name = "env", .type = Type::environment, .about = "environment of every job"},
    {.where = Where::workflow, .name = "jobs", .type = Type::maps, .required = true, .child = Where::job, .about = "what to run"},
    {.where = Where::workflow, .name = "files", .type = Type::maps, .child = Where::file, .about = "files that jobs read and write; they order the jobs"},
    {.where = Where::workflow, .name = "datasets", .type = Type::maps, .child = Where::dataset, .about = "directories that several jobs fill together; who reads one waits for all of them"},
    {.where = Where::workflow, .name = "user_data", .type = Type::maps, .child = Where::user_data, .about = "small JSON values that jobs read and write with torc data"},
    {.where = Where::workflow, .name = "resource_requirements", .type = Type::maps, .child = Where::resources, .about = "named sets of what a job needs"},
    {.where = Where::workflow, .name = "failure_handlers", .type = Type::maps, .child = Where::failure_handler, .about = "what to do when a job fails"},
    {.where = Where::workflow, .name = "slurm_schedulers", .type = Type::maps, .child = Where::scheduler, .about = "named sets of sbatch options; each gets a batch script"},
    {.where = Where::workflow, .name = "schedulers", .type = Type::maps, .child = Where::scheduler, .same_as = "slurm_schedulers", .about = "named sets of what is asked of the batch system"},
    {.where = Where::workflow, .name = "launcher", .type = Type::word, .about = "the batch system that allocations are asked of: slurm, gridengine, pbs, torque, lsf, htcondor, or the file that describes another one, ./our-queue.yaml; slurm"},
    {.where = Where::workflow, .name = "slurm_defaults", .type = Type::options, .about = "long sbatch options for every scheduler"},
    {.where = Where::workflow, .name = "actions", .type = Type::maps, .child = Where::action, .about = "what to do when something happens: submit allocations, run commands"},
    {.where = Where::workflow, .name = "resource_monitor", .type = Type::map, .child = Where::monitor, .about = "how closely jobs are measured"},
    {.where = Where::workflow, .name = "execution_config", .type = Type::map, .child = Where::execution, .about = "how jobs are run and ended"},
    {.where = Where::workflow, .name = "on_failure", .type = Type::choice, .choices = "leave recover", .about = "recover: what failed for want of memory or time, or for a node or a network, runs again by itself; leave"},
    {.where = Where::workflow, .name = "max_recoveries", .type = Type::integer, .min = 1, .max = 1000, .about = "how often on_failure recovers one job; 3"},
    {.where = Where::workflow, .name = "use_pending_failed", .type = Type::boolean, .about = "a failed job that no rule of a handler is for waits for a decision: torc retry, or torc cancel; false"},
    {.where = Where::workflow, .name = "rerun_triggers", .type = Type::selection, .choices = "command inputs params upstream", .about = "what makes results count no more when it changes in this file; all four"},
    {.where = Where::workflow, .name = "compute_node_wait_for_new_jobs_seconds", .type = Type::integer, .min = 0, .max = kMaxInt32, .about = "how long a worker waits for new jobs when the workflow is finished; 0"},
    {.where = Where::workflow, .name = "compute_node_ignore_workflow_completion", .type = Type::boolean, .about = "workers of allocations stay when the workflow is finished, until their time is up; false"},
    {.where = Where::workflow, .name = "compute_node_expiration_buffer_seconds", .type = Type::integer, .min = 0, .max = kMaxSeconds, .about = "time kept free at the end of an allocation, if it is more than sigkill_headroom_seconds"},
    {.where = Where::workflow, .name = "jobs_sort_method", .type = Type::choice, .choices = "none gpus_runtime_memory gpus_memory_runtime", .about = "order of ready jobs of equal priority"},
    {.where = Where::workflow, .name = "max_failures", .type = Type::integer, .min = 1, .max = kMaxInt32, .about = "failed jobs after which nothing more is started"},
    {.where = Where::workflow, .name = "dynamic_jobs", .type = Type::map, .child = Where::dynamic_jobs, .about = "jobs that add jobs"},
    {.where = Where::workflow, .name = "budget", .type = Type::map, .child = Where::budget, .about = "what the workflow may use"},
    {.where = Where::workflow, .name = "lease", .type = Type::map, .child = Where::lease, .about = "when a silent worker counts as lost"},
    {.where = Where::workflow, .name = "limits", .type = Type::counts, .min = 1, .max = kMaxInt32, .about = "how many jobs of an entry run at a time, by its name as written; or how much there is of what jobs name in their limits"},
    {.where = Where::workflow, .name = "max_parallel", .type = Type::integer, .min = 1, .max = kMaxInt32, .about = "at most so many jobs of the workflow run at a time"},
    {.where = Where::workflow, .name = "learn_runtimes", .type = Type::boolean, .about = "what jobs of an entry have taken counts in place of the runtime that they declare; false"},
    {.where = Where::workflow, .name = "allow_missing_outputs", .type = Type::boolean, .about = "jobs complete by exit code 0 alone, also where a file of their output_files was not made; false"},
    {.where = Where::workflow, .name = "access_groups", .type = Type::any, .support = kIgnored, .about = "there is no server; who may read the store's directory may see the workflow"},
    {.where = Where::workflow, .name = "enable_ro_crate", .type = Type::any, .support = kIgnored, .about = "`torc export --ro-crate DIR` writes a crate, also while jobs run"},
    {.where = Where::workflow, .name = "compute_node_wait_for_healthy_database_minutes", .type = Type::any, .support = kIgnored, .about = "there is no server to wait for"},

    // A job.
    {.where = Where::job, .name = "name", .type = Type::word, .required = true, .about = "unique in the workflow"},
    {.where = Where::job, .name = "was", .type = Type::word, .about = "the name that it had in an earlier version of the file: it keeps its results"},
    {.where = Where::job, .name = "command", .type = Type::text, .required = true, .about = "run by the shell"},
    {.where = Where::job, .name = "priority", .type = Type::integer, .min = kMinInt32, .max = kMaxInt32, .about = "higher first; 0"},
    {.where = Where::job, .name = "invocation_script", .type = Type::prose, .about = "one line stands before the command; several lines are run before it, in the same shell"},
    {.where = Where::job, .name = "env", .type = Type::environment, .about = "wins over the workflow's"},
    {.where = Where::job, .name = "resource_requirements", .type = Type::word, .about = "a name; without: 1 CPU, 1 MiB"},
    {.where = Where::job, .name = "num_cpus", .type = Type::integer, .min = 1, .max = kMaxCpus, .about = "CPUs of a node; this and those below win over those of resource_requirements"},
    {.where = Where::job, .name = "cpus", .type = Type::integer, .min = 1, .max = kMaxCpus, .same_as = "num_cpus"},
    {.where = Where::job, .name = "num_gpus", .type = Type::gpus, .min = 0, .max = kMaxGpus, .about = "GPUs of a node, or a part of one"},
    {.where = Where::job, .name = "gpus", .type = Type::gpus, .min = 0, .max = kMaxGpus, .same_as = "num_gpus"},
    {.where = Where::job, .name = "resources", .type = Type::amounts, .about = "what else it needs of a node, by name"},
    {.where = Where::job, .name = "locality", .type = Type::choice, .choices = "preferred strict scatter", .about = "of several GPUs, or pieces of another resource: of as few groups (NUMA nodes) as are free, of no more than it takes or else it waits, or spread over them; preferred"},
    {.where = Where::job, .name = "num_nodes", .type = Type::integer, .min = 1, .max = kMaxNodesOfJob, .about = "whole nodes"},
    {.where = Where::job, .name = "memory", .type = Type::memory, .about = "of a node"},
    {.where = Where::job, .name = "runtime", .type = Type::duration, .about = "how long it runs; it is ended then, unless it has a time_limit"},
    {.where = Where::job, .name = "time_limit", .type = Type::duration, .about = "when it is ended"},
    {.where = Where::job, .name = "min_time", .type = Type::duration, .about = "of a job that goes on from its checkpoint: the time that must be left for it to start"},
    {.where = Where::job, .name = "one_of", .type = Type::maps, .child = Where::alternative, .about = "alternatives, each with needs of its own beside those of the job: a job has the first that fits where it starts"},
    {.where = Where::job, .name = "failure_handler", .type = Type::word, .about = "a name of failure_handlers"},
    {.where = Where::job, .name = "scheduler", .type = Type::word, .about = "a name of slurm_schedulers; without: any worker"},
    {.where = Where::job, .name = "slurm_scheduler", .type = Type::word, .same_as = "scheduler"},
    {.where = Where::job, .name = "label", .type = Type::word, .about = "only workers with this label run it"},
    {.where = Where::job, .name = "labels", .type = Type::names, .about = "only workers with all of these labels run it"},
    {.where = Where::job, .name = "limits", .type = Type::shares, .min = 1, .max = kMaxInt32, .about = "how much it has of each of the workflow's limits while it runs"},
    {.where = Where::job, .name = "cancel_on_blocking_job_failure", .type = Type::boolean, .about = "canceled when a dependency fails"},
    {.where = Where::job, .name = "supports_termination", .type = Type::boolean, .support = kIgnored, .about = "every job gets termination_signal before SIGKILL"},
    {.where = Where::job, .name = "depends_on", .type = Type::names, .about = "names of jobs that must complete before"},
    {.where = Where::job, .name = "depends_on_regexes", .type = Type::names, .about = "the same, by RE2 expressions found in the name"},
    {.where = Where::job, .name = "input_files", .type = Type::names, .about = "names of files; their writers complete before"},
    {.where = Where::job, .name = "output_files", .type = Type::names, .about = "names of files that it writes"},
    {.where = Where::job, .name = "input_file_regexes", .type = Type::names, .about = "the same, by RE2 expressions"},
    {.where = Where::job, .name = "output_file_regexes", .type = Type::names, .about = "the same, by RE2 expressions"},
    {.where = Where::job, .name = "input_datasets", .type = Type::names, .about = "names of datasets; all jobs that write into them complete before"},
    {.where = Where::job, .name = "output_datasets", .type = Type::names, .about = "names of datasets that it writes into, beside others"},
    {.where = Where::job, .name = "input_user_data", .type = Type::names, .about = "names of user data; their writers complete before"},
    {.where = Where::job, .name = "output_user_data", .type = Type::names, .about = "names of user data that it writes"},
    {.where = Where::job, .name = "input_user_data_regexes", .type = Type::names, .about = "the same, by RE2 expressions"},
    {.where = Where::job, .name = "output_user_data_regexes", .type = Type::names, .about = "the same, by RE2 expressions"},
    {.where = Where::job, .name = "parameters", .type = Type::parameters, .about = "one job for each combination"},
    {.where = Where::job, .name = "parameter_mode", .type = Type::choice, .choices = "product zip", .about = "every combination, or the first of each, the second of each, …"},
    {.where = Where::job, .name = "use_parameters", .type = Type::names, .about = "parameters of the workflow to take"},
    {.where = Where::job, .name = "parameters_file", .type = Type::word, .about = "a table: one job for each of its rows"},
    {.where = Where::job, .name = "use_parameters_file", .type = Type::boolean, .about = "takes the columns of the workflow's parameters_file; false"},
    {.where = Where::job, .name = "stdio", .type = Type::map, .child = Where::stdio, .about = "in place of the workflow's"},
    {.where = Where::job, .name = "depends", .type = Type::map, .child = Where::depends, .about = "names of jobs, by the condition on which this one starts"},
    {.where = Where::job, .name = "max_parallel", .type = Type::integer, .min = 1, .max = kMaxInt32, .about = "at most so many jobs of this entry run at a time"},
    {.where = Where::job, .name = "crash_limit", .type = Type::integer, .min = 1, .max = 1000, .about = "attempts that may end with the loss of their worker; 5"},
    {.where = Where::job, .name = "checkpoint_exit_code", .type = Type::integer, .min = 1, .max = 255, .about = "of a job that saved its state when it was told to end; it goes on later"},
    {.where = Where::job, .name = "allow_missing_outputs", .type = Type::boolean, .about = "it completes by exit code 0 alone, also where a file of its output_files was not made; without: as the workflow has it"},
    {.where = Where::job, .name = "launch", .type = Type::choice, .choices = "head all", .about = "where the command of a job of several nodes is started; without: on the head, below Slurm as a step"},
    {.where = Where::job, .name = "launch_end", .type = Type::choice, .choices = "first_failure all", .about = "with launch: all; when one node's command fails the others end, or run on: first_failure"},
    {.where = Where::job, .name = "ntasks_per_node", .type = Type::integer, .min = 1, .max = kMaxCpus, .about = "of a job of several nodes, as its launcher is told; without: num_cpus"},

    // A file.
    {.where = Where::file, .name = "name", .type = Type::word, .required = true, .about = "unique in the workflow"},
    {.where = Where::file, .name = "path", .type = Type::word, .required = true, .about = "where it is"},
    {.where = Where::file, .name = "parameters", .type = Type::parameters, .about = "one file for each combination"},
    {.where = Where::file, .name = "parameter_mode", .type = Type::choice, .choices = "product zip"},
    {.where = Where::file, .name = "use_parameters", .type = Type::names},
    {.where = Where::file, .name = "parameters_file", .type = Type::word, .about = "a table: one file for each of its rows"},
    {.where = Where::file, .name = "use_parameters_file", .type = Type::boolean, .about = "takes the columns of the workflow's parameters_file; false"},
    {.where = Where::file, .name = "identifier", .type = Type::word, .support = kIgnored, .about = "no command of this version writes it"},
    {.where = Where::file, .name = "st_mtime", .type = Type::any, .support = kIgnored, .about = "the time of the file itself counts"},

    // A dataset.
    {.where = Where::dataset, .name = "name", .type = Type::word, .required = true, .about = "unique in the workflow"},
    {.where = Where::dataset, .name = "path", .type = Type::word, .required = true, .about = "of the directory, for you: nothing is looked up there"},
    {.where = Where::dataset, .name = "description", .type = Type::prose, .about = "kept for you"},
    {.where = Where::dataset, .name = "hash_mode", .type = Type::choice, .support = kIgnored, .choices = "manifest content none", .about = "what a dataset holds is not compared; `torc reinit` looks at files"},

    // A set of resource requirements, all of one node.
    {.where = Where::resources, .name = "name", .type = Type::word, .required = true},
    {.where = Where::resources, .name = "num_cpus", .type = Type::integer, .min = 1, .max = kMaxCpus, .about = "1"},
    {.where = Where::resources, .name = "cpus", .type = Type::integer, .min = 1, .max = kMaxCpus, .same_as = "num_cpus"},
    {.where = Where::resources, .name = "num_gpus", .type = Type::gpus, .min = 0, .max = kMaxGpus, .about = "0; a part, such as 0.25, of one that jobs share; or all of the node"},
    {.where = Where::resources, .name = "gpus", .type = Type::gpus, .min = 0, .max = kMaxGpus, .same_as = "num_gpus"},
    {.where = Where::resources, .name = "resources", .type = Type::amounts, .about = "what else it needs of a node, by name: an amount such as 2 or 0.5, or all; 'gpus/a100': 2 is of GPUs of that type"},
    {.where = Where::resources, .name = "locality", .type = Type::choice, .choices = "preferred strict scatter", .about = "of several GPUs, or pieces of another resource: of as few groups (NUMA nodes) as are free, of no more than it takes or else it waits, or spread over them; preferred"},
    {.where = Where::resources, .name = "num_nodes", .type = Type::integer, .min = 1, .max = kMaxNodesOfJob, .about = "1"},
    {.where = Where::resources, .name = "memory", .type = Type::memory, .about = "1 MiB"},
    {.where = Where::resources, .name = "runtime", .type = Type::duration, .about = "how long it runs; it is ended then, unless it has a time_limit; without either: not limited"},
    {.where = Where::resources, .name = "time_limit", .type = Type::duration, .about = "when it is ended; without: its runtime"},
    {.where = Where::resources, .name = "min_time", .type = Type::duration, .about = "of a job that goes on from its checkpoint: the time that must be left for it to start; without: its runtime"},
    {.where = Where::resources, .name = "one_of", .type = Type::maps, .child = Where::alternative, .about = "alternatives, each with needs of its own beside those of the set: a job has the first that fits where it starts"},

    // An alternative of one_of.
    {.where = Where::alternative, .name = "num_cpus", .type = Type::integer, .min = 1, .max = kMaxCpus, .about = "this and those below win over those beside one_of"},
    {.where = Where::alternative, .name = "cpus", .type = Type::integer, .min = 1, .max = kMaxCpus, .same_as = "num_cpus"},
    {.where = Where::alternative, .name = "num_gpus", .type = Type::gpus, .min = 0, .max = kMaxGpus},
    {.where = Where::alternative, .name = "gpus", .type = Type::gpus, .min = 0, .max = kMaxGpus, .same_as = "num_gpus"},
    {.where = Where::alternative, .name = "resources", .type = Type::amounts},
    {.where = Where::alternative, .name = "locality", .type = Type::choice, .choices = "preferred strict scatter"},
    {.where = Where::alternative, .name = "memory", .type = Type::memory},
    {.where = Where::alternative, .name = "runtime", .type = Type::duration},
    {.where = Where::alternative, .name = "time_limit", .type = Type::duration},
    {.where = Where::alternative, .name = "min_time", .type = Type::duration},
    {.where = Where::alternative, .name = "weight", .type = Type::integer, .min = 0, .max = 1'000'000, .about = "the heaviest is tried first, of equal ones the first; 1"},
    {.where = Where::alternative, .name = "command", .type = Type::text, .about = "in place of the job's; not in a set of resource requirements"},

    // A Slurm scheduler.
    {.where = Where::scheduler, .name = "name", .type = Type::word, .required = true},
    {.where = Where::scheduler, .name = "account", .type = Type::word},
    {.where = Where::scheduler, .name = "partition", .type = Type::word},
    {.where = Where::scheduler, .name = "nodes", .type = Type::integer, .min = 1, .max = kMaxNodesOfJob, .about = "1"},
    {.where = Where::scheduler, .name = "num_nodes", .type = Type::integer, .min = 1, .max = kMaxNodesOfJob, .same_as = "nodes"},
    {.where = Where::scheduler, .name = "walltime", .type = Type::walltime},
    {.where = Where::scheduler, .name = "mem", .type = Type::word, .about = "memory of a node: 64G"},
    {.where = Where::scheduler, .name = "gres", .type = Type::word, .about = "gpu:2"},
    {.where = Where::scheduler, .name = "qos", .type = Type::word},
    {.where = Where::scheduler, .name = "ntasks_per_node", .type = Type::integer, .min = 1, .max = kMaxCpus},
    {.where = Where::scheduler, .name = "tmp", .type = Type::word, .about = "local disk of a node: 100G"},
    {.where = Where::scheduler, .name = "extra", .type = Type::line, .about = "further sbatch options"},
    {.where = Where::scheduler, .name = "options", .type = Type::names, .about = "of another launcher than slurm: what each batch script asks of it, a line of options each: -pe smp 2 -l mem_free=8G"},
    {.where = Where::scheduler, .name = "serialize_allocations", .type = Type::boolean, .about = "at most one allocation of it runs"},

    {.where = Where::scheduler, .name = "allocate", .type = Type::map, .child = Where::allocate, .about = "when torc itself asks for allocations of it, and how many; without: only when it is told to"},
    {.where = Where::scheduler, .name = "submit_from", .type = Type::choice, .choices = "anywhere login", .about = "login: compute nodes may not submit, so only commands on other machines do; anywhere"},

    // When allocations of a scheduler are asked for.
    {.where = Where::allocate, .name = "min", .type = Type::integer, .min = 0, .max = kMaxAllocations, .about = "allocations that are there as long as anything is left for them; 0"},
    {.where = Where::allocate, .name = "max", .type = Type::integer, .min = 1, .max = kMaxAllocations, .about = "at most so many at once, queued or running; 16, with serialize_allocations 2"},
    {.where = Where::allocate, .name = "max_queued", .type = Type::integer, .min = 1, .max = kMaxAllocations, .about = "of these, that wait in the queue; 4, with serialize_allocations 1"},
    {.where = Where::allocate, .name = "backlog", .type = Type::integer, .min = 0, .max = kMaxAllocations, .about = "of these, that jobs may ask for which are not ready yet, but will be soon; 0"},
    {.where = Where::allocate, .name = "min_utilization", .type = Type::fraction, .about = "what of its core-hours jobs must be expected to fill, for an allocation to be asked for; 0.5"},
    {.where = Where::allocate, .name = "workers_idle", .type = Type::duration, .about = "an allocation whose workers have had nothing to do for so long ends; PT5S or more, PT30S"},
    {.where = Where::allocate, .name = "budget", .type = Type::map, .child = Where::budget, .about = "what all allocations of the scheduler may be granted together"},

    // execution_config.
    {.where = Where::execution, .name = "mode", .type = Type::choice, .choices = "direct slurm auto", .about = "slurm: each job is a step of Slurm, made by srun; auto: as direct, but jobs of several nodes are steps"},
    {.where = Where::execution, .name = "limit_resources", .type = Type::boolean, .mode = "direct", .about = "end jobs beyond their declared runtime or memory; true"},
    {.where = Where::execution, .name = "termination_signal", .type = Type::signal, .mode = "direct", .about = "SIGTERM"},
    {.where = Where::execution, .name = "sigterm_lead_seconds", .type = Type::integer, .min = 0, .max = kMaxSeconds, .mode = "direct", .about = "from that signal to SIGKILL; 30"},
    {.where = Where::execution, .name = "sigkill_headroom_seconds", .type = Type::integer, .min = 0, .max = kMaxSeconds, .about = "from SIGKILL to the end of the allocation; 60"},
    {.where = Where::execution, .name = "timeout_exit_code", .type = Type::integer, .min = 1, .max = 255, .about = "152"},
    {.where = Where::execution, .name = "oom_exit_code", .type = Type::integer, .min = 1, .max = 255, .mode = "direct", .about = "of a job that used more memory than it declared; 137"},
    {.where = Where::execution, .name = "srun_termination_signal", .type = Type::signal_ahead, .mode = "slurm", .about = "TERM@120: the signal, and seconds before the time limit or the end of the allocation"},
    {.where = Where::execution, .name = "enable_cpu_bind", .type = Type::boolean, .about = "each job runs on CPUs of its own, near each other; false"},
    {.where = Where::execution, .name = "srun_mpi", .type = Type::word, .mode = "direct", .about = "of the srun that starts the workers, and of the step that a job of several nodes is, as --mpi takes it"},
    {.where = Where::execution, .name = "staggered_start", .type = Type::boolean, .about = "workers claim their first jobs one after the other, within a minute; false"},
    {.where = Where::execution, .name = "stdio", .type = Type::map, .child = Where::stdio, .about = "what becomes of the jobs' output"},

    {.where = Where::execution, .name = "job_stdio_overrides", .type = Type::named_maps, .child = Where::stdio, .about = "in place of this stdio, by the name of an entry of jobs; a job's own stdio wins"},

    // stdio.
    {.where = Where::stdio, .name = "mode", .type = Type::choice, .choices = kStdioModes, .about = "separate; packed in a workflow of more than 1,000 jobs"},
    {.where = Where::stdio, .name = "delete_on_success", .type = Type::boolean, .about = "false"},

    // What `depends` holds: conditions, as Slurm names them.
    {.where = Where::depends, .name = "afterok", .type = Type::names, .about = "they completed: the same as depends_on"},
    {.where = Where::depends, .name = "afternotok", .type = Type::names, .about = "they failed"},
    {.where = Where::depends, .name = "afterany", .type = Type::names, .about = "they ended, whatever became of them"},
    {.where = Where::depends, .name = "after", .type = Type::names, .about = "they started"},

    // User data.
    {.where = Where::user_data, .name = "name", .type = Type::word, .required = true, .about = "unique in the workflow"},
    {.where = Where::user_data, .name = "data", .type = Type::value, .about = "what it holds at first; texts in it may hold placeholders"},
    {.where = Where::user_data, .name = "parameters", .type = Type::parameters, .about = "one value for each combination"},
    {.where = Where::user_data, .name = "parameter_mode", .type = Type::choice, .choices = "product zip"},
    {.where = Where::user_data, .name = "use_parameters", .type = Type::names},
    {.where = Where::user_data, .name = "parameters_file", .type = Type::word, .about = "a table: one value for each of its rows"},
    {.where = Where::user_data, .name = "use_parameters_file", .type = Type::boolean, .about = "takes the columns of the workflow's parameters_file; false"},
    {.where = Where::user_data, .name = "is_ephemeral", .type = Type::boolean, .about = "back to what it held at first when the job that outputs it is to run again; false"},

    {.where = Where::dynamic_jobs, .name = "max_iterations", .type = Type::integer, .min = 1, .max = kMaxInt32, .about = "of one lineage"},

    // An action.
    {.where = Where::action, .name = "trigger_type", .type = Type::choice, .required = true, .choices = "on_workflow_start on_workflow_complete on_jobs_ready on_jobs_complete on_worker_start on_worker_complete"},
    {.where = Where::action, .name = "action_type", .type = Type::choice, .required = true, .choices = "run_commands schedule_nodes"},
    {.where = Where::action, .name = "jobs", .type = Type::names, .about = "of on_jobs_ready and on_jobs_complete: all of them must be"},
    {.where = Where::action, .name = "job_name_regexes", .type = Type::names, .about = "the same, by RE2 expressions"},
    {.where = Where::action, .name = "commands", .type = Type::names, .about = "of run_commands: one after the other, until one fails"},
    {.where = Where::action, .name = "scheduler", .type = Type::word, .about = "of schedule_nodes: a name of slurm_schedulers"},
    {.where = Where::action, .name = "scheduler_type", .type = Type::choice, .choices = "slurm local", .planned = "local", .instead = "start workers yourself, with `torc worker`"},
    {.where = Where::action, .name = "num_allocations", .type = Type::integer, .min = 1, .max = kMaxAllocations, .about = "1"},
    {.where = Where::action, .name = "start_one_worker_per_node", .type = Type::boolean, .about = "not in mode slurm; there is one worker a node in any case"},
    {.where = Where::action, .name = "max_parallel_jobs", .type = Type::integer, .min = 1, .max = kMaxInt32, .about = "of each worker, whatever its jobs need"},
    {.where = Where::action, .name = "persistent", .type = Type::boolean, .about = "runs again when its trigger comes true again, after a reset; false"},

    // A failure handler.
    {.where = Where::failure_handler, .name = "name", .type = Type::word, .required = true, .about = "unique in the workflow"},
    {.where = Where::failure_handler, .name = "rules", .type = Type::maps, .required = true, .child = Where::failure_rule, .about = "the first that matches counts"},
    {.where = Where::failure_rule, .name = "exit_codes", .type = Type::integers, .min = 1, .max = 255, .about = "exit codes that it is for"},
    {.where = Where::failure_rule, .name = "match_all_exit_codes", .type = Type::boolean, .about = "it is for every exit code but 0; false"},
    {.where = Where::failure_rule, .name = "on", .type = Type::selection, .choices = "oom timeout signal node_death output_missing", .about = "causes that it is for"},
    {.where = Where::failure_rule, .name = "recovery_script", .type = Type::text, .about = "run where the job failed; only if it succeeds the job is tried again"},
    {.where = Where::failure_rule, .name = "max_retries", .type = Type::integer, .min = 0, .max = 1000, .about = "3"},
    {.where = Where::failure_rule, .name = "memory_multiplier", .type = Type::decimal, .max = 1000, .about = "of the memory, each time"},
    {.where = Where::failure_rule, .name = "runtime_multiplier", .type = Type::decimal, .max = 1000, .about = "of the runtime, each time"},
    {.where = Where::failure_rule, .name = "learn", .type = Type::boolean, .about = "jobs of the entry that have not been claimed yet get as much; false"},
    {.where = Where::failure_rule, .name = "backoff", .type = Type::duration, .about = "from the failure to the next attempt; twice as long each time"},

    {.where = Where::budget, .name = "core_hours", .type = Type::decimal, .max = kMaxInt32},
    {.where = Where::budget, .name = "node_hours", .type = Type::decimal, .max = kMaxInt32},
    {.where = Where::lease, .name = "ttl", .type = Type::duration, .about = "silence after which others take a worker's jobs over; PT10S to P1D, PT5M"},
    {.where = Where::lease, .name = "beat", .type = Type::duration, .about = "how often an idle worker shows that it lives; PT1S to a third of ttl, a fifth"},

    {.where = Where::monitor, .name = "enabled", .type = Type::boolean, .about = "false: no time series, whatever follows; what jobs used in all is always told; true"},
    {.where = Where::monitor, .name = "granularity", .type = Type::choice, .choices = "summary time_series Summary TimeSeries", .about = "time_series: also how it went over time; summary"},
    {.where = Where::monitor, .name = "sample_interval_seconds", .type = Type::integer, .min = 1, .max = kMaxSeconds, .about = "10"},
    {.where = Where::monitor, .name = "jobs", .type = Type::map, .child = Where::monitor_part, .about = "the same for jobs alone, and wins"},
    {.where = Where::monitor, .name = "compute_node", .type = Type::any, .support = kIgnored, .about = "nodes are not measured, jobs are"},
    {.where = Where::monitor, .name = "metrics", .type = Type::any, .support = kIgnored, .about = "CPU time, memory and processes are measured, whatever is listed here"},
    {.where = Where::monitor, .name = "flush_interval_seconds", .type = Type::any, .support = kIgnored, .about = "each sample is written when it is taken"},
    {.where = Where::monitor, .name = "generate_plots", .type = Type::any, .support = kIgnored, .about = "no plots are made; 'torc resources --series NAME --json' has the figures"},
    {.where = Where::monitor_part, .name = "enabled", .type = Type::boolean, .about = "false: no time series"},
    {.where = Where::monitor_part, .name = "granularity", .type = Type::choice, .choices = "summary time_series Summary TimeSeries", .about = "as in resource_monitor"},
    // clang-format on
});

// Of the workflow's keys those that an addition to it may have.
constexpr auto kAdditionKeys = std::to_array<std::string_view>(
    {"name", "jobs", "files", "user_data", "resource_requirements", "failure_handlers",
     "parameters", "parameters_file", "variables"});

// Both in the order of Where.
constexpr std::string_view kWithArticle[] = {"the workflow",
                                             "a job",
                                             "a file",
                                             "user data",
                                             "resource requirements",
                                             "an alternative of one_of",
                                             "a Slurm scheduler",
                                             "execution_config",
                                             "stdio",
                                             "dynamic_jobs",
                                             "an action",
                                             "a failure handler",
                                             "a rule of a failure handler",
                                             "budget",
                                             "lease",
                                             "resource_monitor",
                                             "a part of resource_monitor",
                                             "depends",
                                             "a dataset",
                                             "allocate",
                                             "an addition to a workflow",
                                             "this"};
constexpr std::string_view kSchemaNames[] = {"workflow",
                                             "job",
                                             "file",
                                             "user_data",
                                             "resource_requirements",
                                             "alternative",
                                             "slurm_scheduler",
                                             "execution_config",
                                             "stdio",
                                             "dynamic_jobs",
                                             "action",
                                             "failure_handler",
                                             "failure_rule",
                                             "budget",
                                             "lease",
                                             "resource_monitor",
                                             "resource_monitor_part",
                                             "depends",
                                             "dataset",
                                             "allocate"};

}  // namespace

std::span<const Key> language() {
  return kLanguage;
}

const Key* find_key(Where where, std::string_view name) {
  if (where == Where::addition) {
    const bool allowed = std::ranges::find(kAdditionKeys, name) != kAdditionKeys.end();
    return allowed ? find_key(Where::workflow, name) : nullptr;
  }
  const auto found = std::ranges::find_if(
      kLanguage, [&](const Key& k) { return k.where == where && k.name == name; });
  return found == kLanguage.end() ? nullptr : &*found;
}

const Key* meaning_of(const Key& key) {
  return key.same_as.empty() ? &key : find_key(key.where, key.same_as);
}

std::vector<std::string> key_names(Where where) {
  if (where == Where::addition) return {kAdditionKeys.begin(), kAdditionKeys.end()};
  std::vector<std::string> names;
  for (const Key& k : kLanguage) {
    if (k.where == where) names.emplace_back(k.name);
  }
  return names;
}

std::string_view with_article(Where where) {
  return word_of(where, kWithArticle);
}

std::string_view schema_name(Where where) {
  return word_of(where, kSchemaNames);
}

std::string_view with_article(Type type) {
  switch (type) {
    case Type::integer:
      return "a whole number";
    case Type::boolean:
      return "true or false";
    case Type::names:
      return "a text or a list of texts";
    case Type::integers:
      return "a list of whole numbers";
    case Type::decimal:
    case Type::fraction:
    case Type::gpus:
      return "a number";
    case Type::selection:
      return "a word or a list of words";
    case Type::shares:
      return "a name, a list of names or a map";
    case Type::counts:
    case Type::amounts:
    case Type::map:
    case Type::named_maps:
    case Type::environment:
    case Type::constants:
    case Type::parameters:
    case Type::options:
      return "a map";
    case Type::maps:
      return "a list of maps";
    default:
      return "a text";
  }
}

std::vector<std::string> words_of(std::string_view list) {
  const auto words = split(list, ' ');
  return {words.begin(), words.end()};
}

}  // namespace torc::spec
