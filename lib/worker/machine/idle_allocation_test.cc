// When workers leave an allocation of which nothing is used any more: several of them at a store
// that answers at once, in simulated time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/worker/machine/step.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kIdle{30};

// One allocation. What each of its workers has is a number of jobs, as its lease would say.
class IdleAllocationLab {
 public:
  struct Member {
    State state;
    std::uint64_t held = 0;
    std::uint64_t renewals = 1;
    bool kept = false;
    std::map<std::size_t, std::uint64_t> seen;  // the renewals of others
    std::size_t looks = 0;
    std::size_t asks = 0;
    BootTime woke{};
    bool was_told = false;
    std::optional<BootTime> left;
  };

  explicit IdleAllocationLab(std::size_t workers, std::function<void(Terms&)> change = {}) {
    for (std::size_t i = 0; i < workers; ++i) {
      Birth birth;
      birth.terms.self = claim::WorkerEpoch{i + 1};
      birth.terms.machine.cpus = 1;
      birth.terms.machine.memory = mebibytes(1024);
      birth.terms.lease_ttl = 5min;
      birth.terms.workers_idle = kIdle;
      birth.terms.begun = now;
      birth.seed = i + 1;
      if (change) change(birth.terms);
      members.emplace_back().state = be_born(std::move(birth), {now, {}});
    }
  }

  // Everybody does what is due, until `end`.
  void run_until(BootTime end) {
    while (now < end) {
      BootTime next = end;
      for (std::size_t i = 0; i < members.size(); ++i) {
        Member& m = members[i];
        if (m.left) continue;
        if (m.woke <= now) {
          feed(i, event::Turn{});
          // What was answered is followed by a turn.
          m.woke = now + 1ms;
          if (!std::exchange(m.was_told, false)) m.woke = std::max(m.woke, wake_at(m.state, now));
        }
        if (!m.left) next = std::min(next, m.woke);
      }
      now = std::max(now + 1ms, next);
    }
  }
  void run_for(nanoseconds time) { run_until(now + time); }

  // What it is granted as soon as it asks, and bells tell it so.
  void give_job(std::size_t i) {
    granted[i] = true;
    feed(i, event::Changed{});
    members[i].woke = now;
    run_for(1min + 1s);
    ASSERT_EQ(members[i].held, 1U);
  }
  // It runs, and ends now.
  void end_job(std::size_t i) {
    ASSERT_EQ(members[i].state.running.size(), 1U);
    event::Ended ended;
    ended.run = members[i].state.running.begin()->first;
    ended.how.exit_code = 0;
    feed(i, std::move(ended));
    members[i].held = 0;
    members[i].woke = now;
  }
  [[nodiscard]] std::size_t left() const {
    return static_cast<std::size_t>(std::count_if(
        members.begin(), members.end(), [](const Member& m) { return m.left.has_value(); }));
  }

  BootTime now{1h};
  std::vector<Member> members;
  std::map<std::size_t, bool> granted;
  bool unreadable = false;  // what the leases say
  std::uint64_t ready = 0;  // jobs that are for others
  bool finished = false;    // the workflow
  std::uint64_t delayed = 0;
  bool others_hold = true;  // workers of other allocations
  bool others_live = true;

