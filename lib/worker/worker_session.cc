#include "lib/worker/worker_session.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/claim/queries/action_runs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/lease.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/transactions/membership.h"
#include "lib/exec/machine/gpus.h"
#include "lib/store/disk/filesystem.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Starts in a row that fail for reasons of this node, before the worker leaves it to others.
constexpr int kMostFaults = 3;
// What kills its worker for the way in which it begins has done so by then. One whose next loss
// would be its last runs alone to its end: no job fails for what another one did.
constexpr nanoseconds kProbation = 10s;

int make_signal_fd() {
  const sigset_t set = worker_signals();
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Whether commits cost anybody but this host: a journal on its own disk does not.
claim::Sharing sharing_of(const store::Store& store) {
  struct statfs about {};
  if (store.identity().engine != store::Engine::journal) return claim::Sharing::local;
  if (statfs(store.directory().c_str(), &about) != 0) return claim::Sharing::shared;
  const auto type = store::filesystem_type(static_cast<std::uint64_t>(about.f_type));
  return type.sharing == store::Sharing::shared ? claim::Sharing::shared : claim::Sharing::local;
}

bool has_script(const claim::Handler& handler) {
  return std::any_of(handler.rules.begin(), handler.rules.end(),
                     [](const claim::RetryRule& rule) { return !rule.script.empty(); });
}

claim::StartFault fault_at(exec::StartStep step) {
  switch (step) {
    case exec::StartStep::none:
      return claim::StartFault::unknown;
    case exec::StartStep::directory:
      return claim::StartFault::directory;
    case exec::StartStep::stdout_file:
      return claim::StartFault::stdout_file;
    case exec::StartStep::stderr_file:
      return claim::StartFault::stderr_file;
    case exec::StartStep::cpus:
      return claim::StartFault::cpus;
    case exec::StartStep::execute:
      return claim::StartFault::program;
  }
  return claim::StartFault::unknown;
}

}  // namespace

Session::Session(const workflow::Context& context, const WorkerSetup& setup,
                 const WorkerEvents& events, exec::ProcessHost& host, NodeShare& share)
    : context_(context),
      clock_(context.clock),
      setup_(setup),
      events_(events),
      host_(host),
      share_(share),
      lease_(context.watched != nullptr ? *context.watched : own_lease_),
      signal_fd_(make_signal_fd()),
      mounted_(setup.mountinfo ? setup.mountinfo() : std::string()),
      lease_ttl_(setup.lease_ttl),
      begun_(clock_.boot_now()) {
  if (setup.ends_at) {
    ends_at_ = clock_.boot_now() + std::max<nanoseconds>(*setup.ends_at - clock_.wall_now(), 0ns);
  }
}

Session::~Session() {
  close(signal_fd_);
}

Result<bool> Session::enter(store::Store& store) {
  const claim::Sharing sharing = sharing_of(store);
  pace_ = claim::Pace(sharing);
  if (sharing == claim::Sharing::local) return true;
  claim::Entrance entrance(sharing, setup_.starters);
  for (nanoseconds wait = entrance.delay(dice());;) {
    for (const BootTime until = clock_.boot_now() + wait; clock_.boot_now() < until;) {
      TORC_ASSIGN(const exec::ProcessHost::Wakeup wakeup, host_.wait(until));
      if (wakeup.readable.empty()) continue;
      signalfd_siginfo info{};
      while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo != SIGUSR1) return false;
      }
    }
    claim::Crowd crowd;
    std::uint64_t newest = 0;
    TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
      newest = reader.sequence();
      TORC_ASSIGN(crowd, claim::read_crowd(reader));
      return {};
    }));
    wait = entrance.wait(clock_.boot_now(), newest, crowd.workers, dice());
    if (wait == 0ns) return true;
  }
}

Result<WorkerSummary> Session::run(std::unique_ptr<store::Store> store) {
  auto lived = live(std::move(store));
  if (lived || !summary_.interrupted) return lived;
  summary_.end = end_.value_or(WorkerEnd::interrupted);
  summary_.failure = std::move(lived).error();
  return summary_;
}

