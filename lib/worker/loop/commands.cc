#include "lib/worker/loop/commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/claim/rules/transition.h"
#include "lib/exec/machine/gpus.h"
#include "lib/exec/step/step_judge.h"
#include "lib/slurm/step_options.h"
#include "lib/worker/jobs/blame.h"
#include "lib/worker/loop/notice_text.h"
#include "lib/workflow/context/output_look.h"
#include "lib/workflow/plan/plan_actions.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using Start = event::StartAnswer::What;

constexpr std::chrono::nanoseconds kKillPatience = 5s;  // with processes that were killed

// While a command is started its new process is waited for: the committer must know (committer.h).
class Starting {
 public:
  explicit Starting(Committer& committer) : committer_(committer) { committer_.starting(true); }
  ~Starting() { committer_.starting(false); }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;

 private:
  Committer& committer_;
};

// Of what was told to end nothing is kept, and who told it has no time for its files.
bool runs_again(const exec::Ended& how, const Load& load) {
  return how.how == exec::Ending::stopped && load.job.grant.stopped + 1 < claim::kMostStops;
}

void set_variable(std::vector<std::string>& env, const std::string& name,
                  const std::string& value) {
  const std::string start = name + "=";
  std::erase_if(env, [&](const std::string& e) { return e.starts_with(start); });
  env.push_back(start + value);
}

// Open to append, with the command as a heading.
Result<Descriptor> open_action_output(const exec::OutputRoot& root, const Path& file,
                                      const std::string& command) {
  const Path name = beneath::name_below(root.path, file);
  TORC_TRY(beneath::make_directories(root.path, name.parent_path(), root.directory_mode()));
  TORC_ASSIGN(Descriptor out, beneath::open_to_append(root.path, name, root.file_mode()));
  const std::string heading = fmt::format("+ {}\n", command);
  (void)!::write(out.get(), heading.data(), heading.size());
  return out;
}

// Where it cannot be made the start fails and says why.
Result<Descriptor> open_recovery_output(const exec::OutputRoot& root, const Path& file) {
  const Path name = beneath::name_below(root.path, file);
  (void)beneath::make_directories(root.path, name.parent_path(), root.directory_mode());
  return beneath::open_fresh(root.path, name, O_WRONLY, root.file_mode());
}

// The last lines of a file that is open for reading; empty where it cannot be read.
std::string last_lines(int fd) {
  constexpr off_t kEnough = 64 << 10;
  const off_t size = lseek(fd, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kEnough)), '\0');
  const off_t from = size - static_cast<off_t>(text.size());
  const ssize_t got = text.empty() ? 0 : pread(fd, text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

}  // namespace

HostedCommands::HostedCommands(World world)
    : world_(std::move(world)),
      ends_at_(world_.setup.ends_at),
      output_(world_.preparer.output_root(world_.context.umask), world_.setup.output_dir,
              claim::raw(world_.self), world_.notice),
      series_(world_.preparer.output_root(world_.context.umask), world_.setup.output_dir,
              claim::raw(world_.self), world_.notice) {}

void HostedCommands::stand_still(std::chrono::nanoseconds time) {
  if (ends_at_ && !world_.setup.allocation.empty())
    *ends_at_ += std::chrono::duration_cast<WallTime>(time);
}

// --- jobs ---