 private:
  void feed(std::size_t i, Event event) {
    Commands orders;
    step(members[i].state, std::move(event), {now, {}}, orders);
    for (std::size_t k = 0; k < orders.size(); ++k) {
      const Command order = orders[k];
      if (auto answer = carry_out(i, order))
        step(members[i].state, *std::move(answer), {now, {}}, orders);
    }
  }
  std::optional<Event> carry_out(std::size_t i, const Command& order) {
    Member& m = members[i];
    if (const auto* start = std::get_if<command::StartJob>(&order)) {
      event::StartAnswer answer;
      answer.run = start->run;
      return answer;
    }
    if (std::holds_alternative<command::LookAtAllocation>(order)) {
      ++m.looks;
      m.was_told = true;
      return event::AllocationSeen{see(i)};
    }
    if (std::holds_alternative<command::Goodbye>(order)) return event::GoodbyeAnswer{};
    if (std::holds_alternative<command::Leave>(order)) m.left = now;
    const auto* submit = std::get_if<command::Submit>(&order);
    if (submit == nullptr) return std::nullopt;
    m.was_told = true;
    event::Answered answer;
    const bool says = !submit->exchange.starts.empty() || !submit->exchange.finishes.empty();
    if (submit->exchange.offer) ++m.asks;
    if (submit->exchange.offer && std::exchange(granted[i], false)) {
      ClaimedJob job;
      job.grant.token = {JobId{++last_job_}, 1, last_job_};
      job.need.cpus = 1;
      answer.jobs.push_back(std::move(job));
      m.held = 1;
    }
    if (says || !answer.jobs.empty()) ++m.renewals;
    auto& counts = answer.answer.workflow.counts;
    answer.answer.workflow.jobs = 100;
    counts[static_cast<std::size_t>(claim::JobState::completed)] = finished ? 100 : 0;
    counts[static_cast<std::size_t>(claim::JobState::ready)] = ready;
    counts[static_cast<std::size_t>(claim::JobState::delayed)] = delayed;
    // Somebody has work elsewhere, and jobs wait for it.
    counts[static_cast<std::size_t>(claim::JobState::running)] = finished ? 0 : 1;
    counts[static_cast<std::size_t>(claim::JobState::blocked)] = finished ? 0 : 9;
    answer.answer.live_workers = members.size();
    return answer;
  }
  [[nodiscard]] std::optional<AllocationUse> see(std::size_t i) {
    if (unreadable) return std::nullopt;
    AllocationUse use;
    for (std::size_t other = 0; other < members.size(); ++other) {
      const Member& m = members[other];
      if (m.left) continue;
      use.is_busy = use.is_busy || m.held > 0;
      use.is_kept = use.is_kept || m.kept;
      if (other == i) continue;
      auto [known, is_new] = members[i].seen.try_emplace(other, m.renewals);
      use.was_active = use.was_active || is_new || known->second != m.renewals;
      known->second = m.renewals;
    }
    use.others_hold = others_hold;
    use.others_live = others_hold && others_live;
    return use;
  }

  std::uint64_t last_job_ = 0;
};

// Besides the time itself: the pause between two looks of a small allocation, and a moment.
constexpr nanoseconds kOneLook = 6s;

TEST(IdleAllocation, all_leave_when_none_has_had_anything_for_that_long) {
  IdleAllocationLab lab(4);
  const BootTime begun = lab.now;
  lab.run_for(kIdle - 1s);
  EXPECT_EQ(lab.left(), 0U);
  lab.run_for(kOneLook + 2s);
  EXPECT_EQ(lab.left(), 4U);
  for (const auto& m : lab.members) {
    ASSERT_TRUE(m.left);
    EXPECT_GE(*m.left, begun + kIdle);
    EXPECT_EQ(m.state.end, WorkerEnd::idle);
  }
}

TEST(IdleAllocation, nobody_leaves_while_one_works) {
  IdleAllocationLab lab(3);
  lab.give_job(1);
  lab.run_for(5h);
  EXPECT_EQ(lab.left(), 0U);
  const BootTime over = lab.now;
  lab.end_job(1);
  lab.run_for(kIdle + kOneLook + 2s);
  EXPECT_EQ(lab.left(), 3U);
  for (const auto& m : lab.members) EXPECT_GE(*m.left, over + kIdle);
}

TEST(IdleAllocation, a_job_that_came_and_went_between_two_looks_counts) {
  IdleAllocationLab lab(2);
  lab.run_for(20s);
  ++lab.members[1].renewals;  // it was granted one, and has reported its end
  const BootTime active = lab.now;
  lab.run_for(kIdle - 1s);
  EXPECT_FALSE(lab.members[0].left);
  lab.run_for(kOneLook + 2s);
  ASSERT_TRUE(lab.members[0].left);
  EXPECT_GE(*lab.members[0].left, active + kIdle);
}