Result<WorkerSummary> Session::live(std::unique_ptr<store::Store> store) {
  TORC_TRY(host_.watch(signal_fd_));
  TORC_ASSIGN(const bool entered, enter(*store));
  if (!entered) {
    host_.unwatch(signal_fd_);
    summary_.end = WorkerEnd::interrupted;
    summary_.interrupted = true;
    return summary_;
  }
  claim::WorkerInfo info;
  const exec::ProcessIdentity me = lease_.process();
  info.host = setup_.machine.host;
  info.pid = me.pid;
  info.pid_start = me.start;
  info.boot_id = exec::boot_id();
  info.pid_namespace = exec::pid_namespace();
  info.above = exec::ancestors_of(me);
  info.user = exec::this_user();
  info.allocation = setup_.allocation;
  info.cluster = setup_.cluster;
  info.allocation_start = setup_.allocation_start;
  info.scheduler = setup_.scheduler;
  info.label = setup_.label;
  info.any_binding = setup_.any_scheduler;
  info.ignores_resources = setup_.max_parallel_jobs.has_value();
  // Within the store it is left out, so that a store that was moved keeps its output.
  if (setup_.output_dir != default_output_dir(store->directory()))
    info.output_dir = setup_.output_dir.string();
  info.cpus = setup_.machine.cpus;
  info.gpus = static_cast<std::uint32_t>(setup_.machine.gpus.size());
  info.memory = setup_.machine.memory;
  info.registered_at = clock_.wall_now();
  info.ends_at = setup_.ends_at.value_or(WallTime{});
  info.lease_ttl = setup_.lease_ttl;
  info.lease_beat = setup_.lease_beat;

  std::string settings;
  std::vector<claim::Action> actions;
  claim::Crowd crowd;
  const BootTime registered = clock_.boot_now();
  TORC_TRY(store->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    std::optional<claim::Worker> before;
    if (setup_.staggered_start) {
      TORC_ASSIGN(before, claim::newest_worker(tx));
    }
    info.claims_from =
        before ? claim::turn_to_claim(before->info.claims_from, info.registered_at, setup_.starters)
               : info.registered_at;
    TORC_ASSIGN(self_, claim::register_worker(tx, info));
    info.own_beat_file = claim::beat_place(tx, self_).file == store::BeatFile::own;
    TORC_ASSIGN(crowd, claim::read_crowd(tx));
    TORC_ASSIGN(claim::WorkflowState workflow, claim::read_workflow(tx));
    settings = workflow.settings;
    if (workflow.actions.actions > 0) {
      TORC_ASSIGN(actions, claim::read_actions(tx));
    }
    workflow.settings.clear();
    summary_.workflow = std::move(workflow);
    return {};
  }));
  // So that it claims enough at once.
  pace_.saw({registered, claim::raw(self_), crowd.workers, 0ns, crowd.job_time, crowd.ready});
  lease_.hold(registered, claim::fencing_limit(lease_ttl_));
  TORC_ASSIGN(workflow::WorkflowSettings decoded, workflow::decode_workflow_settings(settings));
  summary_.epoch = claim::raw(self_);
  exec::Machine handed_out = setup_.machine;
  if (setup_.max_parallel_jobs) handed_out.gpu_variable.clear();  // jobs take what they find
  preparer_ = std::make_unique<JobPreparer>(store->directory(), store->identity().instance_hex(),
                                            std::move(decoded), setup_.output_dir,
                                            context_.environment, handed_out, self_);
  committer_ = std::make_unique<Committer>(context_, std::move(store), self_, info, registered,
                                           *preparer_, setup_.run_program, lease_);
  output_ = std::make_unique<OutputKeeper>(preparer_->output_root(context_.umask),
                                           setup_.output_dir, claim::raw(self_),
                                           [this](const std::string& line) { notice(line); });
  if (!actions.empty()) {
    actions_ = std::make_unique<ActionRunner>(
        ActionRunner::World{host_, *preparer_, self_, context_.umask,
                            [this](const std::string& line) { notice(line); }},
        std::move(actions));
    asked_welcome_ = !actions_->has(claim::Trigger::worker_start);
  }
  series_ = std::make_unique<SeriesKeeper>(preparer_->output_root(context_.umask),
                                           setup_.output_dir, claim::raw(self_),
                                           [this](const std::string& line) { notice(line); });
  bind_jobs();
  TORC_TRY(host_.watch(committer_->fd()));
  if (lease_.news_fd() >= 0) TORC_TRY(host_.watch(lease_.news_fd()));
  idle_since_ = clock_.boot_now();
  if (info.claims_from > info.registered_at) {
    const WallTime turn = info.claims_from - info.registered_at;
    not_before_ = no_start_before_ = registered + turn;
    notice(fmt::format("its turn to claim comes in {} (staggered_start)", show_duration(turn)));
  }

  while (!may_leave()) {
    let_others();
    run_actions();
    start_jobs();
    return_unfit();
    send_if_due();
    settle_share();
    TORC_TRY(wait());
    check_time();
  }
  return leave();
}

