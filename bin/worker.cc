#include "bin/worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bin/committer.h"
#include "bin/job_command.h"
#include "lib/claim/lease.h"
#include "lib/exec/process_host.h"

namespace torc::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kUrgentWindow = 250us;  // between commits while a slot is idle
constexpr nanoseconds kCalmWindow = 5ms;      // between commits while every slot has work
constexpr double kCommitsPerSecond = 20;      // of the whole workflow, when several nodes share it
constexpr nanoseconds kFirstPoll = 1s;        // idle polling backs off from here …
constexpr nanoseconds kLastPoll = 30s;        // … to here
constexpr nanoseconds kTermLead = 15s;  // SIGTERM of the batch system: KillWait is 30 s by default
constexpr std::uint64_t kMostAhead = 4096;
constexpr std::uint32_t kMostStops =
    5;  // attempts cut off by the end of an allocation, before a job is given up

enum class Phase : std::uint8_t {
  working,
  draining,  // claims nothing more; what runs may end by itself
  stopping   // what runs was told to end
};

struct Running {
  claim::ClaimToken token;
  claim::Requirement need;
  std::vector<std::string> gpus;
  std::string name;
  OutputFiles files;
  bool delete_on_success = false;
};

int make_signal_fd() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, s);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

std::optional<BootTime> earlier(std::optional<BootTime> a, BootTime b) {
  return a ? std::min(*a, b) : b;
}

class Session {
 public:
  Session(const App& app, const WorkerSetup& setup, const WorkerEvents& events,
          exec::ProcessHost& host)
      : app_(app),
        clock_(app.clock),
        setup_(setup),
        events_(events),
        host_(host),
        gpu_pool_(setup.machine.gpus),
        signal_fd_(make_signal_fd()),
        free_cpus_(setup.machine.cpus),
        free_memory_(setup.machine.memory) {}
  ~Session() { close(signal_fd_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Result<WorkerSummary> run(std::unique_ptr<store::Store> store);

 private:
  // The three steps of the loop.
  void start_jobs();
  void send_if_due();
  Result<void> wait();

  bool start(PreparedJob job);
  bool fits(const PreparedJob& job) const;
  void job_ended(const exec::Ended& ended);
  claim::Finished verdict(const Running& job, const exec::Ended& ended) const;
  void take_reply();
  void keep_for_later(const Error& error);
  void handle_signals();
  void check_time();
  void check_done(const claim::Answer& answer);
  void return_queue();
  void stop_running(nanoseconds lead);
  void lose_lease(std::string why);
  void finish(WorkerEnd end);

  claim::Offer offer() const;
  bool idle_slot() const;
  bool wants_jobs() const;
  bool has_reports() const { return !starts_.empty() || !finishes_.empty() || !returns_.empty(); }
  nanoseconds window() const;
  std::optional<BootTime> wake_at() const;
  void notice(const std::string& line) const {
    if (events_.notice) events_.notice(line);
  }
  Result<WorkerSummary> leave();

  const App& app_;
  Clock& clock_;
  const WorkerSetup& setup_;
  const WorkerEvents& events_;
  exec::ProcessHost& host_;
  exec::GpuPool gpu_pool_;
  int signal_fd_;
  std::unique_ptr<JobPreparer> preparer_;
  std::unique_ptr<Committer> committer_;
  claim::WorkerEpoch self_{};

  Phase phase_ = Phase::working;
  std::optional<WorkerEnd> end_;  // why, once it is decided
  std::uint32_t free_cpus_;
  ByteCount free_memory_;
  std::deque<PreparedJob> queue_;  // claimed, not started, in order
  std::unordered_map<std::uint64_t, Running> running_;
  std::vector<claim::Started> starts_;
  std::vector<claim::Finished> finishes_;
  std::vector<claim::ClaimToken> returns_;
  claim::Exchange in_flight_;

  BootTime last_sent_{};
  nanoseconds commit_cost_{kUrgentWindow};
  std::uint64_t hosts_ = 1;
  bool nothing_claimable_ =
      false;  // the newest answer said so; a change or the poll timer clears it
  nanoseconds poll_interval_ = kFirstPoll;
  BootTime next_poll_{};
  BootTime not_before_{};  // after a failed commit or start
  nanoseconds retry_delay_ = 1s;
  BootTime idle_since_{};
  double rate_ = 0;  // jobs ended per second
  int interrupts_ = 0;
  Path made_directory_;
  WorkerSummary summary_;
};

Result<WorkerSummary> Session::run(std::unique_ptr<store::Store> store) {
  claim::WorkerInfo info;
  const exec::ProcessIdentity me = exec::this_process();
  info.host = setup_.machine.host;
  info.pid = me.pid;
  info.pid_start = me.start;
  info.boot_id = exec::boot_id();
  info.pid_namespace = exec::pid_namespace();
  info.allocation = setup_.allocation;
  info.scheduler = setup_.scheduler;
  info.label = setup_.label;
  info.output_dir = setup_.output_dir.string();
  info.cpus = setup_.machine.cpus;
  info.gpus = static_cast<std::uint32_t>(setup_.machine.gpus.size());
  info.memory = setup_.machine.memory;
  info.registered_at = clock_.wall_now();
  info.ends_at = setup_.ends_at.value_or(WallTime{});
  info.lease_ttl = setup_.lease_ttl;

  std::string settings;
  TORC_TRY(store->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(self_, claim::register_worker(tx, info));
    TORC_ASSIGN(claim::WorkflowState workflow, claim::read_workflow(tx));
    settings = workflow.settings;
    workflow.settings.clear();
    summary_.workflow = std::move(workflow);
    return {};
  }));
  TORC_ASSIGN(WorkflowSettings decoded, decode_workflow_settings(settings));
  summary_.epoch = claim::raw(self_);
  preparer_ =
      std::make_unique<JobPreparer>(store->directory(), store->identity().id_hex(),
                                    std::move(decoded), setup_.output_dir, app_.environment);
  committer_ = std::make_unique<Committer>(app_, std::move(store), self_, info, *preparer_,
                                           setup_.run_program);
  TORC_TRY(host_.watch(signal_fd_));
  TORC_TRY(host_.watch(committer_->fd()));
  idle_since_ = clock_.boot_now();

