#include "lib/claim/rules/pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <vector>

namespace torc::claim {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Need = Pace::Need;

double seconds_of(nanoseconds t) {
  return std::chrono::duration<double>(t).count();
}

// Workers that have something to say at all times, of which only `active` speak; what they do to
// each other is the sequence number. Answers the commits a second after they have settled.
struct Settled {
  double commits = 0;
  double shortest = 0;  // of the windows at the end, s
  double longest = 0;
};
Settled settle(std::uint64_t live_workers, std::uint64_t active, BootTime apart = 10ms) {
  struct Turn {
    BootTime at;
    std::size_t who;
    bool operator<(const Turn& o) const { return at > o.at; }
  };
  std::vector<Pace> paces(active, Pace(Sharing::shared));
  std::priority_queue<Turn> turns;
  for (std::size_t i = 0; i < active; ++i) turns.push({1s + static_cast<int>(i) * apart, i});
  const BootTime window(std::chrono::seconds(std::max<std::uint64_t>(live_workers / 20, 1)));
  const BootTime begin = 12 * window + 60s;
  const BootTime end = begin + 4 * window + 60s;
  std::uint64_t sequence = 0;
  std::uint64_t counted = 0;
  for (; turns.top().at < end;) {
    const Turn turn = turns.top();
    turns.pop();
    ++sequence;
    if (turn.at >= begin) ++counted;
    Pace& pace = paces[turn.who];
    pace.saw({turn.at, sequence, live_workers, 10ms, 0ms});
    turns.push({turn.at + pace.window(Need::report), turn.who});
  }
  Settled out;
  out.commits = static_cast<double>(counted) / seconds_of(end - begin);
  out.shortest = 1e9;
  for (const Pace& pace : paces) {
    const double window_now = seconds_of(pace.window(Need::report));
    out.shortest = std::min(out.shortest, window_now);
    out.longest = std::max(out.longest, window_now);
  }
  return out;
}

TEST(Pace, any_number_of_busy_workers_keeps_the_budget_of_commits_and_uses_it) {
  for (const std::uint64_t n : {1, 2, 10, 100, 1000, 4000}) {
    const Settled s = settle(n, n);
    EXPECT_LE(s.commits, 20.5) << n;
    EXPECT_GE(s.commits, 14) << n;
  }
}

TEST(Pace, workers_that_began_at_different_times_end_up_with_equal_windows) {
  const Settled s = settle(100, 100, 500ms);
  EXPECT_LE(s.longest, 1.6 * s.shortest);
}

TEST(Pace, the_few_of_many_workers_that_have_something_to_say_wait_much_shorter) {
  EXPECT_LE(settle(1000, 1).longest, 1.0);
  EXPECT_LE(settle(1000, 20).longest, 5.0);  // an equal share would be 50 s
  EXPECT_LE(settle(1000, 20).commits, 20);
}

// Workers that are started together and have something to say at all times from then on: how many
// commits all of them made, a second, in each minute.
struct Arrival {
  double worst = 0;            // of all minutes
  double worst_with_all = 0;   // once all have come
  double last_registered = 0;  // s
};
Arrival arrive(std::uint64_t workers, std::uint64_t seed) {
  struct Worker {
    RegistrationDelay delay;
    Pace pace{Sharing::shared};
    bool registered = false;
  };
  struct Turn {
    BootTime at;
    std::size_t who;
    bool operator<(const Turn& o) const { return at > o.at; }
  };
  SeededEntropy random(seed);
  const auto part = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  std::vector<Worker> all(workers, Worker{RegistrationDelay(Sharing::shared, workers)});
  std::priority_queue<Turn> turns;
  for (std::size_t i = 0; i < workers; ++i) turns.push({1s + all[i].delay.delay(part()), i});
  const BootTime end = std::chrono::seconds(10 * workers / 20) + 120s;
  std::vector<double> by_minute(static_cast<std::size_t>(end / 1min) + 1);
  std::uint64_t sequence = 0;
  std::uint64_t live = 0;
  Arrival out;
  for (; turns.top().at < end;) {
    const Turn turn = turns.top();
    turns.pop();
    Worker& worker = all[turn.who];
    nanoseconds next = 10ms;  // to the first claim
    if (worker.registered) {
      worker.pace.saw({turn.at, ++sequence, live, 10ms, 0ms, 0, part()});
      next = worker.pace.window(Need::report);
    } else {
      const nanoseconds wait = worker.delay.wait(turn.at, sequence, live, part());
      worker.registered = wait == 0s;
      if (worker.registered) {
        worker.pace.saw({turn.at, ++sequence, ++live, 0ns, 0ms, 0, part()});
        out.last_registered = seconds_of(turn.at);
      } else {
        next = wait;
      }
    }
    if (worker.registered) by_minute[static_cast<std::size_t>(turn.at / 1min)] += 1.0 / 60;
    turns.push({turn.at + next, turn.who});
  }
  by_minute.pop_back();
  for (std::size_t m = 0; m < by_minute.size(); ++m) {
    out.worst = std::max(out.worst, by_minute[m]);
    if (static_cast<double>(m) * 60 > out.last_registered)
      out.worst_with_all = std::max(out.worst_with_all, by_minute[m]);
  }
  return out;
}

TEST(Pace, a_crowd_that_comes_keeps_the_budget_in_every_minute) {
  for (const std::uint64_t n : {100, 1000, 4000, 10'000}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Arrival a = arrive(n, seed);
      EXPECT_LE(a.worst, 21) << n << ", seed " << seed;
      EXPECT_LE(a.worst_with_all, 21) << n << ", seed " << seed;
      EXPECT_LE(a.last_registered, 0.25 * static_cast<double>(n)) << n << ", seed " << seed;
    }
  }
}

TEST(Pace, while_a_crowd_grows_the_windows_of_those_in_it_grow_as_much) {
  Pace pace(Sharing::shared);
  pace.saw({1s, 1, 1000, 10ms, 0ms});
  const auto before = pace.window(Need::report);
  pace.saw({101s, 2001, 2000, 10ms, 0ms});  // the budget is used, and a little more
  EXPECT_GE(pace.window(Need::report), 2 * before);
}

TEST(Pace, of_few_a_worker_has_its_second_word_sooner) {
  Pace few(Sharing::shared);
  few.saw({1s, 1, 4, 10ms, 0ms, 0, 0.99});
  EXPECT_EQ(few.window(Need::report), 400ms);
  Pace many(Sharing::shared);
  many.saw({1s, 1, 40, 10ms, 0ms});
  EXPECT_EQ(many.window(Need::report), 6s);
}

TEST(Pace, who_held_back_does_not_begin_to_talk_as_if_nobody_else_did) {
  Pace pace(Sharing::shared);
  pace.saw({1s, 1, 1000, 10ms, 0ms});
  pace.saw({151s, 601, 1000, 10ms, 0ms});  // a fifth of the budget
  EXPECT_GE(pace.window(Need::report), 70s);
  pace.saw({301s, 1201, 1000, 10ms, 0ms});
  EXPECT_LE(pace.window(Need::report), 50s);
}

TEST(Pace, workers_that_came_together_do_not_talk_together_for_ever) {
  const auto window_with = [](double dice) {
    Pace pace(Sharing::shared);
    pace.saw({1s, 1, 1000, 10ms, 1000ms, 0, dice});
    EXPECT_EQ(pace.prefetch(1, 1s), 300U) << "whatever the next window is";
    return pace.window(Need::report);
  };
  EXPECT_EQ(window_with(0), 75s);
  EXPECT_EQ(window_with(0.5), 150s);
  EXPECT_EQ(window_with(0.75), 187500ms);
}

TEST(Pace, where_chance_decides_what_a_minute_gets_a_part_of_the_budget_is_left) {
  const auto settled = [](std::uint64_t workers) {
    Pace pace(Sharing::shared);
    BootTime now = 1s;
    std::uint64_t sequence = 0;
    pace.saw({now, sequence, workers, 10ms, 0ms});
    for (int i = 0; i < 60; ++i) {
      now += 600s;  // in which all that are alike make so many
      sequence += static_cast<std::uint64_t>(600 * static_cast<double>(workers) /
                                             seconds_of(pace.window(Need::report)));
      pace.saw({now, sequence, workers, 10ms, 0ms});
    }
    return static_cast<double>(workers) / seconds_of(pace.window(Need::report));
  };
  EXPECT_NEAR(settled(40), 20, 0.1);
  EXPECT_LE(settled(10'000), 19.6);
  EXPECT_GE(settled(10'000), 19.2);
}

TEST(Pace, a_filesystem_of_this_host_alone_is_asked_as_often_as_it_can_answer) {
  Pace pace(Sharing::local);
  pace.saw({1s, 1, 1000, 200us, 0ms});
  pace.saw({2s, 9999, 1000, 200us, 0ms});
  EXPECT_EQ(pace.window(Need::work), 250us);
  EXPECT_EQ(pace.window(Need::report), 5ms);
  pace.saw({3s, 19999, 1000, 1ms, 0ms});
  EXPECT_GT(pace.window(Need::report), 5ms);  // a twentieth of its time for commits
  EXPECT_LE(pace.window(Need::report), 20ms);
  pace.saw({4s, 29999, 1000, 80ms, 0ms});
  EXPECT_GT(pace.window(Need::report), 20ms);
}

TEST(Pace, a_worker_that_is_alone_on_its_host_gives_a_smaller_part_of_its_time_to_commits) {
  Pace pace(Sharing::local);
  pace.saw({1s, 1, 2, 400us, 0ms});
  const auto beside_another = pace.window(Need::report);
  pace.saw({2s, 2, 1, 400us, 0ms});
  EXPECT_GT(pace.window(Need::report), 3 * beside_another);
  EXPECT_EQ(pace.window(Need::work), 250us);  // a slot without work waits no longer
  pace.saw({3s, 3, 1, 3ms, 0ms});
  EXPECT_EQ(pace.window(Need::report), 50ms);
}

TEST(Pace, it_holds_twice_what_ends_within_a_window) {
  Pace pace(Sharing::shared);
  pace.saw({1s, 1, 1000, 10ms, 0ms});    // a window of 150 s
  EXPECT_EQ(pace.prefetch(16, 1s), 0U);  // nothing is known of the jobs
  pace.job_ended(10s, 11s);
  EXPECT_EQ(pace.next_window(16, 11s), 240U);
  EXPECT_EQ(pace.prefetch(16, 11s), 480U);
  EXPECT_EQ(pace.job_time(), 10s);
}

TEST(Pace, a_new_worker_believes_what_others_say_of_the_jobs) {
  Pace pace(Sharing::shared);
  pace.saw({1s, 1, 1000, 10ms, 1000ms});
  EXPECT_EQ(pace.prefetch(16, 1s), 4800U);
  EXPECT_EQ(pace.job_time(), 0s);  // and does not repeat it
}

TEST(Pace, when_nothing_ends_any_more_it_holds_less) {
  Pace pace(Sharing::shared);
  pace.saw({1s, 1, 1000, 10ms, 0ms});
  pace.job_started(1s);
  pace.job_started(1s);
  pace.job_ended(1s, 2s);
  EXPECT_EQ(pace.next_window(16, 3s), 2400U);
  EXPECT_EQ(pace.next_window(16, 152s), 16U);
  pace.job_ended(151s, 152s);
  EXPECT_EQ(pace.next_window(16, 1000s), 31U);  // that nothing runs at all says nothing of jobs
}

TEST(Pace, no_job_is_prefetched_where_one_ends_in_many_windows) {
  Pace pace(Sharing::local);
  pace.job_ended(3600s, 3600s);
  EXPECT_EQ(pace.prefetch(64, 3600s), 0U);
}

TEST(Pace, idle_workers_of_a_shared_filesystem_look_four_times_a_second_together) {
  const auto last_poll = [](std::uint64_t workers) {
    Pace pace(Sharing::shared);
    pace.saw({1s, 1, workers, 0ns, 0ms});
    for (int i = 0; i < 100; ++i) pace.next_poll(0.5);
    return pace.next_poll(0.5);
  };
  EXPECT_EQ(last_poll(1), 1s);
  EXPECT_EQ(last_poll(4), 1s);
  EXPECT_EQ(last_poll(40), 10s);
  EXPECT_EQ(last_poll(400), 30s);
  EXPECT_EQ(last_poll(4000), 200s) << "the window of a commit";
}

TEST(Pace, an_idle_worker_looks_ever_more_rarely) {
  Pace pace(Sharing::shared);
  pace.saw({1s, 1, 400, 0ns, 0ms});
  EXPECT_EQ(pace.next_poll(0.5), 5s);
  EXPECT_EQ(pace.next_poll(0.5), 10s);
  for (int i = 0; i < 100; ++i) pace.next_poll(0.5);
  EXPECT_EQ(pace.next_poll(0), 22500ms);
  pace.found_work();
  EXPECT_EQ(pace.next_poll(0.5), 5s);
  Pace local(Sharing::local);
  EXPECT_EQ(local.next_poll(0.5), 1s);
  for (int i = 0; i < 100; ++i) local.next_poll(0.5);
  EXPECT_EQ(local.next_poll(0.5), 30s) << "it hears of changes";
}

TEST(RegistrationDelay, those_who_start_together_are_spread_over_the_budget) {
  EXPECT_EQ(RegistrationDelay(Sharing::shared, 1).delay(0.9), 0s);
  EXPECT_EQ(RegistrationDelay(Sharing::shared, 1000).delay(0.5), 75s);
  EXPECT_EQ(RegistrationDelay(Sharing::local, 1000).delay(0.5), 0s);
}

TEST(RegistrationDelay, one_that_comes_while_too_many_commit_waits_but_not_for_ever) {
  RegistrationDelay registration_delay(Sharing::shared, 1);
  BootTime now = 1s;
  std::uint64_t sequence = 100;
  int looks = 0;
  for (nanoseconds wait; (wait = registration_delay.wait(now, sequence, 1000, 0.5)) > 0s; ++looks) {
    now += wait;
    sequence += static_cast<std::uint64_t>(40 * seconds_of(wait));
  }
  EXPECT_EQ(looks, 8);
  RegistrationDelay calm(Sharing::shared, 1);
  EXPECT_EQ(calm.wait(1s, 100, 1000, 0.5), 1s);
  EXPECT_EQ(calm.wait(2s, 110, 1000, 0.5), 0s);
  EXPECT_EQ(RegistrationDelay(Sharing::shared, 1).wait(1s, 100, 5, 0.5), 0s);
}

TEST(Stagger, workers_claim_a_second_one_after_the_other) {
  const WallTime now = std::chrono::hours(1);
  WallTime turn = now;
  for (int n = 1; n <= 5; ++n) {
    turn = turn_to_claim(turn, now, 10);
    EXPECT_EQ(turn, now + std::chrono::seconds(n));
  }
  EXPECT_EQ(turn_to_claim(now - std::chrono::hours(1), now, 1), now);
}

TEST(Stagger, a_thousand_workers_have_all_claimed_within_a_minute) {
  const WallTime now = std::chrono::hours(1);
  WallTime turn = now;
  for (int n = 0; n < 1000; ++n) turn = turn_to_claim(turn, now, 1000);
  EXPECT_EQ(turn, now + kLongestStagger);
  EXPECT_EQ(turn_to_claim(now + std::chrono::hours(9), now, 4), now + kLongestStagger);
}

TEST(Departure, one_worker_hardly_waits_and_many_spread_over_seconds) {
  EXPECT_LE(departure_delay(1, 25s, 0.99), 50ms);
  EXPECT_EQ(departure_delay(400, 25s, 0), 0s);
  EXPECT_EQ(departure_delay(400, 25s, 0.5), 2500ms);
}

TEST(Departure, nobody_waits_longer_than_a_quarter_of_what_is_left) {
  EXPECT_EQ(departure_delay(400, 2s, 0.5), 250ms);
  EXPECT_EQ(departure_delay(400, 0s, 0.5), 0s);
  EXPECT_EQ(departure_delay(400, -1s, 0.5), 0s);
}

}  // namespace
}  // namespace torc::claim
