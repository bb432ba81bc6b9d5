#include "lib/worker/setup/worker_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "lib/base/file/beneath.h"
#include "lib/base/labels.h"
#include "lib/base/number.h"
#include "lib/base/plural.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/node/node_ledger.h"
#include "lib/exec/start/program_path.h"
#include "lib/exec/start/run_program.h"
#include "lib/launcher/worker_script.h"
#include "lib/slurm/own_allocation.h"
#include "lib/slurm/query.h"
#include "lib/slurm/shown.h"
#include "lib/slurm/squeue.h"
#include "lib/store/mount/mount_facts.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/workflow/context/sharing.h"

namespace torc::worker {

slurm::RunProgram query_program(const workflow::Context& context, std::chrono::nanoseconds limit) {
  exec::ProgramRequest request;
  for (char** entry = context.environment; entry != nullptr && *entry != nullptr; ++entry) {
    request.environment.emplace_back(*entry);
  }
  request.time_limit = limit;
  return [request](const std::vector<std::string>& argv) -> Result<slurm::CommandOutput> {
    exec::ProgramRequest mine = request;
    mine.argv = argv;
    TORC_ASSIGN(exec::ProgramOutput output, exec::run_program(mine));
    return slurm::CommandOutput{output.exit_code, std::move(output.out), std::move(output.err)};
  };
}

namespace {

using namespace std::chrono_literals;

constexpr auto kQueryLimit = 20s;  // squeue and scontrol answer in milliseconds or not at all
// Of what is asked before the first job may start: without an answer the walltime counts, and a
// thread of the worker asks again.
constexpr auto kStartLimit = 5s;
constexpr std::uint64_t kMostStarters = 100'000;  // a larger number is nonsense
constexpr std::chrono::seconds kShortestLease{10};

constexpr auto kConfigLimit = 2s;            // for what a good guess is known
constexpr auto kUsualKillWait = 30s;         // Slurm's default
constexpr std::chrono::seconds kReserve{5};  // of that, to say how jobs ended

std::optional<std::string> either(const exec::GetEnv& env, const char* name, const char* other) {
  const auto value = env(name);
  return value ? value : env(other);
}

std::optional<std::uint64_t> number_of(const exec::GetEnv& env, const char* name) {
  const auto n = whole_number<std::uint64_t>(env(name).value_or(""));
  return n && *n != 0 ? n : std::nullopt;
}

// What a job got is all that a torc inside of it has; GPUs are hidden from it already. A job that
// does not say what memory it needs is not held to what is counted for it.
void keep_to_the_job(exec::Machine& machine, const exec::GetEnv& env) {
  constexpr const char* kCpus = "TORC_NUM_CPUS";
  constexpr const char* kMemory = "TORC_MEMORY_BYTES";
  if (const auto cpus = number_of(env, kCpus); cpus && *cpus < machine.cpus) {
    machine.cpus = static_cast<std::uint32_t>(*cpus);
    machine.cpus_from = kCpus;
  }
  const auto memory = number_of(env, kMemory);
  if (memory && ByteCount{*memory} < machine.memory &&
      ByteCount{*memory} > spec::ResourceRequirements{}.memory) {
    machine.memory = ByteCount{*memory};
    machine.memory_from = kMemory;
  }
}

// Torc's batch scripts ask once for all workers. Without them, or where they had no answer, a few
// may ask for themselves; a thousand at once would be felt by the whole cluster.
bool may_ask(const workflow::Context& context) {
  constexpr std::uint64_t kFew = 32;
  return number_of(context.env, "SLURM_NTASKS").value_or(1) <= kFew;
}

// As the batch script asked for them; else a few workers ask themselves.
slurm::ClusterTimes cluster_times(const workflow::Context& context) {
  constexpr std::uint64_t kMostSeconds = 24UL * 3600;
  const auto told = [&](const char* name) -> std::optional<std::chrono::seconds> {
    const auto seconds = number_of(context.env, name);
    if (!seconds || *seconds > kMostSeconds) return std::nullopt;
    return std::chrono::seconds(*seconds);
  };
  slurm::ClusterTimes times{told("TORC_KILL_WAIT"), told("TORC_SLURMD_TIMEOUT")};
  if (!times.kill_wait && may_ask(context))
    times = slurm::cluster_times(query_program(context, kConfigLimit));
  return times;
}

// How long jobs may go on after SIGTERM: what the user says, else what the batch system allows.
void set_grace(const workflow::Context& context, const WorkerOptions& options, WorkerSetup& setup) {
  slurm::ClusterTimes times;
  const bool is_slurms = !setup.allocation.empty() && !setup.is_of_launcher;
  if (is_slurms) times = cluster_times(context);
  setup.slurm.node_timeout = times.slurmd_timeout.value_or(0s);
  if (options.grace) {
    setup.grace = *options.grace;
  } else if (is_slurms) {
    const std::chrono::nanoseconds wait = times.kill_wait.value_or(kUsualKillWait);
    setup.reserve = std::min<std::chrono::nanoseconds>(kReserve, wait / 3);
    setup.grace = wait - setup.reserve;
  }
}

// Where memory was granted by a default alone (DefMemPerCPU), salloc and srun set no variable for
// it. What the batch script was told stands, also while Slurm does not answer: a worker that takes
// the place of one that was killed must not take more.
exec::GetEnv with_granted_memory(const workflow::Context& context, const exec::GetEnv& env) {
  if (!env("SLURM_JOB_ID") || env("SLURM_MEM_PER_NODE") || env("SLURM_MEM_PER_CPU")) return env;
  const std::string id = *env("SLURM_JOB_ID");
  const std::string node = env("SLURMD_NODENAME").value_or("");
  // The batch script keeps a whole answer, whose last newline the shell has taken.
  auto memory = slurm::told_memory(env("TORC_JOB_DETAILS").value_or("") + "\n", id, node);
  if (!memory && may_ask(context))
    memory = slurm::granted_memory(query_program(context, kQueryLimit), id, node);
  if (!memory) return env;
  return [env, memory](std::string_view name) -> std::optional<std::string> {
    if (name == "SLURM_MEM_PER_NODE") return std::to_string(memory->value >> 20);
    return env(name);
  };
}

// What its owner asked for stands; but it is told that live workers will lose their leases.
std::chrono::seconds lease_on(const workflow::Context& context, const WorkerOptions& options,
                              const Path& store, const spec::RunSettings& settings,
                              std::string& warning) {
  const store::MountFacts facts = store::facts_of(context.world.disk, store);
  const auto asked = options.lease_ttl ? options.lease_ttl : settings.lease.ttl;
  if (!asked) return std::max(spec::kUsualTtl, facts.least_lease);
  warning = too_short(*asked, facts);
  return *asked;
}

}  // namespace

std::string too_short(std::chrono::seconds lease, const store::MountFacts& facts) {
  if (lease >= facts.least_lease) return {};
  return fmt::format(
      "a lease of {}s is short for {}: {}; workers will lose their jobs though they live; take {}s "
      "or "
      "more",
      lease.count(), to_string(facts.kind), facts.lease_why, facts.least_lease.count());
}

namespace {

// What makes the steps of jobs; nullopt: they are none.
Result<std::optional<exec::StepTerms>> steps_of(const workflow::Context& context,
                                                spec::ExecutionMode mode, const exec::GetEnv& env) {
  if (mode != spec::ExecutionMode::slurm) return std::optional<exec::StepTerms>();
  const std::string where =
      "submit a batch script of the store (sbatch STORE/slurm/SCHEDULER.sbatch), or say mode: "
      "direct in execution_config";
  if (slurm::allocation_name(env).empty()) {
    return Error{ErrorKind::invalid,
                 "the workflow says mode: slurm, in which jobs are steps of an allocation, and "
                 "this is in none",
                 where};
  }
  if (env("SLURMD_NODENAME").value_or("").empty()) {
    return Error{ErrorKind::invalid,
                 "the workflow says mode: slurm, and this is not a node of the allocation: salloc "
                 "leaves its shell where it was",
                 "srun --ntasks-per-node=1 --overlap --mem=0 torc worker STORE starts a worker on "
                 "each node"};
  }
  exec::StepTerms terms;
  terms.program = context.program.string();
  // By the worker's PATH: a job may have one of its own.
  const std::string path = env("PATH").value_or("");
  terms.srun = exec::ProgramPaths().find("srun", path.c_str(), context.directory.string()).path;
  if (terms.srun.empty()) {
    return Error{ErrorKind::not_found, "there is no srun in PATH, which mode: slurm needs", where};
  }
  terms.sacct = exec::ProgramPaths().find("sacct", path.c_str(), context.directory.string()).path;
  return std::optional(std::move(terms));
}

Result<void> make_output_dir(const workflow::Context& context, const Path& store,
                             const Path& directory) {
  const Path root = output_root(store, directory, context.umask).path;
  Result<void> made;
  if (root == directory) {
    const workflow::OwnUmask outside(context);
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) made = os_error(error.value(), directory.string());
  } else {
    made = beneath::make_directories(root, beneath::name_below(root, directory));
  }
  if (made.ok()) return {};
  Error error = std::move(made).error();
  error.what = "cannot make the output directory: " + error.what;
  error.remedy = "name another one with --output-dir";
  return error;
}

}  // namespace