// In the order of the grants, but a job that does not fit yet does not keep smaller ones behind it
// waiting.
void Session::start_jobs() {
  narrow_lane();
  if (phase_ != Phase::working || (queue_.empty() && armed_.empty())) return;
  if (clock_.boot_now() < std::max(not_before_, no_start_before_)) return;
  if (may_be_halted()) return;
  share_.check();  // just before it is used
  if (fill_lane()) return;
  for (auto it = queue_.begin(); it != queue_.end();) {
    if (lease_.paused()) return;
    if (!may_start_beside(*it)) return;
    if (it->not_before > clock_.boot_now()) {
      ++it;
      continue;
    }
    if (!setup_.max_parallel_jobs && share_.free_cpus() == 0 && !share_.may_grow()) return;
    if (!share_gives(*it)) {
      ++it;
      continue;
    }
    for (auto before = queue_.begin(); before != it; ++before) before->passed_over = true;
    PreparedJob job = std::move(*it);
    it = queue_.erase(it);
    if (!start(std::move(job))) return;
  }
}

// Beside what runs here. The store grants nothing else; what it does not know yet counts, too.
bool Session::may_start_beside(const PreparedJob& job) const {
  if (running_.empty()) return true;
  if (alone_ && clock_.boot_now() < alone_->until) return false;
  return !job.grant.alone || std::all_of(running_.begin(), running_.end(),
                                         [](const auto& r) { return r.second.suspect; });
}

bool Session::start(PreparedJob job) {
  if (lease_.fenced()) return false;  // the loop comes to it at once
  std::vector<std::string> gpus;
  if (!setup_.max_parallel_jobs) gpus = share_.take(job.need);
  job.command.cpus = take_cpus(job);
  put_in_place(job, gpus);
  look_at_inputs(job.declared);
  job.command.umask = context_.umask;
  HeldOutput output = output_->open(job);
  committer_->starting(true);
  auto id = host_.start(job.command);
  committer_->starting(false);
  const Blame whose = id ? blame(*id, job) : Blame::job;
  const std::string obstacle = !id                       ? id.error().what
                               : whose == Blame::unknown ? dead_mount(*id, job.grant.token.job)
                                                         : std::string();
  if (!obstacle.empty()) {
    output_->close(output, false);
    job.command.stdout_fd = job.command.stderr_fd = -1;
    // This host cannot start anything just now: try again soon, but do not keep from others what it
    // cannot run.
    release(job.need, gpus, job.command.cpus);
    if (refused_starts_++ == 0) {
      notice(fmt::format("cannot start '{}', trying again: {}", job.name, obstacle));
    }
    no_start_before_ = clock_.boot_now() + std::min(refused_starts_ * nanoseconds(1s), kLastRetry);
    // Where it may be the fault of its own files others are asked for and tried first.
    if (whose == Blame::unknown) {
      job.not_before = no_start_before_ + std::min(++job.refusals * nanoseconds(1s), kLastRetry);
      queue_.push_back(std::move(job));
    } else {
      queue_.push_front(std::move(job));
    }
    if (refused_starts_ % 5 == 0) return_queue();
    if (whose == Blame::unknown) leave_dead_mount(obstacle);
    return false;
  }
  refused_starts_ = 0;
  if (whose != Blame::unknown) note_start(job.grant.token.job);
  if (job.grant.alone) {
    const bool to_its_end = job.crash_limit != 0 && job.grant.lost + 1 >= job.crash_limit;
    alone_ = {job.grant.token, to_its_end ? BootTime::max() : clock_.boot_now() + kProbation};
    notice(fmt::format("'{}' runs alone{}: an earlier worker was lost with it", job.name,
                       to_its_end ? "" : " for a while"));
  }
  Beginning beginning;
  beginning.label = events_.label ? events_.label(job) : std::string();
  beginning.gpus = std::move(gpus);
  beginning.output = std::move(output);
  beginning.blame = whose;
  beginning.at = clock_.wall_now();
  beginning.since = clock_.boot_now();
  begin(*id, std::move(job), std::move(beginning));
  return true;
}

