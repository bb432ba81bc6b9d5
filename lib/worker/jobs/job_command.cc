#include "lib/worker/jobs/job_command.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "lib/base/end_margins.h"
#include "lib/base/file/beneath.h"
#include "lib/base/number.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/origin.h"
#include "lib/exec/machine/gpus.h"
#include "lib/slurm/job_share.h"
#include "lib/slurm/step_options.h"
#include "lib/worker/jobs/gang_environment.h"

namespace torc::worker {
namespace {

// Later entries win: env must not hold a name twice, since programs differ in which one they see.
void set(std::vector<std::string>& env, std::string_view name, std::string_view value) {
  for (std::string& entry : env) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      entry = fmt::format("{}={}", name, value);
      return;
    }
  }
  env.push_back(fmt::format("{}={}", name, value));
}

// What the workflow sets it means within a job's own share; what this process was started with
// numbers other GPUs, or those of another maker.
std::shared_ptr<const std::vector<std::string>> without_gpus(const std::vector<std::string>& env,
                                                             const spec::Environment& of_workflow) {
  std::vector<std::string> left;
  for (const std::string& entry : env) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool meant = std::any_of(of_workflow.begin(), of_workflow.end(),
                                   [&](const auto& set) { return set.first == name; });
    if (meant || !exec::is_gpu_variable(name)) left.push_back(entry);
  }
  return std::make_shared<const std::vector<std::string>>(std::move(left));
}

// An entry that the workflow has changed stays.
std::shared_ptr<const std::vector<std::string>> without(std::vector<std::string> env,
                                                        const std::vector<std::string>& entries) {
  std::erase_if(
      env, [&](const std::string& e) { return std::ranges::find(entries, e) != entries.end(); });
  return std::make_shared<const std::vector<std::string>>(std::move(env));
}

bool has_name(const std::vector<std::string>& env, std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('=') + 1);
  return std::any_of(env.begin(), env.end(), [&](const auto& e) { return e.starts_with(name); });
}

// As its output files are called. By its own name Slurm's accounting tells of each rank.
std::string name_of_attempt(const claim::ClaimToken& token, std::uint32_t rank = 0) {
  const std::string name = fmt::format("{}.{}", raw(token.job), token.attempt);
  return rank == 0 ? name : fmt::format("{}.node{}", name, rank);
}

// Where a task of Slurm runs, as Slurm names it; empty: this is none.
std::string slurm_node(char** environment) {
  constexpr std::string_view kNode = "SLURMD_NODENAME=";
  std::string node;
  bool in_allocation = false;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(kNode)) node = text.substr(kNode.size());
    in_allocation = in_allocation || text.starts_with("SLURM_JOB_ID=");
  }
  return in_allocation ? node : std::string();
}

std::string output_stem(const std::string& output_dir, JobId id, std::uint32_t attempt) {
  return fmt::format("{}/{:06}/{}.{}", output_dir, raw(id) / 1000, raw(id), attempt);
}

}  // namespace

Path default_output_dir(const Path& store) {
  return store / "logs" / "jobs";
}

exec::OutputRoot output_root(const Path& store, const Path& output_dir, mode_t umask) {
  if (beneath::name_below(store, output_dir).empty()) return exec::OutputRoot(output_dir, umask);
  return exec::OutputRoot(store);
}

Path recovery_file(const Path& output_dir, JobId id, std::uint32_t attempt) {
  return output_stem(output_dir, id, attempt) + ".recovery";
}

Path attempt_directory(const Path& output_dir, JobId id, std::uint32_t attempt) {
  return output_stem(output_dir.string(), id, attempt) + ".d";
}

OutputFiles output_files(const std::string& output_dir, JobId id, std::uint32_t attempt,
                         spec::StdioMode mode, std::uint32_t rank) {
  using spec::StdioMode;
  OutputFiles files;
  if (mode == StdioMode::none || mode == StdioMode::packed) return files;
  std::string stem = output_stem(output_dir, id, attempt);
  if (rank != 0) stem += fmt::format(".node{}", rank);
  if (mode != StdioMode::no_stdout) files.out = stem + ".out";
  if (mode != StdioMode::no_stderr)
    files.err = mode == StdioMode::combined ? files.out : stem + ".err";
  return files;
}

Path action_file(const Path& output_dir, std::uint32_t action, std::uint32_t nth,
                 claim::WorkerEpoch of) {
  return output_dir / "actions" /
         (claim::raw(of) == 0 ? fmt::format("{}.{}.log", action, nth)
                              : fmt::format("{}.worker{}.log", action, claim::raw(of)));
}