  while (!(end_ && running_.empty() && queue_.empty() && !has_reports() && !committer_->busy())) {
    start_jobs();
    send_if_due();
    TORC_TRY(wait());
    check_time();
  }
  return leave();
}

// --- starting
// ---------------------------------------------------------------------------------------------------

bool Session::fits(const PreparedJob& job) const {
  if (setup_.max_parallel_jobs) return running_.size() < *setup_.max_parallel_jobs;
  return job.need.cpus <= free_cpus_ && job.need.memory <= free_memory_ &&
         job.need.gpus <= gpu_pool_.free();
}

// In the order of the grants, but a job that does not fit yet does not keep smaller ones behind it
// waiting.
void Session::start_jobs() {
  if (phase_ != Phase::working || clock_.boot_now() < not_before_) return;
  for (auto it = queue_.begin(); it != queue_.end();) {
    if (!setup_.max_parallel_jobs && free_cpus_ == 0) return;
    if (!fits(*it)) {
      ++it;
      continue;
    }
    PreparedJob job = std::move(*it);
    it = queue_.erase(it);
    if (!start(std::move(job))) return;
  }
}

bool Session::start(PreparedJob job) {
  if (!job.files.out.empty() || !job.files.err.empty()) {
    const Path parent = (job.files.out.empty() ? job.files.err : job.files.out).parent_path();
    if (parent != made_directory_) {
      std::error_code error;
      std::filesystem::create_directories(parent, error);
      if (!error) made_directory_ = parent;  // else the start fails and says why
    }
  }
  std::vector<std::string> gpus;
  if (job.need.gpus > 0 || !setup_.machine.gpu_variable.empty()) {
    if (auto taken = gpu_pool_.take(setup_.max_parallel_jobs ? 0 : job.need.gpus))
      gpus = *std::move(taken);
    if (!setup_.machine.gpu_variable.empty() && !setup_.max_parallel_jobs) {
      std::string visible;
      for (const std::string& id : gpus) visible += (visible.empty() ? "" : ",") + id;
      std::erase_if(job.command.env, [&](const std::string& e) {
        return e.starts_with(setup_.machine.gpu_variable + "=");
      });
      job.command.env.push_back(setup_.machine.gpu_variable + "=" + visible);
    }
  }
  if (setup_.ends_at) {
    job.command.env.push_back(fmt::format("TORC_END_TIME={}", setup_.ends_at->count() / 1'000'000));
  }
  auto id = host_.start(job.command);
  if (!id) {
    // This host cannot start anything just now: keep the job, try again soon.
    gpu_pool_.give_back(gpus);
    notice(fmt::format("cannot start '{}': {}", job.name, id.error().what));
    queue_.push_front(std::move(job));
    not_before_ = clock_.boot_now() + 1s;
    return false;
  }
  free_cpus_ -= std::min(free_cpus_, job.need.cpus);
  free_memory_ = free_memory_ - std::min(free_memory_, job.need.memory);
  starts_.push_back({job.grant.token, clock_.wall_now()});
  running_.emplace(static_cast<std::uint64_t>(*id),
                   Running{job.grant.token, job.need, std::move(gpus), std::move(job.name),
                           std::move(job.files), job.stdio.delete_on_success});
  return true;
}

