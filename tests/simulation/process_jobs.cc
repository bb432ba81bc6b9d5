// What a simulated worker runs: jobs, recovery scripts, commands of actions; the lane.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/worker/jobs/gang_tag.h"
#include "tests/simulation/process.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;
namespace event = worker::event;

constexpr Time kStart = 2ms;       // a command takes so long to start
constexpr Time kReaction = 300ms;  // of a job that is told to end
constexpr int kMostToEnd = 30;     // seconds
constexpr Time kLaneNews = 10ms;   // the host keeps them so long

}  // namespace

void Process::set_active(HostedRun& run, bool active) {
  if (run.active == active) return;
  run.active = active;
  const worker::Run number = run.run;
  if (active) {
    run.since = world_.now();
    world_.at(world_.now() + run.left, node_, [this, life = lives_, number, v = ++run.version] {
      if (!alive_ || life != lives_) return;
      const auto found = life_->runs.find(number);
      if (found == life_->runs.end() || found->second.version != v) return;
      if (!found->second.exit_code) return kill();  // it takes its worker with it
      if (found->second.timed_out) return end_run(number, exec::Ending::timed_out, SIGTERM);
      end_run(number, exec::Ending::exited, *found->second.exit_code);
    });
  } else {
    run.left -= std::min(run.left, world_.now() - run.since);
    ++run.version;
  }
  cluster_.promises().is_active(*this, raw(number), active);
}

exec::Ended Process::ended(exec::Ending how, int code) const {
  exec::Ended e;
  e.how = how;
  if (how == exec::Ending::exited) e.exit_code = code;
  if (how == exec::Ending::signaled || how == exec::Ending::stopped) e.signal = code;
  e.started_at = e.ended_at = node_.clock->wall_now();
  return e;
}

void Process::end_run(worker::Run run, exec::Ending how, int code) {
  const auto found = life_->runs.find(run);
  if (found == life_->runs.end()) return;
  const bool told = found->second.stopping;
  const bool by_itself = how == exec::Ending::exited && !told;
  cluster_.promises().ends(*this, raw(run), {by_itself, code});
  // Whoever was told to end has been stopped, however it ended.
  worker::event::Ended event{run, ended(told ? exec::Ending::stopped : how, code), {}};
  // What its output says, which only the jobs that are recovered by it are asked for.
  if (by_itself && code != 0) event.said = claim::Trouble::transient;
  // A mount may show a file late; the next look finds it.
  if (by_itself && code == 0 && !world_.calm && world_.one_in(100))
    event.outputs = {.signature = {}, .missing = 1, .may_come = true};
  life_->ends.push_back(std::move(event));
  const bool of_lane = found->second.in_lane;
  if (found->second.gang) cluster_.gangs().ends(*this, *found->second.gang, by_itself);
  life_->runs.erase(found);
  wake_at(world_.now() + (of_lane ? kLaneNews : 0s));
  if (of_lane && alive_) stands_still() ? at(world_.now(), [this] { run_lane(); }) : run_lane();
}

void Process::kill_runs() {
  life_->lane.clear();
  while (!life_->runs.empty()) end_run(life_->runs.begin()->first, exec::Ending::signaled, SIGKILL);
}

// They begin what is next without asking anybody, and tell of it a little later.
void Process::run_lane() {
  Life& life = *life_;
  const auto running = [&] {
    return static_cast<std::size_t>(std::count_if(life.runs.begin(), life.runs.end(),
                                                  [](const auto& r) { return r.second.in_lane; }));
  };
  while (!life.lane.empty() && running() < life.lane_width && node_.runs()) {
    const auto [run, token] = life.lane.front();
    const auto answer = start(run, token, From::lane);
    if (answer.what != event::StartAnswer::What::started) {
      // Nothing more is begun before the worker knows.
      life.lane.pop_front();
      life.lane_news.emplace_back(event::Declined{{run}});
      life.lane_width = 0;
      wake_at(world_.now());
      return;
    }
    life.lane.pop_front();
    life.lane_news.emplace_back(event::Begun{run, answer.at, node_.clock->boot_now()});
    wake_at(world_.now() + kLaneNews);
  }
}

