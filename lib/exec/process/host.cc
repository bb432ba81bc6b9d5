#include "lib/exec/process/host.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace torc::exec {
namespace {

// What slots of the lane have done is taken in so often, unless one of them waits for something.
constexpr std::chrono::nanoseconds kLaneLook = std::chrono::milliseconds(10);

// While commands run this process wakes so often at least: how long it stood still is known to
// that.
constexpr std::chrono::nanoseconds kTick = std::chrono::seconds(2);

constexpr std::chrono::nanoseconds kNoLead{0};

std::optional<BootTime> earlier(std::optional<BootTime> a, std::optional<BootTime> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

RunKey key_of(RunId id) {
  return static_cast<RunKey>(id);
}

}  // namespace

Result<std::unique_ptr<ProcessHost>> ProcessHost::create(Clock& clock, WatchedLease* lease) {
  auto host = std::make_unique<Host>(clock, lease);
  TORC_TRY(host->open());
  return std::unique_ptr<ProcessHost>(std::move(host));
}

Result<RunId> ProcessHost::queue(const Command& /*command*/) {
  return Error{ErrorKind::unsupported, "this host starts one command after the other", ""};
}

void ProcessHost::let_run(std::size_t /*commands*/) {}

std::vector<RunId> ProcessHost::take_back() {
  return {};
}

Host::Host(Clock& clock, WatchedLease* lease)
    : clock_(clock),
      tag_(RunTag::of_this_process(clock.boot_now())),
      events_(clock),
      starter_(tag_, lease),
      lane_(clock, runs_),
      trees_(runs_, children_, tag_, lane_),
      pause_(clock, lease, children_.process(), trees_),
      termination_(clock, trees_, pause_),
      reaper_(clock, children_, trees_, oom_kills_),
      monitor_(clock, trees_, termination_, oom_kills_) {}

Result<void> Host::open() {
  TORC_TRY(events_.open());
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    return os_error(errno, "this system cannot hand orphaned processes to torc",
                    "torc needs Linux 3.4 or later");
  }
  TORC_TRY(starter_.open());
  children_.open();
  return {};
}