// --- ends
// -------------------------------------------------------------------------------------------------------

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
  switch (ended.how) {
    case exec::Ending::exited:
      o.cause = claim::EndCause::exited;
      if (ended.exit_code == 0) finished.state = claim::JobState::completed;
      break;
    case exec::Ending::signaled:
      o.cause = claim::EndCause::signaled;
      break;
    case exec::Ending::not_started:
      o.cause = claim::EndCause::not_started;
      break;
    case exec::Ending::timed_out:
      o.cause = claim::EndCause::timed_out;
      o.exit_code = preparer_->settings().run.execution.timeout_exit_code;
      finished.state = claim::JobState::terminated;
      break;
    case exec::Ending::stopped:
      // Not the job's fault: it runs again elsewhere, but not for ever.
      o.cause = claim::EndCause::stopped;
      finished.state =
          job.token.attempt < kMostStops ? claim::JobState::ready : claim::JobState::terminated;
      break;
  }
  return finished;
}

void Session::job_ended(const exec::Ended& ended) {
  const auto it = running_.find(static_cast<std::uint64_t>(ended.id));
  if (it == running_.end()) return;
  Running job = std::move(it->second);
  running_.erase(it);
  free_cpus_ = std::min(setup_.machine.cpus, free_cpus_ + job.need.cpus);
  free_memory_ = std::min(setup_.machine.memory, free_memory_ + job.need.memory);
  gpu_pool_.give_back(job.gpus);
  claim::Finished finished = verdict(job, ended);
  if (finished.state == claim::JobState::completed) {
    ++summary_.completed;
    if (job.delete_on_success) {
      std::error_code ignored;  // a log that stays is no harm
      if (!job.files.out.empty()) std::filesystem::remove(job.files.out, ignored);
      if (!job.files.err.empty()) std::filesystem::remove(job.files.err, ignored);
    }
  } else if (finished.state != claim::JobState::ready) {
    ++summary_.failed;
    if (events_.failure) events_.failure(job.name, finished.outcome);
  }
  finishes_.push_back(std::move(finished));
  if (running_.empty()) idle_since_ = clock_.boot_now();
}

// --- talking to the store
// ---------------------------------------------------------------------------------------