Result<WorkerSetup> make_worker_setup(const workflow::Context& context,
                                      const WorkerOptions& options, const Path& store, Place place,
                                      const spec::RunSettings& settings) {
  WorkerSetup setup;
  const exec::GetEnv own = slurm::env_of_part(context.env);
  const exec::GetEnv env = with_granted_memory(context, own);
  setup.machine = exec::detect(env);
  if (setup.machine.memory_from == "SLURM_MEM_PER_NODE" && !own("SLURM_MEM_PER_NODE"))
    setup.machine.memory_from = "what Slurm granted";
  exec::NodeMember node = exec::describe_member(setup.machine, env);
  // Below a job of another worker it uses what that one has of the node already. Where jobs are
  // counted, what they need is not known.
  const bool below = context.env("TORC_RUN_ID").has_value();
  if (below) keep_to_the_job(setup.machine, context.env);
  if (options.cpus) {
    setup.machine.cpus = *options.cpus;
    setup.machine.cpus_from = "--num-cpus";
  }
  if (options.memory) {
    setup.machine.memory = *options.memory;
    setup.machine.memory_from = "--memory";
  }
  if (options.gpus) {
    if (*options.gpus > setup.machine.gpus.size()) {
      return Error{ErrorKind::invalid,
                   fmt::format("--num-gpus {}: only {} found here ({})", *options.gpus,
                               plural(setup.machine.gpus.size(), "GPU"), setup.machine.gpus_from),
                   "leave the flag out to use those"};
    }
    setup.machine.gpus.resize(*options.gpus);
    if (setup.machine.gpu_kinds.size() > *options.gpus)
      setup.machine.gpu_kinds.resize(*options.gpus);
    if (setup.machine.gpu_groups.size() > *options.gpus)
      setup.machine.gpu_groups.resize(*options.gpus);
    setup.machine.gpus_from = "--num-gpus";
  }
  TORC_TRY(add_told_resources(options.resources, setup.machine));
  exec::apply_flags(node, setup.machine);
  exec::add_named(node, setup.machine);
  if (options.overcommit) exec::let_overcommit(node);
  if (!below && !options.max_parallel_jobs) setup.node = std::move(node);
  setup.node_place = exec::node_place(context.env, setup.machine.host);
  setup.max_parallel_jobs = options.max_parallel_jobs;
  setup.scheduler = options.scheduler;
  std::string labels;
  for (const std::string& one : options.labels) labels += (labels.empty() ? "" : ",") + one;
  TORC_ASSIGN(setup.labels, parse_labels(labels));
  setup.also_unlabelled = options.also_unlabelled || setup.labels.empty();
  setup.bell = !options.no_bell;
  setup.bell_interface = options.bell_interface;
  setup.idle_timeout = options.idle_timeout;
  if (options.workers_idle && *options.workers_idle < 1s) {
    return Error{ErrorKind::invalid, "--workers-idle: no time at all", "give it 1s or more"};
  }
  setup.workers_idle = options.workers_idle;
  setup.node_is_shared = options.node_is_shared;
  setup.lease_ttl = lease_on(context, options, store, settings, setup.warning);
  const auto heartbeat = settings.lease.heartbeat.value_or(0s);
  if (3 * heartbeat <= setup.lease_ttl) setup.lease_heartbeat = heartbeat;
  if (setup.lease_ttl < kShortestLease) {
    return Error{ErrorKind::invalid,
                 fmt::format("--lease-ttl {}s is too short", setup.lease_ttl.count()),
                 "at least 10s: a shorter silence happens to live workers"};
  }
  setup.output_dir = options.output_dir.empty()
                         ? default_output_dir(store)
                         : (context.directory / options.output_dir).lexically_normal();
  TORC_TRY(make_output_dir(context, store, setup.output_dir));
  setup.allocation = slurm::allocation_name(env);
  if (const std::string id = context.env(launcher::kAllocationVariable).value_or("");
      setup.allocation.empty() && slurm::is_plain(id)) {
    setup.allocation = id;
    setup.is_of_launcher = true;
  }
  const bool is_in_slurm = !setup.allocation.empty() && !setup.is_of_launcher;
  TORC_ASSIGN(setup.steps, steps_of(context, settings.execution.mode, env));
  for (const char* name : {"SLURM_NTASKS", "SLURM_ARRAY_TASK_COUNT"}) {
    const auto n = leading_number<std::uint64_t>(context.env(name).value_or(""));
    if (is_in_slurm && n && *n > 0 && *n <= kMostStarters) setup.starters *= *n;
  }
  setup.any_scheduler = place == Place::laptop && options.scheduler.empty() && setup.labels.empty();
  setup.staggered_start = settings.execution.staggered_start;
  setup.stays = place == Place::allocation && settings.workers_stay;
  setup.run_program = query_program(context, kQueryLimit);
  setup.mountinfo = [] { return exec::read_small_file("/proc/self/mountinfo").value_or(""); };
  set_grace(context, options, setup);

  EndMargins& margins = setup.slurm.margins;
  margins.begun = context.clock.wall_now();
  margins.headroom = settings.execution.sigkill_headroom;
  margins.buffer = settings.expiration_buffer;
  if (is_in_slurm) {
    setup.cluster = context.env("SLURM_CLUSTER_NAME").value_or("");
    setup.slurm_node = slurm::node_name(env("SLURMD_NODENAME"), env("SLURM_JOB_NODELIST"));
    slurm::AllocationVariables variables{
        either(context.env, "SLURM_JOB_START_TIME", "TORC_ALLOCATION_START"),
        either(context.env, "SLURM_JOB_END_TIME", "TORC_ALLOCATION_END"),
        context.env("TORC_LATEST_END")};
    // In a later part of a heterogeneous job they tell of the first one: its start may be another,
    // and its end counts where nothing else is known.
    if (env("SLURM_JOB_ID") != context.env("SLURM_JOB_ID"))
      variables = {{}, {}, variables.end ? variables.end : variables.latest_end};
    // Who was started together with a thousand others comes before its end.
    const auto told = slurm::epoch_seconds(variables.end.value_or(""));
    const bool is_past = told && *told <= margins.begun;
    const slurm::AllocationTimes times = slurm::allocation_times(
        may_ask(context) || is_past ? query_program(context, kStartLimit) : slurm::RunProgram(),
        setup.cluster, env("SLURM_JOB_ID").value_or(""), variables, margins.begun);
    setup.allocation_start = times.start.value_or(WallTime{});
    setup.allocation_end = times.end;
    setup.end_is_assumed = times.assumed;
    setup.slurm.end_was_asked = times.asked;
  }
  TORC_ASSIGN(GroupPlace in_group,
              place_in_group(options, env, setup.allocation, setup.slurm_node, setup.machine.host));
  setup.group = std::move(in_group.group);
  setup.node_name = std::move(in_group.node_name);
  setup.most_nodes = in_group.most_nodes;
  // What is called a node of its own has a ledger of its own.
  if (!options.node_name.empty() && options.node_name != setup.machine.host) {
    setup.node_place.node = options.node_name;
    std::ranges::replace_if(
        setup.node_place.node, [](char c) { return c == '.' || c == '_'; }, '-');
  }
  if (options.time_limit) {
    if (options.time_limit->count() == 0) {
      return Error{ErrorKind::invalid, "--time-limit 0 leaves no time for any job",
                   "say how long, such as 2h, or leave it out: then there is no limit"};
    }
    margins.limit = margins.begun + *options.time_limit;
  }
  setup.ends_at = usable_until(setup.allocation_end, margins);
  return setup;
}

void go_on_by(const EndMargins& first, WorkerSetup& setup) {
  setup.slurm.margins = first;
  setup.ends_at = usable_until(setup.allocation_end, first);
}

}  // namespace torc::worker
