#include "lib/exec/run/lane_runs.h"

#include <algorithm>

namespace torc::exec {
namespace {

// Younger ones are not looked at: memory is looked at from 100 ms on.
constexpr std::chrono::nanoseconds kYouth = std::chrono::milliseconds(50);

}  // namespace

Result<void> LaneRuns::open(const std::vector<pid_t>& orphans, Events& events) {
  auto lane = std::make_unique<Lane>(clock_, orphans);
  TORC_TRY(events.watch(lane->fd()));
  lane_ = std::move(lane);
  lane_->set_width(width_);
  return {};
}

void LaneRuns::close() {
  lane_.reset();
  terms_.clear();
  asked_.clear();
}

void LaneRuns::set_width(std::size_t width) {
  if (std::exchange(width_, width) != width && lane_ != nullptr) lane_->set_width(width);
}

std::unique_ptr<Order> LaneRuns::blank() {
  return lane_ != nullptr ? lane_->blank() : std::make_unique<Order>();
}

void LaneRuns::add(std::unique_ptr<Order> order) {
  terms_.emplace(order->key, order->command);
  lane_->add(std::move(order));
}

std::vector<RunKey> LaneRuns::take_back() {
  if (lane_ == nullptr) return {};
  std::vector<RunKey> keys = lane_->take_back();
  for (const RunKey key : keys) terms_.erase(key);
  lane_->resume();
  return keys;
}

std::size_t LaneRuns::running() const {
  std::size_t here = runs_.size();
  if (lane_ == nullptr) return here;
  for (const auto& [key, run] : runs_.all()) here -= is_of_lane(key) ? 1 : 0;
  return here + lane_->running();
}

void LaneRuns::make_runs(std::chrono::nanoseconds age) {
  if (lane_ == nullptr) return;
  for (const Leader& leader : lane_->know(age)) make_run(leader);
}

void LaneRuns::make_run(const Leader& leader) {
  const auto terms = terms_.find(leader.key);
  if (terms != terms_.end() && runs_.find(leader.key) == nullptr)
    runs_.add(leader.key, run_of(leader, terms->second, nullptr, clock_.boot_now()));
}

LaneRuns::Told LaneRuns::look() {
  Told told;
  if (lane_ == nullptr) return told;
  make_runs(kYouth);
  LaneNews news = lane_->take_news();
  const auto is_asked = [this](const Leader& leader) { return asked_.contains(leader.key); };
  if (std::any_of(news.begun.begin(), news.begun.end(), is_asked))
    make_runs(std::chrono::nanoseconds(0));
  for (const LeaderEnd& end : news.ended) asked_.erase(end.leader.key);
  for (const LaneNews::Refused& refused : news.refused) {
    terms_.erase(refused.key);
    asked_.erase(refused.key);
    told.declined.push_back(refused.key);
  }
  told.begun = std::move(news.begun);
  told.ended = std::move(news.ended);
  return told;
}

void LaneRuns::settle(RunKey key) {
  if (terms_.erase(key) > 0) lane_->settled();
}

// Of a command whose process is being made: as soon as it is there. That is asked first: it can be
// there a moment later, and is found among those that have begun then.
bool LaneRuns::ask_later(RunKey key, Lead lead) {
  if (lane_ == nullptr || !is_of_lane(key) || runs_.find(key) != nullptr) return false;
  if (lane_->is_starting(key)) {
    // As of one that runs: nothing that is asked later gives it more time.
    const auto [before, first] = asked_.emplace(key, lead);
    if (!first && before->second) before->second = lead ? std::min(*before->second, *lead) : lead;
    return true;
  }
  make_runs(std::chrono::nanoseconds(0));
  return runs_.find(key) == nullptr;  // queued, or its end is in the news
}

void LaneRuns::kill_later() {
  make_runs(std::chrono::nanoseconds(0));
  for (const auto& [key, terms] : terms_) (void)ask_later(key, std::nullopt);
}

std::vector<std::pair<RunKey, LaneRuns::Lead>> LaneRuns::take_asked() {
  std::vector<std::pair<RunKey, Lead>> taken;
  for (auto it = asked_.begin(); it != asked_.end();) {
    if (runs_.find(it->first) == nullptr) {
      ++it;
      continue;
    }
    taken.emplace_back(*it);
    it = asked_.erase(it);
  }
  return taken;
}

}  // namespace torc::exec