bool Process::can_start(event::StartAnswer& answer, Lease lease) {
  using What = event::StartAnswer::What;
  const exec::WatchedLease& held = life_->lease;
  if (lease == Lease::needed && (held.fenced() || held.paused())) {
    answer.what = What::postponed;
    return false;
  }
  if (!world_.calm && world_.one_in(300)) {
    answer.what = What::refused;
    answer.why = "no more processes";
    return false;
  }
  answer.at = node_.clock->wall_now();
  if (node_.dead_mount_until > world_.now())
    answer.fault =
        event::StartAnswer::Fault{exec::StartStep::execute, ESTALE, worker::Blame::unknown};
  return true;
}

void Process::run_in_vain(worker::Run run) {
  HostedRun nothing;
  nothing.run = run;
  life_->runs.emplace(run, nothing);
  at(world_.now(), [this, run] {
    if (life_->runs.erase(run) == 0) return;  // forgotten
    exec::Ended how = ended(exec::Ending::not_started, 0);
    how.failed_at = exec::StartStep::execute;
    how.os_errno = ESTALE;
    life_->ends.push_back({run, how, {}});
    wake_at(world_.now());
  });
}

void Process::begin_run(HostedRun run) {
  set_active(life_->runs.emplace(run.run, run).first->second, true);
}

event::StartAnswer Process::start(worker::Run run, const claim::ClaimToken& token, From from) {
  event::StartAnswer answer;
  answer.run = run;
  const Life& life = *life_;
  if (!can_start(answer, Lease::needed)) return answer;
  // In the lane nobody asks for more than whether it could be started.
  if (answer.fault && from == From::lane) answer.what = event::StartAnswer::What::refused;
  if (answer.fault) {
    if (from == From::queue) run_in_vain(run);
    return answer;
  }
  const JobFate& fate = cluster_.promises().fate_of(token.job);
  HostedRun job;
  job.run = run;
  job.in_lane = from == From::lane;
  job.left = kStart + of_seconds(fate.seconds * (0.5 + world_.part()));
  job.exit_code = fate.fails_once && token.attempt == 1 ? 1 : 0;
  if (cluster_.edits() != nullptr) job.exit_code = cluster_.edits()->exit_code_of(token);
  job.token = token;
  if (life.told.contains(token))
    world_.violate(fmt::format("{} starts job {}, and was told to end it", name(), raw(token.job)));
  if (fate.crashes) {
    job.exit_code.reset();
    job.left = std::min<Time>(job.left, 1s);
  }
  cluster_.gangs().begins_beside(*this, std::nullopt);
  ++cluster_.figures.runs;
  const bool alone = life.state.alone && life.state.alone->token == token;
  cluster_.promises().job_begins(*this, raw(run), token,
                                 alone ? Promises::Alone::yes : Promises::Alone::no);
  begin_run(job);
  return answer;
}

event::StartAnswer Process::start_part(const worker::command::StartJob& order) {
  event::StartAnswer answer;
  answer.run = order.run;
  if (!can_start(answer, Lease::needed)) return answer;
  if (answer.fault) {
    run_in_vain(order.run);
    return answer;
  }
  const claim::GangPart& part = *order.gang;
  const claim::ClaimToken& token = part.gang.token;
  const JobFate& fate = cluster_.promises().fate_of(token.job);
  HostedRun job;
  job.run = order.run;
  job.gang = token;
  job.left = kStart + of_seconds(fate.seconds * (0.5 + world_.part()));
  job.exit_code = 0;
  world_.tell(fmt::format("{} starts job {} (attempt {}, claim {}) as rank {} of {}", name(),
                          raw(token.job), token.attempt, token.claim, part.rank,
                          part.gang.members.size()));
  cluster_.gangs().begins(*this, part, fate.on_each_node);
  if (part.rank == 0) {
    ++cluster_.figures.runs;
    cluster_.promises().job_begins(*this, raw(order.run), token, Promises::Alone::no);
  }
  begin_run(job);
  return answer;
}

event::GangCleared Process::end_gang(const worker::command::EndGang& order) {
  event::GangCleared answer{order.token, exec::Leftovers::none};
  if (!world_.calm && world_.one_in(10)) {
    answer.left = world_.one_in(2) ? exec::Leftovers::unknown : exec::Leftovers::some;
  } else {
    cluster_.gangs().kill_tagged(node_, worker::gang_tag(order.token));
  }
  return answer;
}

void Process::kill_gang(const claim::ClaimToken& token) {
  if (!alive_ || life_ == nullptr) return;
  for (const auto& [run, job] : life_->runs) {
    if (job.gang != token) continue;
    end_run(run, exec::Ending::signaled, SIGKILL);
    return;
  }
}