std::vector<std::string> worker_tags(const std::string& workflow_id, claim::WorkerEpoch self) {
  return {fmt::format("TORC_WORKFLOW_ID={}", workflow_id),
          fmt::format("TORC_WORKER={}", claim::raw(self))};
}

JobPreparer::JobPreparer(Path store, const std::string& workflow_id,
                         workflow::WorkflowSettings settings, Path directory, Path output_dir,
                         char** environment, const exec::Machine& machine, claim::WorkerEpoch self)
    : store_(std::move(store)),
      settings_(std::move(settings)),
      directory_(std::move(directory)),
      output_dir_(std::move(output_dir)),
      workflow_id_(workflow_id),
      machine_(machine) {
  constexpr std::string_view kAllocationName = "TORC_ALLOCATION_NAME=";  // of torc supervise
  constexpr std::string_view kAllocationNodes = "SLURM_JOB_NUM_NODES=";
  std::string allocation_name;
  std::vector<std::string> base;
  slurm_node_ = slurm_node(environment);
  enter_slurm(base, slurm_node_);
  makes_steps_ = in_slurm_ && settings_.run.execution.mode == spec::ExecutionMode::slurm;
  const std::vector<std::string> of_one_node = base;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(kAllocationName)) allocation_name = text.substr(kAllocationName.size());
    if (text.starts_with(kAllocationNodes)) {
      allocation_nodes_ =
          whole_number<std::uint32_t>(text.substr(kAllocationNodes.size())).value_or(0);
    }
    // A worker that was itself started by a torc job must not pass that job's identity on.
    if (text.starts_with("TORC_")) continue;
    if (in_slurm_ && slurm::is_of_step(text)) continue;
    base.emplace_back(text);
  }
  // There srun has put the name of the workers' step.
  if (in_slurm_ && !allocation_name.empty()) set(base, "SLURM_JOB_NAME", allocation_name);
  for (const auto& [name, value] : settings_.run.env) set(base, name, value);
  user_sets_omp_ = std::any_of(base.begin(), base.end(), [](const std::string& e) {
    return e.starts_with("OMP_NUM_THREADS=");
  });
  base.push_back(fmt::format("TORC_STORE={}", store_.string()));
  base.push_back(fmt::format("TORC_WORKFLOW_NAME={}", settings_.run.name));
  for (std::string& tag : worker_tags(workflow_id, self)) base.push_back(std::move(tag));
  base.push_back(fmt::format("TORC_OUTPUT_DIR={}", output_dir_.string()));
  base_env_ = std::make_shared<const std::vector<std::string>>(std::move(base));
  jobs_env_ =
      machine.gpu_variable.empty() ? base_env_ : without_gpus(*base_env_, settings_.run.env);
  gangs_env_ = without(*jobs_env_, of_one_node);
  // Slurm tells each step of its own.
  if (makes_steps_) jobs_env_ = gangs_env_;
}

// srun reads the file by the name that it has as an open file of this process, on this node alone.
void JobPreparer::enter_slurm(std::vector<std::string>& base, const std::string& node) {
  if (node.empty()) return;
  slurm_hosts_ = Descriptor(memfd_create("slurm-hosts", MFD_CLOEXEC));
  if (!slurm_hosts_) return;
  std::string lines;
  for (std::uint32_t i = 0; i < machine_.cpus; ++i) lines += node + "\n";
  const ssize_t wrote = write(slurm_hosts_.get(), lines.data(), lines.size());
  if (wrote != static_cast<ssize_t>(lines.size())) return;
  in_slurm_ = true;
  const std::string file = fmt::format("/proc/{}/fd/{}", getpid(), slurm_hosts_.get());
  for (std::string& variable : slurm::node_variables({node, file}))
    base.push_back(std::move(variable));
}

std::vector<std::string> JobPreparer::step_of(const claim::Requirement& need,
                                              const claim::ClaimToken& token,
                                              std::uint32_t rank) const {
  slurm::StepShape shape;
  shape.node = slurm_node_;
  shape.name = name_of_attempt(token, rank);
  shape.cpus = need.cpus;
  if (need.memory > spec::ResourceRequirements{}.memory) shape.memory = need.memory;
  if (!machine_.gpus.empty()) {
    const Amount* any = find_amount(need.named, kGpus);
    const bool all = any != nullptr && any->thousandths == kAllThereIs;
    shape.gpus = all ? static_cast<std::uint32_t>(machine_.gpus.size()) : gpu_count(need);
  }
  shape.binds = settings_.run.execution.enable_cpu_bind;
  return slurm::step_options(shape);
}

