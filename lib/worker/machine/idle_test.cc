// When a worker with an idle timeout leaves.
#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "lib/worker/machine/step.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

class IdleWorker : public ::testing::Test {
 protected:
  static State born() {
    Birth birth;
    birth.terms.max_parallel_jobs = 1;
    birth.terms.idle_timeout = 1s;
    birth.terms.lease_ttl = 60s;
    birth.workflow.jobs = 2;
    birth.workflow.counts[static_cast<std::size_t>(claim::JobState::blocked)] = 1;
    birth.workflow.counts[static_cast<std::size_t>(claim::JobState::claimed)] = 1;
    return be_born(std::move(birth), {BootTime(1000s), {}});
  }
  // Whether it asked the store for jobs.
  bool turn() { return tell(event::Turn{}); }
  bool tell(Event event) {
    Commands commands;
    step(worker, std::move(event), {now, {}}, commands);
    for (const Command& command : commands) {
      const auto* submit = std::get_if<command::Submit>(&command);
      if (submit != nullptr && submit->exchange.offer) return true;
    }
    return false;
  }
  // The jobs that there are run elsewhere.
  static event::Answered nothing() {
    event::Answered answered;
    answered.answer.workflow = born().summary.workflow;
    answered.answer.live_workers = 2;
    return answered;
  }
  static event::Answered full() {
    event::Answered answered;
    answered.error = Error{ErrorKind::no_space, "no space left", {}};
    return answered;
  }
  // Asks until the store is asked for jobs; the clock goes on.
  void ask() {
    for (int tries = 0; tries < 100; ++tries) {
      if (turn()) return;
      now = std::max(now + 1ms, wake_at(worker, now));
    }
    FAIL() << "it never asks";
  }

  BootTime now{1000s};
  State worker = born();
};

TEST_F(IdleWorker, leaves_when_there_was_nothing_for_it_for_that_long) {
  ask();
  tell(nothing());
  EXPECT_EQ(wake_at(worker, now) <= now + 1s, true);
  now += 999ms;
  worker.talk.next_poll = now + 1h;
  turn();
  EXPECT_FALSE(worker.end);
  now += 1ms;
  turn();
  EXPECT_EQ(worker.end, WorkerEnd::idle);
}

TEST_F(IdleWorker, that_was_never_answered_is_not_idle) {
  ask();
  now += 1h;
  turn();
  EXPECT_FALSE(worker.end);
  tell(nothing());
  turn();
  EXPECT_FALSE(worker.end) << "it has only now learnt that there is nothing";
}

TEST_F(IdleWorker, that_has_not_had_its_turn_to_ask_yet_is_not_idle) {
  worker.talk.not_before = worker.no_start_before = now + 10s;
  now += 5s;
  turn();
  EXPECT_FALSE(worker.end);
}

TEST_F(IdleWorker, does_not_leave_while_it_asks_again) {
  ask();
  tell(nothing());
  now += 900ms;
  tell(event::Changed{});
  ask();
  now += 10s;
  turn();
  EXPECT_FALSE(worker.end);
  tell(nothing());
  turn();
  EXPECT_EQ(worker.end, WorkerEnd::idle) << "nothing came in all that time";
}

TEST_F(IdleWorker, does_not_leave_because_the_store_cannot_be_asked) {
  ask();
  tell(nothing());
  tell(event::Changed{});
  ask();
  tell(full());
  now += 900ms;
  turn();
  now += 200ms;
  turn();
  EXPECT_FALSE(worker.end);
}

}  // namespace
}  // namespace torc::worker