Host::~Host() {
  if (!starter_.is_open()) return;
  lane_.set_width(0);
  end_everything();
  lane_.close();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

Result<RunId> Host::start(const Command& command) {
  Order order;
  order.key = runs_.last_key() + 1;
  order.command = command;
  const WallTime at = clock_.wall_now();
  Launched launched{0, EINVAL, StartStep::execute};
  std::unique_ptr<JobGroup> group = starter_.group_of(order.key, command.memory_limit);
  if (command.line.find('\0') == std::string::npos) {
    starter_.prepare(order, group.get());
    launched = starter_.launch(order);
  }
  if (auto busy = busy_error(launched)) return *std::move(busy);

  const RunId id{runs_.take_key()};
  if (launched.pid != 0) {
    const BootTime now = clock_.boot_now();
    const Leader leader{order.key, launched.pid, at, now};
    runs_.add(order.key, run_of(leader, command, std::move(group), now));
    return id;
  }
  Ended ended;
  ended.id = id;
  ended.how = Ending::not_started;
  ended.os_errno = launched.os_errno;
  ended.failed_at = launched.failed_at;
  ended.started_at = at;
  ended.ended_at = clock_.wall_now();
  news_.ended.push_back(ended);
  return id;
}

std::optional<Ended> Host::not_started(RunId id) const {
  if (news_.ended.empty() || news_.ended.back().id != id) return std::nullopt;
  return news_.ended.back();
}

void Host::forget(RunId id) {
  if (not_started(id)) news_.ended.pop_back();
}

Result<RunId> Host::queue(const Command& command) {
  const auto refuse = [](const char* why) {
    return Error{ErrorKind::unsupported, why, "start it"};
  };
  if (!children_.are_listed()) return refuse("orphans cannot be seen here");
  if (starter_.has_groups_for(command.memory_limit)) return refuse("it is to have a control group");
  if (command.line.find('\0') != std::string::npos) return refuse("it cannot be started");
  std::unique_ptr<Order> order = lane_.blank();
  order->key = runs_.last_key() + 1;
  order->command = command;
  starter_.prepare(*order, nullptr);
  if (!starter_.find_program(*order)) return refuse("it cannot be started");
  if (!lane_.is_open()) TORC_TRY(lane_.open(children_.threads(), events_));
  const RunId id{runs_.take_key()};
  // The end of each short command would wake this thread, which has nothing to do then. What else
  // has ended is looked for whenever the lane is.
  events_.mute_children(true);
  lane_.add(std::move(order));
  return id;
}

std::vector<RunId> Host::take_back() {
  std::vector<RunId> ids;
  for (const RunKey key : lane_.take_back()) ids.push_back(RunId{key});
  return ids;
}

void Host::stop(RunId id, std::chrono::nanoseconds lead) {
  if (!lane_.ask_later(key_of(id), lead)) termination_.stop(key_of(id), lead);
}

void Host::kill(RunId id) {
  if (!lane_.ask_later(key_of(id), std::nullopt)) termination_.kill(key_of(id), Ending::stopped);
}

void Host::kill_all() {
  (void)lane_.take_back();
  look_at_lane();
  lane_.kill_later();
  termination_.kill_all();
}

pid_t Host::leader(RunId id) {
  if (lane_.is_of_lane(key_of(id))) lane_.make_runs(std::chrono::nanoseconds(0));
  const Run* run = runs_.find(key_of(id));
  return run == nullptr || run->leader_gone ? 0 : run->group;
}

// Of a busy worker one moment serves many waits.
std::optional<BootTime> Host::tick() {
  if (runs_.all().empty() || pause_.is_on()) return std::nullopt;
  const BootTime now = clock_.boot_now();
  if (now >= next_tick_) next_tick_ = now + kTick;
  return next_tick_;
}

std::optional<BootTime> Host::next_alarm(std::optional<BootTime> deadline) {
  std::optional<BootTime> next = earlier(deadline, tick());
  if (events_.children_muted()) next = earlier(next, clock_.boot_now() + kLaneLook);
  if (pause_.is_on()) return earlier(next, pause_.next_stop());
  return earlier(next, earlier(runs_.next_deadline(), runs_.next_look()));
}

Result<ProcessHost::Wakeup> Host::wait(std::optional<BootTime> deadline) {
  termination_.begin_turn();
  for (;;) {
    if (trees_.are_unsettled()) look_after_children();
    const bool late = deadline && clock_.boot_now() >= *deadline;
    const std::optional<BootTime> alarm = next_alarm(deadline);
    const bool at_once = late || !news_.ended.empty() || (alarm && clock_.boot_now() >= *alarm);
    if (!at_once) TORC_TRY(events_.set_alarm(alarm));
    TORC_TRY(sleep(at_once));
    look_at_lane();
    const bool lease_changed = pause_.follow();
    if (!at_once) news_.stood_still += pause_.note_lost_time(alarm);
    // After the children: a command that ended just in time has not timed out.
    if (!pause_.is_on()) {
      termination_.expire_deadlines();
      news_.samples = monitor_.look();
    }
    if (trees_.are_unsettled()) look_after_children();
    if (late || lease_changed || has_news()) return std::exchange(news_, {});
  }
}

bool Host::has_news() const {
  return !news_.begun.empty() || !news_.declined.empty() || !news_.ended.empty() ||
         !news_.readable.empty() || !news_.samples.empty() || news_.stood_still.count() > 0;
}

Result<void> Host::sleep(bool at_once) {
  TORC_ASSIGN(Events::Woken woken, events_.sleep(at_once));
  if (woken.by_children) look_after_children();
  for (const int fd : woken.readable) {
    if (lane_.is_news(fd)) {
      lane_.clear_news();
    } else {
      news_.readable.push_back(fd);
    }
  }
  return {};
}

void Host::look_after_children() {
  for (const Ended& ended : reaper_.look()) {
    lane_.settle(key_of(ended.id));
    news_.ended.push_back(ended);
  }
}

void Host::look_at_lane() {
  if (!lane_.is_open()) return;
  const bool was_muted = events_.children_muted();
  const LaneRuns::Told told = lane_.look();
  for (const Leader& leader : told.begun)
    news_.begun.push_back({RunId{leader.key}, leader.at, leader.since});
  for (const LeaderEnd& end : told.ended) take_lane_end(end);
  for (const RunKey key : told.declined) news_.declined.push_back({RunId{key}});
  for (const auto& [key, lead] : lane_.take_asked())
    lead ? termination_.stop(key, *lead) : termination_.kill(key, Ending::stopped);
  events_.mute_children(lane_.is_busy());
  if (!was_muted) return;
  if (!runs_.leaderless().empty()) trees_.set_unsettled(true);
  look_after_children();
}

void Host::take_lane_end(const LeaderEnd& end) {
  if (end.is_whole()) {
    news_.ended.push_back(reaper_.end_of(end));
    lane_.forget(end.leader.key);
    return;
  }
  lane_.make_run(end.leader);
  if (end.reaped) {
    reaper_.take_over(end);
  } else {
    reaper_.take(end.leader.pid);
  }
  trees_.set_unsettled(true);
}

// Kills and waits for everything that came from this host. What cannot die (it waits for a disk
// that does not answer) is left to the kernel after five seconds.
void Host::end_everything() {
  for (int idle = 0; idle < 50;) {
    kill_all();
    if (trees_.are_unsettled()) look_after_children();
    if (running() == 0 && trees_.strays().empty()) return;
    if (!events_.comes_within(std::chrono::milliseconds(100))) ++idle;
    if (!sleep(true)) return;
  }
}

}  // namespace torc::exec