// What depends on the moment of the start: GPUs, what has a name, the end of this worker's time.
void HostedCommands::put_in_place(PreparedJob& job, const command::StartJob& order) const {
  const WorkerSetup& setup = world_.setup;
  const auto set = [&](const std::string& name, const std::string& value) {
    set_variable(job.command.env, name, value);
  };
  if (!setup.machine.gpu_variable.empty() && !setup.max_parallel_jobs) {
    const std::string& variable = setup.machine.gpu_variable;
    // Slurm chooses those of a step, and says which.
    if (job.command.step.empty() || order.gpus.empty())
      set(variable, exec::visible_gpus(variable, order.gpus));
  }
  for (const auto& [name, what] : order.named) set(variable_of(name), what);
  const auto all_gpus = [](const Amount& a) {
    return is_gpu(a.name) && a.thousandths == kAllThereIs;
  };
  if (!setup.max_parallel_jobs && std::ranges::any_of(job.need.named, all_gpus))
    set("TORC_NUM_GPUS", std::to_string(order.gpus.size()));
  if (ends_at_) set("TORC_END_TIME", std::to_string(ends_at_->count() / 1'000'000));
  job.command.umask = world_.context.umask;
  if (job.command.step.empty()) return;
  job.command.cpus.clear();
  const WallTime now = world_.context.clock.wall_now();
  std::chrono::nanoseconds longest = std::chrono::nanoseconds::max();
  if (ends_at_) longest = std::max<std::chrono::nanoseconds>(*ends_at_ - now, 0s);
  // Slurm counts the time, too, for which it is stopped while the lease is in doubt.
  if (job.command.time_limit.count() > 0)
    longest = std::min(
        longest, job.command.time_limit + job.command.termination_lead + world_.setup.lease_ttl);
  slurm::set_step_time(job.command.step, longest);
}

void HostedCommands::look_at_inputs(JobFiles& declared) const {
  if (declared.inputs.empty()) return;
  const JobPreparer& preparer = world_.preparer;
  // What could not be looked at is not told: it makes nothing stale later.
  auto fingerprints =
      workflow::fingerprints_of(preparer.directory(), declared.inputs, preparer.settings().sums);
  if (fingerprints) declared.seen.inputs = *std::move(fingerprints);
}

// Empty for most jobs: they declare nothing, and nothing is kept of them.
event::OutputsMade HostedCommands::look_at_outputs(Load& load) const {
  JobFiles& declared = load.job.declared;
  if (!declared.any()) return {};
  const JobPreparer& preparer = world_.preparer;
  workflow::OutputLook look =
      workflow::look_at_outputs(preparer.directory(), declared.outputs, preparer.settings().sums);
  if (look.seen) declared.seen.outputs = *std::move(look.seen);
  event::OutputsMade made{claim::encode(declared.seen)};
  if (declared.may_lack_outputs) return made;
  made.missing = look.missing;
  made.may_come = look.may_come;
  return made;
}

void HostedCommands::close_unused(Load& load) {
  output_.close(load.output, false);
  load.output = {};
  exec::Command& command = load.job.command;
  command.stdout_fd = command.stderr_fd = -1;
  command.stdout_errno = command.stderr_errno = 0;
}

// How a command that was just started was not executed; nullopt: it was.
std::optional<event::StartAnswer::Fault> HostedCommands::fault(exec::RunId id,
                                                               const exec::Command& command) const {
  const auto ended = world_.host.not_started(id);
  if (!ended) return std::nullopt;
  return fault_of(*ended, command);
}

event::StartAnswer::Fault HostedCommands::fault_of(const exec::Ended& ended,
                                                   const exec::Command& command) const {
  const auto& mountinfo = world_.setup.mountinfo;
  return {ended.failed_at, ended.os_errno,
          blame_for(ended, paths_of(command), world_.mounted,
                    mountinfo ? mountinfo() : world_.mounted)};
}