claim::Offer Session::offer() const {
  claim::Offer o;
  o.total_cpus = setup_.machine.cpus;
  o.total_gpus = static_cast<std::uint32_t>(setup_.machine.gpus.size());
  o.total_memory = setup_.machine.memory;
  o.cpus = free_cpus_;
  o.memory = free_memory_;
  o.gpus = static_cast<std::uint32_t>(gpu_pool_.free());
  for (const PreparedJob& job : queue_) {
    o.cpus -= std::min(o.cpus, job.need.cpus);
    o.memory = o.memory - std::min(o.memory, job.need.memory);
    o.gpus -= std::min(o.gpus, job.need.gpus);
  }
  o.scheduler = setup_.scheduler;
  o.label = setup_.label;
  o.any_binding = setup_.any_scheduler;
  if (setup_.ends_at) {
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(*setup_.ends_at - clock_.wall_now());
    o.remaining = std::max(left, 0s);
  }
  if (setup_.max_parallel_jobs) {
    o.ignore_resources = true;
    const std::uint64_t used = running_.size() + queue_.size();
    o.max_jobs = *setup_.max_parallel_jobs > used ? *setup_.max_parallel_jobs - used : 0;
  } else {
    o.max_jobs = o.cpus;
  }
  // As many as will end before the next answer can be here, twice, since ends come in bursts.
  const double horizon = 2e-9 * static_cast<double>(std::max(window(), commit_cost_).count());
  const auto wanted = std::min(static_cast<std::uint64_t>(std::ceil(rate_ * horizon)), kMostAhead);
  o.ahead = wanted > queue_.size() ? wanted - queue_.size() : 0;
  return o;
}

bool Session::idle_slot() const {
  if (setup_.max_parallel_jobs) return running_.size() + queue_.size() < *setup_.max_parallel_jobs;
  return queue_.empty() && free_cpus_ > 0;
}

bool Session::wants_jobs() const {
  if (phase_ != Phase::working || end_) return false;
  if (nothing_claimable_) return false;
  if (idle_slot()) return true;
  const double horizon = 1e-9 * static_cast<double>(std::max(window(), commit_cost_).count());
  return static_cast<double>(queue_.size()) < rate_ * horizon;
}

nanoseconds Session::window() const {
  nanoseconds w = idle_slot() ? std::max(kUrgentWindow, commit_cost_ / 4)
                              : std::max(kCalmWindow, 2 * commit_cost_);
  if (hosts_ > 1) {
    const double share = static_cast<double>(hosts_) / kCommitsPerSecond;
    w = std::max(w, nanoseconds(static_cast<std::int64_t>(share * 1e9)));
  }
  return w;
}

void Session::send_if_due() {
  if (committer_->busy()) return;
  if (!has_reports() && !wants_jobs()) return;
  const BootTime now = clock_.boot_now();
  if (now < not_before_ || now < last_sent_ + window()) return;
  claim::Exchange exchange;
  exchange.worker = self_;
  exchange.now = clock_.wall_now();
  exchange.starts = std::move(starts_);
  exchange.finishes = std::move(finishes_);
  exchange.returns = std::move(returns_);
  starts_.clear();
  finishes_.clear();
  returns_.clear();
  if (phase_ == Phase::working && !end_) exchange.offer = offer();
  const double elapsed = std::chrono::duration<double>(now - last_sent_).count();
  rate_ =
      0.7 * rate_ + 0.3 * static_cast<double>(exchange.finishes.size()) / std::max(elapsed, 1e-6);
  last_sent_ = now;
  in_flight_ = exchange;
  committer_->submit(std::move(exchange));
}