void Session::begin(exec::RunId id, PreparedJob job, Beginning beginning) {
  pace_.job_started(beginning.since);
  starts_.push_back({job.grant.token, beginning.at});
  Running running{beginning.since,
                  job.grant.token,
                  job.need,
                  std::move(beginning.gpus),
                  std::move(job.name),
                  std::move(beginning.output),
                  std::move(job.declared),
                  job.grant.stopped,
                  beginning.revoked,
                  std::move(job.handler),
                  std::move(job.retries),
                  job.memory_ceiling,
                  job.checkpoint_exit_code,
                  {},
                  {},
                  std::move(beginning.label),
                  job.command.cpus,
                  job.command.line,
                  beginning.blame,
                  job.grant.alone,
                  beginning.in_lane};
  if (running.handler != nullptr && has_script(*running.handler))
    running.command = std::move(job.command);
  running_.emplace(static_cast<std::uint64_t>(id), std::move(running));
}

void Session::look_at_inputs(JobFiles& declared) const {
  if (declared.inputs.empty()) return;
  const workflow::WorkflowSettings& settings = preparer_->settings();
  // What could not be looked at is not told: it makes nothing stale later.
  auto marks = workflow::marks_of(settings.directory, declared.inputs, settings.sums);
  if (marks) declared.seen.inputs = *std::move(marks);
}

// Empty for most jobs: they declare nothing, and nothing is kept of them.
std::string Session::signature_of(Running& job) const {
  if (!job.declared.any()) return {};
  const workflow::WorkflowSettings& settings = preparer_->settings();
  auto marks = workflow::marks_of(settings.directory, job.declared.outputs, settings.sums);
  if (marks) job.declared.seen.outputs = *std::move(marks);
  return claim::encode(std::move(job.declared.seen));
}

// What depends on the moment of the start: GPUs, the end of this worker's time.
void Session::put_in_place(PreparedJob& job, const std::vector<std::string>& gpus) const {
  const auto set = [&](const std::string& name, const std::string& value) {
    const std::string start = name + "=";
    std::erase_if(job.command.env, [&](const std::string& e) { return e.starts_with(start); });
    job.command.env.push_back(start + value);
  };
  if (!setup_.machine.gpu_variable.empty() && !setup_.max_parallel_jobs) {
    const std::string& variable = setup_.machine.gpu_variable;
    set(variable, exec::visible_gpus(variable, gpus));
  }
  if (setup_.ends_at) set("TORC_END_TIME", std::to_string(setup_.ends_at->count() / 1'000'000));
}

claim::Finished Session::verdict(const Running& job, const exec::Ended& ended) const {
  claim::Finished finished{job.token, claim::JobState::failed, {}};
  claim::Outcome& o = finished.outcome;
  o.exit_code = ended.exit_code;
  o.signal = ended.signal;
  o.os_errno = ended.os_errno;
  o.started_at = ended.started_at;
  o.ended_at = ended.ended_at;
  o.max_rss = ended.max_rss;
  o.cpu_time = ended.cpu_time;
  o.activity = ended.activity;
  if (is_checkpoint(job, ended)) {
    o.cause = claim::EndCause::exited;
    finished.state = claim::JobState::ready;
    finished.checkpointed = true;
    return finished;
  }
  const bool again = job.stopped + 1 < claim::kMostStops;
  switch (was_meant_for_worker(ended) ? exec::Ending::stopped : ended.how) {
    case exec::Ending::exited:
      o.cause = claim::EndCause::exited;
      if (ended.exit_code == 0) finished.state = claim::JobState::completed;
      if (may_be_checkpoint(job, ended) && again) finished.state = claim::JobState::ready;
      break;
    case exec::Ending::signaled:
      o.cause = claim::EndCause::signaled;
      break;
    case exec::Ending::not_started:
      o.cause = claim::EndCause::not_started;
      o.fault = fault_at(ended.failed_at);
      if (job.blame != Blame::job && again) finished.state = claim::JobState::ready;
      break;
    case exec::Ending::timed_out:
      o.cause = claim::EndCause::timed_out;
      o.exit_code = preparer_->settings().run.execution.timeout_exit_code;
      finished.state = claim::JobState::terminated;
      break;
    case exec::Ending::out_of_memory:
      o.cause = claim::EndCause::out_of_memory;
      o.exit_code = preparer_->settings().run.execution.oom_exit_code;
      break;
    case exec::Ending::stopped:
      // Not the job's fault: it runs again elsewhere, but not for ever.
      o.cause = stop_cause_;
      finished.state = again ? claim::JobState::ready : claim::JobState::terminated;
      break;
  }
  return finished;
}