event::StartAnswer HostedCommands::start(const command::StartJob& order) {
  event::StartAnswer answer{order.run, Start::postponed, {}, {}, {}};
  if (world_.lease.fenced() || world_.lease.paused()) return answer;
  Load& load = *order.load;
  PreparedJob& job = load.job;
  job.command.cpus = order.cpus;
  put_in_place(job, order);
  if (order.gang) {
    const auto joined = world_.preparer.join_gang(job, *order.gang, world_.context.umask);
    if (!joined) {
      answer.what = Start::refused;
      answer.why = joined.error().what;
      return answer;
    }
    if (job.lacks_node_list)
      world_.notice(
          fmt::format("'{}' runs without TORC_NODELIST: the names of its {} nodes are "
                      "longer than a variable can be; TORC_HOSTFILE has them",
                      job.name, order.gang->gang.members.size()));
  }
  look_at_inputs(job.declared);
  if (world_.setup.numbers_slots) {
    load.slot = runs_.free_slot();
    set_variable(job.command.env, "TORC_JOB_SLOT", std::to_string(load.slot));
  }
  load.output = output_.open(job);
  Result<exec::RunId> id = [&] {
    const Starting now(world_.committer);
    return world_.host.start(job.command);
  }();
  if (!id) {
    close_unused(load);
    answer.what = Start::refused;
    answer.why = id.error().what;
    return answer;
  }
  answer.what = Start::started;
  answer.fault = fault(*id, job.command);
  answer.at = world_.context.clock.wall_now();
  if (world_.events.label) load.label = world_.events.label(job);
  runs_.add({order.run, *id, HostedRun::Kind::job, order.load});
  return answer;
}

event::Armed HostedCommands::arm(const command::ArmJobs& order) {
  event::Armed answer;
  for (const auto& [run, load] : order.jobs) {
    // In their order or not at all.
    if (!answer.refused.empty()) {
      answer.refused.push_back(run);
      continue;
    }
    put_in_place(load->job, {run, load, {}, {}});
    load->output = output_.open(load->job);
    const auto id = world_.host.queue(load->job.command);
    if (!id) {
      close_unused(*load);
      answer.refused.push_back(run);
      continue;
    }
    if (world_.events.label) load->label = world_.events.label(load->job);
    runs_.add({run, *id, HostedRun::Kind::job, load});
  }
  return answer;
}

event::TakenBack HostedCommands::take_back() {
  event::TakenBack answer;
  for (const exec::RunId id : world_.host.take_back()) {
    const HostedRun* found = runs_.find(id);
    if (found == nullptr) continue;
    answer.runs.push_back(found->run);
    close_unused(*found->load);
    runs_.remove(HostedRun(*found));
  }
  return answer;
}

// --- recovery scripts and actions ---

event::StartAnswer HostedCommands::start(const command::StartRecovery& order) {
  event::StartAnswer answer{order.run, Start::refused, {}, {}, {}};
  const claim::ClaimToken& token = order.failed.token;
  exec::Command command = order.load->job.command;
  command.line = order.script;
  command.stdout_path = recovery_file(world_.setup.output_dir, token.job, token.attempt);
  command.stderr_path = command.stdout_path;
  command.time_limit = kRecoveryLimit;
  if (!command.step.empty())  // which has the job's time
    slurm::set_step_time(command.step, kRecoveryLimit + command.termination_lead);
  command.env.push_back(
      fmt::format("TORC_RETURN_CODE={}", claim::return_code(order.failed.outcome)));
  const Result<Descriptor> output =
      open_recovery_output(world_.preparer.output_root(world_.context.umask), command.stdout_path);
  command.stdout_fd = command.stderr_fd = output.ok() ? output->get() : -1;
  command.stdout_errno = command.stderr_errno = 0;
  if (!output.ok())
    command.stdout_errno = output.error().os_errno != 0 ? output.error().os_errno : EINVAL;
  const Starting now(world_.committer);
  const auto id = world_.host.start(command);
  if (!id) {
    answer.why = id.error().what;
    return answer;
  }
  answer.what = Start::started;
  runs_.add({order.run, *id, HostedRun::Kind::recovery, order.load});
  return answer;
}