void Session::take_reply() {
  auto reply = committer_->take_reply();
  if (!reply) return;
  hosts_ = reply->hosts;
  if (reply->error) {
    const ErrorKind kind = reply->error->kind;
    if (kind == ErrorKind::fenced || kind == ErrorKind::unknown || kind == ErrorKind::corrupt) {
      lose_lease(reply->error->text());
    } else {
      keep_for_later(*reply->error);
    }
    return;
  }
  retry_delay_ = 1s;
  if (reply->commit.wrote) commit_cost_ = (3 * commit_cost_ + reply->commit.cost) / 4;
  for (const claim::Refused& refused : reply->refused) {
    notice(fmt::format("the result of job #{} (attempt {}) was discarded: {}",
                       raw(refused.token.job), refused.token.attempt,
                       refused.why == claim::Refusal::superseded
                           ? fmt::format("worker {} has the job now", claim::raw(refused.holder))
                           : "the job has ended already"));
  }
  summary_.workflow = reply->answer.workflow;
  if (events_.progress) events_.progress(summary_.workflow);
  for (PreparedJob& job : reply->jobs) queue_.push_back(std::move(job));
  if (end_ || phase_ != Phase::working) {
    return_queue();
    return;
  }
  if (!in_flight_.offer) return;
  if (reply->jobs.empty()) {
    nothing_claimable_ = true;
    const double jitter =
        0.75 + 0.5 * static_cast<double>(app_.world.entropy.next() >> 11) * 0x1p-53;
    next_poll_ = clock_.boot_now() + nanoseconds(static_cast<std::int64_t>(
                                         static_cast<double>(poll_interval_.count()) * jitter));
    poll_interval_ = std::min(2 * poll_interval_, kLastPoll);
    check_done(reply->answer);
  } else {
    nothing_claimable_ = false;
    poll_interval_ = kFirstPoll;
  }
}

void Session::keep_for_later(const Error& error) {
  const auto put_back = [](auto& now, auto& before) {
    before.insert(before.end(), std::make_move_iterator(now.begin()),
                  std::make_move_iterator(now.end()));
    now = std::move(before);
  };
  put_back(starts_, in_flight_.starts);
  put_back(finishes_, in_flight_.finishes);
  put_back(returns_, in_flight_.returns);
  if (retry_delay_ == 1s) {
    notice(fmt::format("the store cannot be written now, trying again: {}", error.text()));
  }
  not_before_ = clock_.boot_now() + retry_delay_;
  retry_delay_ = std::min(2 * retry_delay_, nanoseconds(kLastPoll));
}

void Session::check_done(const claim::Answer& answer) {
  if (!running_.empty() || !queue_.empty() || has_reports()) return;
  const claim::WorkflowState& w = answer.workflow;
  if (w.finished()) {
    finish(WorkerEnd::workflow_finished);
  } else if (w.of(claim::JobState::claimed) + w.of(claim::JobState::running) == 0) {
    // Ready jobs are left, nobody runs anything that could change the picture, and none fits here.
    finish(setup_.ends_at && offer().remaining < 60s ? WorkerEnd::time_up
                                                     : WorkerEnd::nothing_fits);
  }
}

// --- waiting
// ----------------------------------------------------------------------------------------------------

std::optional<BootTime> Session::wake_at() const {
  std::optional<BootTime> at =
      committer_->last_confirmed() + nanoseconds(setup_.lease_ttl) * 6 / 10;
  if (!committer_->busy() && (has_reports() || wants_jobs())) {
    at = earlier(at, std::max(last_sent_ + window(), not_before_));
  }
  if (!queue_.empty() && not_before_ > clock_.boot_now()) at = earlier(at, not_before_);
  if (nothing_claimable_ && phase_ == Phase::working) at = earlier(at, next_poll_);
  if (setup_.idle_timeout && running_.empty()) at = earlier(at, idle_since_ + *setup_.idle_timeout);
  if (setup_.ends_at && phase_ != Phase::stopping) {
    const spec::ExecutionConfig& e = preparer_->settings().run.execution;
    const auto left = *setup_.ends_at - e.sigterm_lead - clock_.wall_now();
    at = earlier(at, clock_.boot_now() + std::max<nanoseconds>(left, 0ns));
  }
  return at;
}

Result<void> Session::wait() {
  TORC_ASSIGN(exec::ProcessHost::Wakeup wakeup, host_.wait(wake_at()));
  for (const exec::Ended& ended : wakeup.ended) job_ended(ended);
  for (const int fd : wakeup.readable) {
    if (fd == signal_fd_) {
      handle_signals();
    } else if (fd == committer_->fd()) {
      committer_->clear_fd();
      if (committer_->take_changed()) nothing_claimable_ = false;
      take_reply();
      if (auto lost = committer_->lost(); lost && end_ != WorkerEnd::lease_lost)
        lose_lease(lost->text());
    }
  }
  return {};
}