void JobPreparer::set_share(std::vector<std::string>& env, const claim::Requirement& need) const {
  slurm::JobShare share{need.cpus, {}, {}};
  if (need.memory > spec::ResourceRequirements{}.memory) share.memory = need.memory;
  if (!machine_.gpus.empty()) share.gpus = gpu_count(need);
  for (std::string& variable : slurm::job_variables(share)) {
    const std::string name = variable.substr(0, variable.find('='));
    const auto& meant = settings_.run.env;
    if (std::none_of(meant.begin(), meant.end(), [&](const auto& e) { return e.first == name; }))
      env.push_back(std::move(variable));
  }
}

exec::Command JobPreparer::plain_command(std::string line) const {
  exec::Command command;
  command.line = std::move(line);
  command.common_env = base_env_;
  if (in_slurm_) command.env = slurm::overlap_variables();
  command.directory = directory_;
  command.termination_signal = settings_.run.execution.termination_signal;
  command.termination_lead = settings_.run.execution.sigterm_lead;
  return command;
}

Result<void> JobPreparer::join_gang(PreparedJob& job, const claim::GangPart& part,
                                    mode_t umask) const {
  const claim::ClaimToken& token = part.gang.token;
  GangTerms terms;
  terms.launch = job.launch;
  terms.cpus = job.need.cpus;
  if (job.need.memory > spec::ResourceRequirements{}.memory) terms.memory = job.need.memory;
  terms.workflow_id = workflow_id_;
  terms.directory = attempt_directory(output_dir_, token.job, token.attempt).string();
  terms.in_slurm = in_slurm_;
  terms.allocation_nodes = allocation_nodes_;
  TORC_TRY(write_gang_files(gang_files(part, terms), output_root(umask)));
  const GangVariables variables = gang_variables(part, terms);
  job.lacks_node_list = std::none_of(variables.own.begin(), variables.own.end(),
                                     [](const auto& e) { return e.starts_with("TORC_NODELIST="); });
  exec::Command& command = job.command;
  const std::vector<std::string> said = command.env;  // by the job, or by an earlier call
  for (const std::string& own : variables.own) {
    std::erase_if(command.env, [&](const std::string& e) { return has_name({own}, e); });
    command.env.push_back(own);
  }
  const auto& meant = settings_.run.env;
  for (const std::string& entry : variables.slurm) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (has_name(said, entry)) continue;
    if (std::none_of(meant.begin(), meant.end(), [&](const auto& e) { return e.first == name; }))
      command.env.push_back(entry);
  }
  for (const std::string& entry : variables.unless_set) {
    if (!has_name(said, entry) && !has_name(*command.common_env, entry))
      command.env.push_back(entry);
  }
  const spec::ExecutionConfig& execution = settings_.run.execution;
  if (part.rank == 0 && is_step(command.line, job.launch, execution.mode, in_slurm_)) {
    job.is_gang_step = true;
    command.line = step_line(command.line, part, terms, name_of_attempt(token), execution.srun_mpi,
                             execution.enable_cpu_bind);
  }
  if (makes_steps_ && job.launch.on == spec::LaunchOn::all)
    command.step = step_of(job.need, token, part.rank);
  job.rank = part.rank;
  job.files = output_files(output_dir_, token.job, token.attempt, job.stdio.mode, part.rank);
  command.stdout_path = job.files.out;
  command.stderr_path = job.files.err;
  return {};
}