event::StartAnswer HostedCommands::start(const command::StartAction& order) {
  event::StartAnswer answer{order.run, Start::postponed, {}, {}, {}};
  if (world_.lease.fenced() || world_.lease.paused()) return answer;
  const claim::ActionGrant& grant = order.grant;
  const claim::Action& action = world_.actions[grant.action - 1];
  const auto commands = workflow::decode_commands(action.recipe);
  exec::Command command = world_.preparer.plain_command((*commands)[grant.done]);
  command.umask = world_.context.umask;
  command.time_limit = order.limit;
  const std::string_view trigger = claim::to_string(action.trigger);
  command.env.push_back(fmt::format("TORC_ACTION={}", grant.action));
  command.env.push_back(fmt::format("TORC_ACTION_RUN={}", grant.nth));
  command.env.push_back(fmt::format("TORC_ACTION_TRIGGER={}", trigger));
  command.env.push_back(fmt::format("TORC_WORKER={}", claim::raw(world_.self)));
  const claim::WorkerEpoch whose =
      claim::is_of_worker(action.trigger) ? world_.self : claim::WorkerEpoch{};
  const Path file = action_file(world_.preparer.output_dir(), grant.action, grant.nth, whose);
  Result<Descriptor> output =
      open_action_output(world_.preparer.output_root(world_.context.umask), file, command.line);
  if (!output.ok())
    world_.notice(fmt::format("the output of action {} ({}) is lost: {}", grant.action, trigger,
                              output.error().what));
  command.stdout_fd = command.stderr_fd = output.ok() ? output->get() : -1;
  const Starting now(world_.committer);
  const auto id = world_.host.start(command);
  if (!id) {
    answer.what = Start::refused;
    answer.why = id.error().what;
    return answer;
  }
  answer.what = Start::started;
  answer.fault = fault(*id, command);
  runs_.add({order.run, *id, HostedRun::Kind::action, nullptr});
  return answer;
}

void HostedCommands::note_in_recovery_file(const Load& load, const exec::Ended& script) {
  if (script.how != exec::Ending::not_started) return;
  const claim::ClaimToken& token = load.job.grant.token;
  const Path root = world_.preparer.output_root(world_.context.umask).path;
  const Path file = recovery_file(world_.setup.output_dir, token.job, token.attempt);
  const auto out = beneath::open_to_append(root, beneath::name_below(root, file));
  const std::string line = fmt::format("torc: {}\n", show_script_end(script));
  if (out.ok()) (void)!::write(out->get(), line.data(), line.size());
}

// --- ends ---

exec::RunId HostedCommands::id_of(Run run) {
  const HostedRun* found = runs_.find(run);
  return found == nullptr ? exec::RunId{} : found->id;
}

void HostedCommands::stop(Run run, std::chrono::nanoseconds lead) {
  if (const HostedRun* found = runs_.find(run)) world_.host.stop(found->id, lead);
}

void HostedCommands::kill(Run run) {
  if (const HostedRun* found = runs_.find(run)) world_.host.kill(found->id);
}

void HostedCommands::forget(Run run) {
  const HostedRun* found = runs_.find(run);
  if (found == nullptr) return;
  world_.host.forget(found->id);
  if (found->load != nullptr) close_unused(*found->load);
  runs_.remove(HostedRun(*found));
}

void HostedCommands::close_output(Run run, bool completed) {
  const HostedRun* found = runs_.find(run);
  if (found == nullptr) return;
  const claim::ClaimToken& token = found->load->job.grant.token;
  series_.end({raw(token.job), token.attempt});
  output_.close(found->load->output, completed);
  runs_.remove(HostedRun(*found));
}

std::vector<Event> HostedCommands::news(const exec::ProcessHost::Wakeup& wakeup) {
  std::vector<Event> events;
  for (const exec::ProcessHost::Begun& begun : wakeup.begun) {
    if (const HostedRun* found = runs_.find(begun.id))
      events.emplace_back(event::Begun{found->run, begun.at, begun.since});
  }
  event::Declined declined;
  for (const exec::ProcessHost::Declined& d : wakeup.declined) {
    const HostedRun* found = runs_.find(d.id);
    if (found == nullptr) continue;
    declined.runs.push_back(found->run);
    close_unused(*found->load);
    runs_.remove(HostedRun(*found));
  }
  if (!declined.runs.empty()) events.emplace_back(std::move(declined));
  std::vector<std::pair<exec::AttemptKey, exec::SeriesPoint>> points;
  for (const exec::Sample& s : wakeup.samples) {
    const HostedRun* job = runs_.find(s.id);
    if (job == nullptr || job->kind != HostedRun::Kind::job) continue;
    const claim::ClaimToken& token = job->load->job.grant.token;
    points.push_back(
        {{raw(token.job), token.attempt}, {s.at, s.memory, s.cpu_time, s.io, s.processes}});
  }
  series_.add(points);
  return events;
}