TEST(IdleAllocation, who_leaves_keeps_nobody) {
  IdleAllocationLab lab(2);
  lab.run_for(20s);
  lab.members[1].left = lab.now;  // told to
  lab.run_for(kIdle - 20s + kOneLook + 2s);
  EXPECT_TRUE(lab.members[0].left);
}

TEST(IdleAllocation, what_cannot_be_read_is_not_taken_for_nothing) {
  IdleAllocationLab lab(2);
  lab.unreadable = true;
  lab.run_for(2h);
  EXPECT_EQ(lab.left(), 0U);
  lab.unreadable = false;
  lab.run_for(kIdle + kOneLook + 2s);
  EXPECT_EQ(lab.left(), 2U);
}

TEST(IdleAllocation, jobs_that_are_ready_for_others_only_keep_nobody) {
  IdleAllocationLab lab(2);
  lab.ready = 5;
  lab.run_for(kIdle + kOneLook + 2s);
  EXPECT_EQ(lab.left(), 2U);
}

TEST(IdleAllocation, before_it_leaves_a_worker_asks_once_more_and_stays_for_what_it_gets) {
  IdleAllocationLab lab(2);
  lab.run_for(10s);
  // Of which it was not rung: it would ask again only much later.
  lab.granted[0] = true;
  lab.members[0].state.talk.next_poll = lab.now + 1h;
  lab.members[1].state.talk.next_poll = lab.now + 1h;
  lab.run_for(2min);
  EXPECT_EQ(lab.members[0].held, 1U);
  EXPECT_FALSE(lab.members[0].left);
}

TEST(IdleAllocation, what_dead_workers_have_is_not_left_to_nobody) {
  IdleAllocationLab lab(2);
  lab.others_live = false;
  lab.run_for(20min);
  EXPECT_EQ(lab.left(), 0U) << "somebody must see their leases run out";
  EXPECT_LE(lab.members[0].looks, 20U * 60 / 4 + 2);
  lab.others_live = true;
  lab.run_for(2 * kOneLook);
  EXPECT_EQ(lab.left(), 2U) << "one of them lives";
}

TEST(IdleAllocation, a_sign_of_life_from_before_the_time_without_use_says_nothing) {
  IdleAllocationLab lab(2);
  lab.run_for(20s);
  lab.others_live = false;
  ++lab.members[1].renewals;  // for the first worker it begins anew
  lab.run_for(10min);
  EXPECT_FALSE(lab.members[0].left);
}

TEST(IdleAllocation, jobs_that_wait_for_their_time_are_not_left_to_nobody) {
  IdleAllocationLab lab(2);
  lab.others_hold = false;
  lab.delayed = 1;
  lab.run_for(20min);
  EXPECT_EQ(lab.left(), 0U);
  lab.delayed = 0;
  lab.run_for(2 * kOneLook);
  EXPECT_EQ(lab.left(), 2U);
}

TEST(IdleAllocation, nobody_is_waited_for_where_nobody_holds_anything) {
  IdleAllocationLab lab(2);
  lab.others_hold = false;
  lab.run_for(kIdle + kOneLook + 2s);
  EXPECT_EQ(lab.left(), 2U);
}

TEST(IdleAllocation, a_worker_that_is_not_told_so_never_leaves_and_never_looks) {
  IdleAllocationLab lab(2, [](Terms& t) { t.workers_idle.reset(); });
  lab.run_for(2h);
  EXPECT_EQ(lab.left(), 0U);
  EXPECT_EQ(lab.members[0].looks + lab.members[1].looks, 0U);
}

TEST(IdleAllocation, where_the_node_is_of_use_to_others_an_idle_one_leaves_alone) {
  IdleAllocationLab lab(2, [](Terms& t) { t.leaves_alone = true; });
  lab.give_job(1);
  lab.run_for(kIdle + 1s);
  EXPECT_TRUE(lab.members[0].left);
  EXPECT_FALSE(lab.members[1].left);
  EXPECT_EQ(lab.members[0].looks, 0U) << "it needs not know of others";
}