// Whoever stops a worker signals all of its processes, one after the other: a job can end of the
// SIGTERM that was meant for its worker before the worker has its own. Such an end waits a moment
// for its explanation.
void Session::job_ended(const exec::Ended& ended) {
  const nanoseconds patience = patience_with(ended);
  // Not while the lease is in doubt either: what follows an end could start something.
  if ((patience > 0ns || lease_.paused()) && end_ != WorkerEnd::lease_lost) {
    suspects_.push_back({clock_.boot_now() + patience, ended});
  } else {
    conclude(ended);
  }
}

void Session::conclude(const exec::Ended& ended) {
  close_killed(ended.id);
  if (actions_ != nullptr && actions_->ended(ended, was_meant_for_worker(ended))) {
    if (is_quiet()) idle_since_ = clock_.boot_now();
    return;
  }
  const auto it = running_.find(static_cast<std::uint64_t>(ended.id));
  if (it == running_.end()) return;
  Running job = std::move(it->second);
  running_.erase(it);
  if (job.failed) return recovered(std::move(job), ended);
  series_->end({raw(job.token.job), job.token.attempt});
  claim::Finished finished = verdict(job, ended);
  output_->close(job.output, !job.revoked && finished.state == claim::JobState::completed);
  if (!job.revoked && recover(job, finished)) return;
  report_end(std::move(job), ended, std::move(finished));
}

void Session::tell_end(const Running& job, const claim::Finished& finished) const {
  if (!events_.ended || job.revoked || finished.state == claim::JobState::ready) return;
  if (retry_rule(job, finished) != nullptr) return;
  events_.ended({job.token, claim::raw(self_), job.label, finished.state, finished.outcome});
}

void Session::report_end(Running job, const exec::Ended& ended, claim::Finished finished) {
  tell_end(job, finished);
  pace_.job_ended(clock_.boot_now() - job.started, clock_.boot_now());
  if (!job.in_lane) release(job.need, job.gpus, job.cpus);
  if (alone_ && alone_->token == job.token) {
    alone_.reset();
    nothing_claimable_ = false;
  }
  if (job.revoked) {
    // Whatever it came to: only that it is over counts.
  } else if (finished.state == claim::JobState::completed) {
    ++summary_.completed;
    ++unsaid_.completed;
  } else if (retry_rule(job, finished) != nullptr) {
    say_again(job, finished);
  } else if (finished.state == claim::JobState::ready) {
    ++summary_.given_back;
  } else {
    ++summary_.failed;
    ++unsaid_.failed;
    if (events_.failure) events_.failure(job.name, how_ended(job, finished.outcome));
    say_ceiling(job, finished);
    say_undecided(job, finished);
  }
  if (job.blame == Blame::job) {
    faulty_starts_ = 0;
  } else if (++faulty_starts_ >= kMostFaults && !end_) {
    notice(fmt::format("cannot run jobs here: {} of '{}': {}", exec::to_string(ended.failed_at),
                       job.name, std::strerror(ended.os_errno)));
    finish(WorkerEnd::broken);
  }
  if (!job.revoked && finished.state != claim::JobState::ready)
    finished.signature = signature_of(job);
  finishes_.push_back(std::move(finished));
  if (!is_quiet()) return;
  idle_since_ = quiet_since_ = clock_.boot_now();
  if (end_) hurry();
}

}  // namespace torc::worker