void Session::check_time() {
  const BootTime now = clock_.boot_now();
  if (end_ != WorkerEnd::lease_lost &&
      claim::must_fence(committer_->last_confirmed(), now, setup_.lease_ttl)) {
    lose_lease("this worker could not renew its lease in time (frozen, or its filesystem hangs)");
    return;
  }
  if (nothing_claimable_ && now >= next_poll_) nothing_claimable_ = false;
  if (setup_.ends_at && phase_ != Phase::stopping) {
    const nanoseconds lead = preparer_->settings().run.execution.sigterm_lead;
    if (clock_.wall_now() + lead >= *setup_.ends_at) {
      finish(WorkerEnd::time_up);
      stop_running(lead);
    }
  }
  if (setup_.idle_timeout && running_.empty() && queue_.empty() && !has_reports() && !end_ &&
      now >= idle_since_ + *setup_.idle_timeout) {
    finish(WorkerEnd::idle);
  }
}

void Session::handle_signals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGUSR1) {
      notice(fmt::format("running {}, waiting here {}, done {}, failed {}", running_.size(),
                         queue_.size(), summary_.completed, summary_.failed));
      continue;
    }
    ++interrupts_;
    finish(WorkerEnd::interrupted);
    const nanoseconds lead = preparer_->settings().run.execution.sigterm_lead;
    if (interrupts_ == 1 && number == SIGINT) {
      if (!running_.empty()) {
        notice(fmt::format("finishing {} running job(s); press Ctrl-C again to stop them",
                           running_.size()));
      }
    } else if (phase_ != Phase::stopping) {
      stop_running(number == SIGINT ? lead : std::min(lead, kTermLead));
    } else {
      for (const auto& [id, job] : running_) host_.kill(exec::RunId{id});
    }
  }
}

// --- ending
// -----------------------------------------------------------------------------------------------------

void Session::finish(WorkerEnd end) {
  if (!end_) end_ = end;
  if (phase_ == Phase::working) phase_ = Phase::draining;
  return_queue();
}

void Session::return_queue() {
  for (const PreparedJob& job : queue_) returns_.push_back(job.grant.token);
  queue_.clear();
}

void Session::stop_running(nanoseconds lead) {
  phase_ = Phase::stopping;
  for (const auto& [id, job] : running_) host_.stop(exec::RunId{id}, lead);
}

void Session::lose_lease(std::string why) {
  end_ = WorkerEnd::lease_lost;
  phase_ = Phase::stopping;
  host_.kill_all();
  // Whatever happened to these jobs, it is not this worker's to say any more.
  for (const auto& [id, job] : running_) gpu_pool_.give_back(job.gpus);
  running_.clear();
  queue_.clear();
  starts_.clear();
  finishes_.clear();
  returns_.clear();
  notice(std::move(why));
}

Result<WorkerSummary> Session::leave() {
  host_.unwatch(committer_->fd());
  host_.unwatch(signal_fd_);
  std::unique_ptr<store::Store> store = committer_->stop();
  summary_.end = *end_;
  if (summary_.end == WorkerEnd::lease_lost) return summary_;
  auto left = store->commit(claim::raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    TORC_TRY(claim::release_worker(tx, self_, clock_.wall_now()));
    TORC_ASSIGN(summary_.workflow, claim::read_workflow(tx));
    return {};
  });
  (void)store::remove_beat(app_.world, store->directory(), claim::raw(self_));
  if (!left && left.error().kind != ErrorKind::fenced) return std::move(left).error();
  return summary_;
}

}  // namespace

void block_worker_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<WorkerSummary> work(const App& app, std::unique_ptr<store::Store> store,
                           const WorkerSetup& setup, const WorkerEvents& events) {
  block_worker_signals();
  TORC_ASSIGN(const std::unique_ptr<exec::ProcessHost> host, exec::ProcessHost::create(app.clock));
  Session session(app, setup, events, *host);
  return session.run(std::move(store));
}

}  // namespace torc::cli