TEST(IdleAllocation, nodes_that_are_kept_are_used_as_long_as_others_can_come) {
  // A group of workers that anybody may join.
  IdleAllocationLab open(2);
  open.members[1].kept = true;
  open.run_for(2h);
  EXPECT_EQ(open.left(), 0U);
  // Those of an allocation have all come after two minutes.
  IdleAllocationLab closed(2, [](Terms& t) { t.most_nodes = 4; });
  closed.members[1].kept = true;
  const BootTime begun = closed.now;
  closed.run_for(2min);
  EXPECT_EQ(closed.left(), 0U);
  closed.run_until(begun + 2min + kIdle + 2 * kOneLook);
  EXPECT_EQ(closed.left(), 2U);
}

TEST(IdleAllocation, a_finished_workflow_is_waited_for_as_its_file_says) {
  IdleAllocationLab lab(1, [](Terms& t) { t.wait_for_new_jobs = 10min; });
  lab.finished = true;
  lab.run_for(9min);
  EXPECT_FALSE(lab.members[0].left);
  lab.run_for(2min);
  ASSERT_TRUE(lab.members[0].left);
  EXPECT_EQ(lab.members[0].state.end, WorkerEnd::workflow_finished);
}

TEST(IdleAllocation, a_busy_worker_does_not_look_and_an_idle_one_now_and_then) {
  IdleAllocationLab lab(2);
  lab.give_job(1);
  lab.run_for(10s);
  const std::size_t before = lab.members[0].looks;
  const std::size_t of_busy = lab.members[1].looks;
  lab.run_for(100s);
  EXPECT_EQ(lab.members[1].looks, of_busy);
  EXPECT_LE(lab.members[0].looks - before, 26U);
  EXPECT_GE(lab.members[0].looks - before, 19U);
}

TEST(IdleAllocation, many_that_are_idle_look_less_often_and_all_leave_within_a_minute) {
  IdleAllocationLab lab(400);
  lab.give_job(7);
  std::size_t before = 0;
  for (const auto& m : lab.members) before += m.looks;
  lab.run_for(100s);
  std::size_t looks = 0;
  for (const auto& m : lab.members) looks += m.looks;
  EXPECT_LE(looks - before, 100U * 400 / 20 + 400);
  lab.end_job(7);
  const BootTime begun = lab.now;
  lab.run_for(58s);
  EXPECT_EQ(lab.left(), 400U);
  for (const auto& m : lab.members) {
    EXPECT_GE(m.left.value_or(lab.now), begun + kIdle);
  }
}

// Whatever jobs come and go.
RC_GTEST_PROP(IdleAllocation, none_leaves_beside_a_busy_one_and_all_after_the_last, ()) {
  const auto workers = *rc::gen::inRange<std::size_t>(1, 6);
  IdleAllocationLab lab(workers);
  std::vector<std::pair<std::size_t, BootTime>> ends;
  const auto jobs = *rc::gen::inRange(1, 8);
  for (int j = 0; j < jobs; ++j) {
    lab.run_for(std::chrono::milliseconds(*rc::gen::inRange(0, 28'000)));
    const auto who = *rc::gen::inRange<std::size_t>(0, workers);
    RC_ASSERT(!lab.members[who].left);
    if (lab.members[who].held > 0) continue;
    lab.give_job(who);
    lab.run_for(std::chrono::milliseconds(*rc::gen::inRange(0, 300'000)));
    RC_ASSERT(lab.left() == 0U);
    if (*rc::gen::inRange(0, 3) > 0) lab.end_job(who);
  }
  for (std::size_t i = 0; i < workers; ++i) {
    if (lab.members[i].held > 0) lab.end_job(i);
  }
  const BootTime last = lab.now;
  lab.run_for(kIdle - 1s);
  for (const auto& m : lab.members) RC_ASSERT(!m.left || *m.left >= last);
  lab.run_for(kOneLook + 2s);
  RC_ASSERT(lab.left() == workers);
}

}  // namespace
}  // namespace torc::worker