// What Slurm did to a step of several nodes srun alone says, in the job's standard error.
exec::Ended HostedCommands::judged(const HostedRun& run, const exec::Ended& how) const {
  const bool is_step = run.kind == HostedRun::Kind::job && run.load->job.is_gang_step;
  if (!is_step || how.how != exec::Ending::exited) return how;
  const HeldOutput& output = run.load->output;
  if (output.slot) return exec::judge_gang_step(last_lines(run.load->job.command.stderr_fd), how);
  if (output.files.err.empty()) return how;
  const Path root = world_.preparer.output_root(world_.context.umask).path;
  const auto file = beneath::open_file(root, beneath::name_below(root, output.files.err), O_RDONLY);
  return file.ok() ? exec::judge_gang_step(last_lines(file->get()), how) : how;
}

std::optional<event::Ended> HostedCommands::ended(const exec::Ended& told) {
  HostedRun* found = runs_.find(told.id);
  if (found == nullptr) return std::nullopt;
  const HostedRun run = *found;
  const exec::Ended how = judged(run, told);
  found->ended = true;
  if (lost_ && run.kind == HostedRun::Kind::job) output_.close(run.load->output, false);
  if (lost_ || run.kind != HostedRun::Kind::job) runs_.remove(run);
  event::Ended event{run.run, how, {}};
  // Of a step that is told late.
  const bool is_step = run.load != nullptr && !run.load->job.command.step.empty();
  if (how.how == exec::Ending::not_started && run.kind == HostedRun::Kind::job && is_step)
    event.fault = fault_of(how, run.load->job.command);
  if (!lost_ && run.load != nullptr && !runs_again(how, *run.load))
    event.outputs = look_at_outputs(*run.load);
  // Of others nothing is missing: nobody says that they are done.
  if (run.kind != HostedRun::Kind::job || how.exit_code != 0) event.outputs.missing = 0;
  if (!lost_ && run.kind == HostedRun::Kind::job && run.load->may_be_recovered)
    event.said = signs_.said_by(how, *run.load, world_.preparer.output_root(world_.context.umask));
  return event;
}

event::OutputsSeen HostedCommands::look(const command::LookAtOutputs& order) const {
  return {order.run, look_at_outputs(*order.load)};
}

void HostedCommands::kill_all() {
  lost_ = true;
  (void)take_back();
  world_.host.kill_all();
  for (const HostedRun& run : runs_.all()) {
    if (run.kind == HostedRun::Kind::job && !run.ended) continue;
    if (run.ended) output_.close(run.load->output, false);
    runs_.remove(run);
  }
}

// What waits for a filesystem that hangs cannot die.
void HostedCommands::await_killed() {
  Clock& clock = world_.context.clock;
  const BootTime until = clock.boot_now() + kKillPatience;
  while (!runs_.empty() && clock.boot_now() < until) {
    const auto wakeup = world_.host.wait(until);
    if (!wakeup) break;
    (void)news(*wakeup);  // what a slot was about to begin may not have begun
    for (const exec::Ended& how : wakeup->ended) (void)ended(how);
  }
  for (const HostedRun& run : runs_.all()) OutputKeeper::abandon(run.load->output);
}

void HostedCommands::close() {
  if (lost_) await_killed();
  output_.tidy();
}

}  // namespace torc::worker
