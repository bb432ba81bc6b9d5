// For the tests of the state machine: a host and a store that answer at once, or say nothing.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "lib/worker/machine/step.h"

namespace torc::worker {

class StepTest : public ::testing::Test {
 protected:
  using Run = worker::Run;  // not that of GoogleTest

  // A worker with so many CPUs, all its own; or of a node that it shares with others.
  void be_born(std::uint32_t cpus, bool shares = false) {
    Birth birth;
    birth.terms.self = claim::WorkerEpoch{7};
    birth.terms.machine.cpus = cpus;
    birth.terms.machine.memory = mebibytes(1024);
    if (shares) birth.terms.machine.ledger_gpus = 0;
    birth.terms.lease_ttl = std::chrono::minutes(5);
    birth.terms.grace = std::chrono::seconds(30);
    birth.terms.begun = now_;
    state_ = worker::be_born(std::move(birth), {now_, wall_});
  }

  void feed(Event event) {
    Commands orders;
    step(state_, std::move(event), {now_, wall_}, orders);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      Command order = orders[i];
      if (auto answer = carry_out(order)) step(state_, *std::move(answer), {now_, wall_}, orders);
      done_.push_back(std::move(order));
    }
  }
  void turn() {
    if (const auto look = state_.share.wake_at(); look && now_ >= *look)
      feed(event::ShareBell{share_with(could_hold_)});
    feed(event::Turn{});
  }
  void pass(std::chrono::nanoseconds time) {
    now_ += time;
    wall_ += std::chrono::duration_cast<WallTime>(time);
  }

  [[nodiscard]] static ClaimedJob job(std::uint64_t id) {
    ClaimedJob made;
    made.grant.token = {JobId{id}, 1, 10};
    made.need.cpus = 1;
    return made;
  }
  // The store grants them, with the answer to what it is asked next; so many are ready besides.
  void grant(std::vector<ClaimedJob> jobs, std::uint64_t ready = 0) {
    if (!state_.talk.busy) {
      pass(std::chrono::minutes(1));
      turn();
    }
    ASSERT_TRUE(state_.talk.busy) << "it asked for none";
    event::Answered answer;
    answer.jobs = std::move(jobs);
    answer.wrote = true;
    // Somebody has work as long as nothing else is said, so that it does not leave.
    answer.answer.workflow.counts[static_cast<std::size_t>(claim::JobState::running)] = 1;
    answer.answer.workflow.counts[static_cast<std::size_t>(claim::JobState::ready)] = ready;
    answer.answer.live_workers = 1;
    feed(std::move(answer));
    turn();
  }
  // Jobs run for so long lately.
  void jobs_run_for(std::chrono::nanoseconds time) { state_.pace.job_ended(time, now_); }

  // A slot takes what is next in the lane; it is not told yet that it began.
  Run take_next() {
    EXPECT_FALSE(lane_.empty());
    const Run run = lane_.front();
    lane_.pop_front();
    return run;
  }
  Run begin_next() {
    const Run run = take_next();
    feed(event::Begun{run, wall_, now_});
    return run;
  }
  void end(Run run, WallTime ran) {
    event::Ended ended;
    ended.run = run;
    ended.how.exit_code = 0;
    ended.how.started_at = wall_ - ran;
    ended.how.ended_at = wall_;
    feed(std::move(ended));
  }

  template <class C>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(
        done_.begin(), done_.end(), [](const Command& c) { return std::holds_alternative<C>(c); }));
  }

  BootTime now_{std::chrono::hours(1)};
  WallTime wall_{std::chrono::hours(24 * 365 * 50)};
  State state_;
  std::vector<Command> done_;
  std::deque<Run> lane_;                               // handed over, taken by no slot
  std::uint32_t could_hold_ = 0;                       // CPUs of a node that it shares
  bool refuses_starts_ = false;                        // this host can start nothing
  std::optional<event::StartAnswer::Fault> fault_;     // of what it starts
  exec::Leftovers leftovers_ = exec::Leftovers::none;  // of a gang, on this node

 private:
  [[nodiscard]] static exec::NodeHolding share_with(std::uint32_t cpus) {
    exec::NodeHolding holding;
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) holding.cpus.add(cpu);
    holding.memory = mebibytes(1024);
    return holding;
  }
  std::optional<Event> carry_out(const Command& order) {
    if (std::holds_alternative<command::TakeShare>(order)) {
      holds_ = share_with(could_hold_);
      return event::ShareTaken{holds_, could_hold_ == state_.terms.machine.cpus, {}};
    }
    if (const auto* keep = std::get_if<command::KeepShare>(&order)) {
      holds_ = keep->rest;
      return event::ShareHeld{holds_};
    }
    if (std::holds_alternative<command::WaitForShare>(order)) return event::ShareHeld{holds_};
    if (const auto* start = std::get_if<command::StartJob>(&order)) {
      event::StartAnswer answer;
      answer.run = start->run;
      answer.at = wall_;
      answer.fault = fault_;
      if (refuses_starts_) answer.what = event::StartAnswer::What::refused;
      return answer;
    }
    if (const auto* arm = std::get_if<command::ArmJobs>(&order)) {
      for (const auto& [run, load] : arm->jobs) lane_.push_back(run);
      return event::Armed{};
    }
    if (std::holds_alternative<command::TakeBack>(order)) {
      event::TakenBack back{{lane_.begin(), lane_.end()}};
      lane_.clear();
      return back;
    }
    if (const auto* end = std::get_if<command::EndGang>(&order))
      return event::GangCleared{end->token, leftovers_};
    if (std::holds_alternative<command::Goodbye>(order)) return event::GoodbyeAnswer{};
    return std::nullopt;
  }

  exec::NodeHolding holds_;
};

}  // namespace torc::worker