std::optional<PreparedJob> JobPreparer::prepare(workflow::RecipeBook& book,
                                                const claim::Reader& reader,
                                                const claim::Grant& grant) const {
  const auto page = book.find(reader, grant.token.job);
  if (!page) return std::nullopt;
  const std::uint64_t index = raw(grant.token.job) - raw(page->job_template.first);
  spec::RenderedJob job = page->recipe.render(index);
  const claim::JobClass job_class = claim::read_class(reader, grant.job_class);
  PreparedJob prepared;
  prepared.grant = grant;
  prepared.need = job_class.need_of(grant.alternative);
  prepared.has_alternatives = job_class.alternatives() > 1;
  prepared.name = job.name;
  prepared.stdio = job.stdio;
  prepared.checkpoint_exit_code = job.checkpoint_exit_code;
  if (grant.alone) {
    const auto of = claim::read_template(reader, grant.token.job);
    prepared.crash_limit = of && of->crash_limit != 0 ? of->crash_limit : kCrashLimit;
  }
  if (page->handler) {
    prepared.handler = page->handler;
    const auto record = claim::read_job(reader, grant.token.job);
    if (record) prepared.retries = claim::read_retries(reader, grant.token.job, *record);
    // Where this worker itself has more, nobody needs to look for one that has.
    const bool has_more =
        prepared.handler->memory_ceiling == ByteCount{} && prepared.need.memory < machine_.memory;
    const Result<ByteCount> ceiling =
        has_more ? machine_.memory : claim::memory_ceiling(reader, *prepared.handler);
    if (!ceiling) return std::nullopt;
    prepared.memory_ceiling = *ceiling;
  }
  prepared.declared.inputs = std::move(job.input_files);
  prepared.declared.outputs = std::move(job.output_files);
  prepared.declared.may_lack_outputs = job.allow_missing_outputs;
  for (const std::string& name : job.input_user_data) {
    const auto datum = claim::read_user_datum(reader, name);
    const bool there = datum.ok() && datum->has_value();
    prepared.declared.seen.user_data.push_back(there ? claim::user_data_fingerprint((*datum)->value)
                                                     : 0);
  }
  prepared.files = output_files(output_dir_, grant.token.job, grant.token.attempt, job.stdio.mode);

  const spec::ExecutionConfig& execution = settings_.run.execution;
  prepared.command = plain_command(job.command_by(grant.alternative));
  exec::Command& command = prepared.command;
  const bool is_gang = prepared.need.nodes > 1;
  command.common_env = is_gang ? gangs_env_ : jobs_env_;
  command.env.clear();
  if (makes_steps_ && !is_gang) command.step = step_of(prepared.need, grant.token, 0);
  if (in_slurm_ && !is_gang && !makes_steps_) set_share(command.env, prepared.need);
  prepared.launch = job.launch;
  command.stdout_path = prepared.files.out;
  command.stderr_path = prepared.files.err;
  if (settings_.run.monitor.time_series) command.sample_every = settings_.run.monitor.interval;
  if (execution.limit_resources) {
    command.time_limit = longest_time(prepared.need);
    // As srun --signal: so long before the limit, by which it has ended.
    if (!execution.srun_termination_signal.empty() && command.time_limit.count() > 0) {
      command.termination_lead = lead_within(command.termination_lead, command.time_limit);
      command.time_limit -= command.termination_lead;
    }
    // No program fits into what is counted for a job that declares none.
    if (prepared.need.memory > spec::ResourceRequirements{}.memory)
      command.memory_limit = prepared.need.memory;
  }
  command.env.reserve(command.env.size() + job.env.size() + 14);
  bool omp = user_sets_omp_;
  for (const auto& [name, value] : job.env) {
    set(command.env, name, value);
    omp = omp || name == "OMP_NUM_THREADS";
  }
  const std::uint64_t id = raw(grant.token.job);
  auto& env = command.env;
  env.push_back(fmt::format("TORC_JOB_ID={}", id));
  env.push_back(fmt::format("TORC_JOB_NAME={}", job.name));
  env.push_back(fmt::format("TORC_ATTEMPT_ID={}", grant.token.attempt));
  env.push_back(fmt::format("TORC_CLAIM_ID={}", grant.token.claim));
  env.push_back(
      fmt::format("TORC_ATTEMPT_DIR={}",
                  attempt_directory(output_dir_, grant.token.job, grant.token.attempt).string()));
  env.push_back(fmt::format("TORC_NUM_CPUS={}", prepared.need.cpus));
  env.push_back(fmt::format("TORC_NUM_GPUS={}", gpu_count(prepared.need)));
  env.push_back(fmt::format("TORC_MEMORY_BYTES={}", prepared.need.memory.value));
  if (!job_class.others.empty())
    env.push_back(fmt::format("TORC_ALTERNATIVE={}", grant.alternative + 1));
  const auto known = claim::read_origin(reader, grant.token.job);
  if (!known.ok()) return std::nullopt;
  const std::optional<claim::Origin>& origin = *known;
  env.push_back(fmt::format("TORC_ITERATION={}", (origin ? origin->depth : 0) + 1));
  if (origin && !origin->state.empty())
    env.push_back(fmt::format("TORC_SPAWN_STATE={}", origin->state));
  if (!omp) env.push_back(fmt::format("OMP_NUM_THREADS={}", prepared.need.cpus));
  return prepared;
}

}  // namespace torc::worker
