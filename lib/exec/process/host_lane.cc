// Commands that are started by the slots of a lane (lane.h): until one has run for a while, or
// needs something that a slot does not do, this thread knows nothing of it. Then it becomes a run
// like all others.
#include <sys/epoll.h>
#include <sys/wait.h>

#include <utility>

#include "lib/exec/process/host.h"

namespace torc::exec {
namespace {

// Younger ones are not looked at: memory is looked at from 100 ms on.
constexpr std::chrono::nanoseconds kYouth = std::chrono::milliseconds(50);

}  // namespace

Result<RunId> Host::queue(const Command& command) {
  const auto refuse = [](const char* why) {
    return Error{ErrorKind::unsupported, why, "start it"};
  };
  if (children_files_.empty()) return refuse("orphans cannot be seen here");
  if (command.memory_limit.value != 0 && groups() != nullptr)
    return refuse("it is to have a control group");
  if (command.line.find('\0') != std::string::npos) return refuse("it cannot be started");
  auto order = lane_ != nullptr ? lane_->blank() : std::make_unique<Order>();
  order->key = last_key_ + 1;
  order->command = command;
  prepare(*order, nullptr);
  const ProgramPaths::Found found =
      paths_.find(order->words[0], variable_of(command, "PATH"), command.directory);
  if (found.path.empty()) return refuse("it cannot be started");
  order->program = found.path;
  order->plan.program = order->program.c_str();
  if (lane_ == nullptr) {
    std::vector<pid_t> threads{process_};
    if (thread_ != process_) threads.push_back(thread_);
    lane_ = std::make_unique<Lane>(clock_, threads);
    TORC_TRY(watch(lane_->fd()));
    lane_->set_width(lane_width_);
  }
  const RunKey key = ++last_key_;
  lane_terms_.emplace(key, command);
  mute_child_signals(true);
  lane_->add(std::move(order));
  return RunId{key};
}

void Host::let_run(std::size_t commands) {
  if (std::exchange(lane_width_, commands) == commands) return;
  if (lane_ != nullptr) lane_->set_width(commands);
}

std::vector<RunId> Host::take_back() {
  std::vector<RunId> ids;
  if (lane_ == nullptr) return ids;
  for (const RunKey key : lane_->take_back()) {
    lane_terms_.erase(key);
    ids.push_back(RunId{key});
  }
  lane_->resume();
  return ids;
}

std::size_t Host::running() const {
  std::size_t here = runs_.size();
  if (lane_ == nullptr) return here;
  for (const auto& [key, run] : runs_.all()) here -= is_of_lane(key) ? 1 : 0;
  return here + lane_->running();
}

// The end of each short command would wake this thread, which has nothing to do then. What else has
// ended is looked for whenever the lane is.
void Host::mute_child_signals(bool mute) {
  if (mute == muted_) return;
  epoll_event event{};
  event.events = mute ? 0 : static_cast<std::uint32_t>(EPOLLIN);
  event.data.fd = child_signals_;
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, child_signals_, &event) == 0) muted_ = mute;
}

void Host::look_at_lane() {
  if (lane_ == nullptr) return;
  know_leaders(kYouth);
  const bool was_muted = muted_;
  const LaneNews news = lane_->take_news();
  for (const Leader& leader : news.begun) {
    begun_.push_back({RunId{leader.key}, leader.at, leader.since});
    if (asked_later_.contains(leader.key)) know_leaders(std::chrono::nanoseconds(0));
  }
  for (const LeaderEnd& end : news.ended) take_lane_end(end);
  for (const LaneNews::Refused& refused : news.refused) {
    lane_terms_.erase(refused.key);
    asked_later_.erase(refused.key);
    declined_.push_back({RunId{refused.key}});
  }
  for (auto it = asked_later_.begin(); it != asked_later_.end();) {
    if (runs_.find(it->first) == nullptr) {
      ++it;
      continue;
    }
    const auto [key, lead] = *it;
    it = asked_later_.erase(it);
    lead ? stop(RunId{key}, *lead) : kill(RunId{key});
  }
  mute_child_signals(lane_->is_busy());
  if (!was_muted) return;
  unsettled_ = unsettled_ || !leaderless_.empty();
  look_after_children();
}

void Host::know_leaders(std::chrono::nanoseconds age) {
  if (lane_ == nullptr) return;
  for (const Leader& leader : lane_->know(age)) know_begun(leader);
}

void Host::know_begun(const Leader& leader) {
  const auto terms = lane_terms_.find(leader.key);
  if (terms != lane_terms_.end() && runs_.find(leader.key) == nullptr)
    record_start(leader, terms->second, nullptr);
}

void Host::take_lane_end(const LeaderEnd& end) {
  const RunKey key = end.leader.key;
  asked_later_.erase(key);
  if (end.reaped && end.left == Left::nothing) {
    Run run;
    run.status = end.status;
    run.started_at = end.leader.at;
    account(run, end.usage);
    report_run(key, run, end.ended_at);
    lane_terms_.erase(key);
    return;
  }
  know_begun(end.leader);
  if (!end.reaped) {
    take(end.leader.pid);
  } else {
    Run& run = *runs_.find(key);
    run.phase = Phase::killed;
    run.leader_gone = true;
    run.group_gone = end.group_gone;
    run.status = end.status;
    account(run, end.usage);
    leaderless_.push_back(key);
  }
  unsettled_ = true;
}

// Of a command whose process is being made: as soon as it is there. That is asked first: it can be
// there a moment later, and is found among those that have begun then.
bool Host::ask_later(RunId id, std::optional<std::chrono::nanoseconds> lead) {
  const auto key = static_cast<RunKey>(id);
  if (lane_ == nullptr || !is_of_lane(key) || runs_.find(key) != nullptr) return false;
  if (lane_->is_starting(key)) {
    // As of one that runs: nothing that is asked later gives it more time.
    const auto [before, first] = asked_later_.emplace(key, lead);
    if (!first && before->second) before->second = lead ? std::min(*before->second, *lead) : lead;
    return true;
  }
  know_leaders(std::chrono::nanoseconds(0));
  return runs_.find(key) == nullptr;  // queued, or its end is in the news
}

}  // namespace torc::exec