void Process::fail_gang(const claim::ClaimToken& token) {
  constexpr int kDaemonLost = 205;  // of Open MPI
  if (!alive_ || life_ == nullptr) return;
  for (const auto& [run, job] : life_->runs) {
    if (job.gang != token || job.stopping) continue;
    end_run(run, exec::Ending::exited, kDaemonLost);
    return;
  }
}

event::StartAnswer Process::start(const worker::command::StartRecovery& order) {
  event::StartAnswer answer;
  answer.run = order.run;
  if (life_->ledger != nullptr && !life_->ledger->is_there()) {
    answer.what = event::StartAnswer::What::refused;
    answer.why = "others may use what the job had";
    return answer;
  }
  // Nothing asks for the lease here: no job is judged while it is in doubt.
  if (life_->lease.paused() || life_->lease.fenced())
    world_.violate(
        fmt::format("{} starts the recovery script of job {} while its lease is in doubt", name(),
                    raw(order.failed.token.job)));
  if (!can_start(answer, Lease::not_needed)) return answer;
  if (std::exchange(answer.fault, std::nullopt)) {
    run_in_vain(order.run);
    return answer;
  }
  const claim::ClaimToken& token = order.failed.token;
  const JobFate& fate = cluster_.promises().fate_of(token.job);
  HostedRun script;
  script.run = order.run;
  script.left = kStart + of_seconds(fate.script_seconds);
  script.exit_code = fate.script_succeeds ? 0 : 1;
  ++cluster_.figures.scripts;
  world_.tell(fmt::format("{} starts the recovery script of job {} (attempt {})", name(),
                          raw(token.job), token.attempt));
  cluster_.promises().script_begins(*this, raw(order.run), token);
  begin_run(script);
  return answer;
}

event::StartAnswer Process::start(const worker::command::StartAction& order) {
  event::StartAnswer answer;
  answer.run = order.run;
  if (!can_start(answer, Lease::needed)) return answer;
  if (answer.fault) {
    run_in_vain(order.run);
    return answer;
  }
  const ActionPlan& plan = cluster_.scenario().actions[order.grant.action - 1];
  HostedRun command;
  command.run = order.run;
  command.left = kStart + of_seconds(plan.seconds * (0.5 + world_.part()));
  const bool last = order.grant.done + 1 >= static_cast<std::uint32_t>(plan.commands);
  command.exit_code = plan.fails && last ? 1 : 0;
  if (order.limit > 0s && command.left > order.limit) {
    command.left = order.limit;
    command.timed_out = true;
  }
  ++cluster_.figures.actions;
  world_.tell(fmt::format("{} starts command {} of action {} (claim {})", name(), order.grant.done,
                          order.grant.action, order.grant.claim));
  cluster_.promises().action_begins(*this, raw(order.run), order.grant);
  begin_run(command);
  return answer;
}

// What its worker is told to end is gone soon after, but for the time in which it stands still.
void Process::note_told(const std::vector<claim::ClaimToken>& tokens) {
  for (const claim::ClaimToken& token : tokens) {
    if (life_->told.insert(token).second) check_told(token, kMostToEnd);
  }
}

void Process::check_told(const claim::ClaimToken& token, int seconds) {
  const auto is_it = [&](const auto& run) { return run.second.token == token; };
  if (std::ranges::none_of(life_->runs, is_it)) return;
  if (seconds == 0)
    return world_.violate(fmt::format("{} still runs job {}, and was told long ago to end it",
                                      name(), raw(token.job)));
  at(world_.now() + 1s, [this, token, seconds] { check_told(token, seconds - 1); });
}

void Process::stop_run(worker::Run run, std::chrono::nanoseconds lead) {
  const auto found = life_->runs.find(run);
  if (found == life_->runs.end()) return;
  found->second.stopping = true;
  world_.at(world_.now() + std::min<Time>(lead, kReaction), node_, [this, life = lives_, run] {
    if (alive_ && life == lives_) end_run(run, exec::Ending::stopped, SIGTERM);
  });
}

void Process::kill_run(worker::Run run) {
  const auto found = life_->runs.find(run);
  if (found != life_->runs.end()) found->second.stopping = true;
  end_run(run, exec::Ending::stopped, SIGKILL);
}

}  // namespace torc::simulation
