#include "lib/claim/rules/allocation.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

using namespace std::chrono_literals;
using As = Seen::As;

constexpr WallTime kNoon{1'800'000'000'000'000};

Allocation wanted() {
  Allocation a;
  a.scheduler = 1;
  a.walltime = 1h;
  a.wanted_at = kNoon;
  return a;
}
Allocation intent(std::uint32_t tries = 1) {
  Allocation a = wanted();
  for (std::uint32_t n = 0; n < tries; ++n) a = begun(a, {"me"}, kNoon);
  return a;
}
AttemptEnd accepted(const std::string& id, const std::string& cluster = "c") {
  return {.what = Attempted::accepted, .cluster = cluster, .id = id};
}
Allocation queued(const std::string& id = "7", std::uint32_t tries = 1) {
  return after_try(intent(tries), {}, tries, accepted(id), kNoon).allocation;
}
Allocation running(const std::string& id = "7") {
  return after_binding(queued(id), 1, "c", id, kNoon, kNoon, 4).allocation;
}
Seen row(As as, const std::string& id, std::uint32_t attempt = 1) {
  Seen seen;
  seen.as = as;
  seen.attempt = attempt;
  seen.cluster = "c";
  seen.id = id;
  seen.submitted = kNoon;
  return seen;
}
AfterLook look_at(const Allocation& a, std::vector<Seen> rows, WallTime now = kNoon + 30s) {
  return after_look(a, {std::move(rows), true, true}, now);
}
// Looked at every 30 s and not there, until `until` after the first look.
Allocation unseen(Allocation a, std::chrono::seconds until, bool accounting) {
  for (auto ago = 0s; ago <= until; ago += 30s)
    a = after_look(a, {{}, true, accounting}, kNoon + ago).allocation;
  return a;
}

TEST(IntentNames, say_which_try_of_which_allocation_of_which_store) {
  const std::string name = intent_name("wf-small", "ab12", 37, 4);
  EXPECT_EQ(name, "wf-small-ab12-37.4");
  EXPECT_EQ(read_intent_name(name, "ab12"), (IntentName{37, 4}));
  EXPECT_FALSE(read_intent_name(name, "ab13"));
  EXPECT_FALSE(read_intent_name(name, ""));
}

TEST(IntentNames, of_schedulers_that_are_called_like_one_are_still_their_own) {
  const std::string inner = intent_name("x", "m", 2, 3);
  EXPECT_EQ(read_intent_name(intent_name(inner, "m", 8, 1), "m"), (IntentName{8, 1}));
  const std::string longest = intent_name(std::string(500, 'x'), "m", 4'000'000'000U, 9);
  EXPECT_LT(longest.size(), 200U);
  EXPECT_EQ(read_intent_name(longest, "m"), (IntentName{4'000'000'000U, 9}));
}

TEST(IntentNames, are_none_where_anything_else_stands) {
  for (const char* name : {"", "x", "x-m-", "x-m-1", "x-m-1.", "x-m-.1", "x-m-0.1", "x-m-1.0",
                           "x-m-01.1", "x-m-1.1 ", "x-m-1.1.1", "x-m--1.1", "x-m-+1.1",
                           "x-m-4294967296.1", "x-m-1.4294967296", "x-n-1.1", "m-1.1"})
    EXPECT_FALSE(read_intent_name(name, "m")) << name;
}

TEST(Pauses, are_1_2_4_8_16_and_then_30_minutes) {
  const std::vector<std::chrono::seconds> expected{0s, 1min, 2min, 4min, 8min, 16min, 30min, 30min};
  for (std::uint32_t n = 0; n < expected.size(); ++n) EXPECT_EQ(pause_after(n), expected[n]) << n;
  EXPECT_EQ(pause_after(UINT32_MAX), 30min);
}

TEST(Submission, may_begin_of_what_is_wanted_by_a_scheduler_that_goes_on) {
  Scheduler s;
  EXPECT_TRUE(may_submit(wanted(), s, kNoon));
  EXPECT_FALSE(may_submit(intent(), s, kNoon));
  EXPECT_FALSE(may_submit(queued(), s, kNoon));
  s.not_before = kNoon + 1s;
  EXPECT_FALSE(may_submit(wanted(), s, kNoon));
  EXPECT_TRUE(may_submit(wanted(), s, kNoon + 1s));
  s.stopped = "bad account";
  EXPECT_FALSE(may_submit(wanted(), s, kNoon + 1s));
  Allocation not_to_be = wanted();
  not_to_be.is_surplus = true;
  EXPECT_FALSE(may_submit(not_to_be, Scheduler{}, kNoon));
}

TEST(Submission, is_not_put_off_by_a_clock_that_was_days_ahead) {
  Scheduler s;
  s.not_before = kNoon + 30min;
  EXPECT_FALSE(may_submit(wanted(), s, kNoon));
  s.not_before = kNoon + 24h;
  EXPECT_TRUE(may_submit(wanted(), s, kNoon));
}

TEST(Submission, says_who_does_it_before_it_is_done) {
  const Allocation a = begun(wanted(), {"me@node", "mark", "alpha", 7}, kNoon + 5s);
  EXPECT_EQ(a.stage, AllocationStage::intent);
  EXPECT_EQ(a.tries, 1U);
  EXPECT_EQ(a.submitter, "me@node");
  EXPECT_EQ(a.mark, "mark");
  EXPECT_EQ(a.cluster, "alpha");
  EXPECT_EQ(a.user, 7U);
  EXPECT_EQ(a.submitted_at, kNoon + 5s);
}

TEST(Tries, that_are_accepted_wait_in_the_queue_and_end_pauses) {
  Scheduler s;
  s.failures = 3;
  s.not_before = kNoon;
  s.said = "busy";
  s.not_from_here = true;
  const AfterTry after = after_try(intent(), s, 1, accepted("7"), kNoon);
  EXPECT_EQ(after.allocation.stage, AllocationStage::queued);
  EXPECT_EQ(after.allocation.id, "7");
  EXPECT_EQ(after.allocation.cluster, "c");
  EXPECT_EQ(after.scheduler, Scheduler{});
  EXPECT_EQ(after.surplus, "");
}

TEST(Tries, that_are_refused_end_the_allocation_and_stop_the_scheduler) {
  const AfterTry after = after_try(
      intent(), {}, 1, {.what = Attempted::refused, .said = "invalid account"}, kNoon + 1s);
  EXPECT_EQ(after.allocation.stage, AllocationStage::ended);
  EXPECT_EQ(after.allocation.end, AllocationEnd::refused);
  EXPECT_EQ(after.allocation.ended_at, kNoon + 1s);
  EXPECT_EQ(after.scheduler.stopped, "invalid account");
  const AfterTry mute = after_try(intent(), {}, 1, {.what = Attempted::refused}, kNoon);
  EXPECT_FALSE(mute.scheduler.stopped.empty());
  EXPECT_EQ(restarted(after.scheduler).stopped, "");
}

TEST(Tries, that_may_not_begin_here_leave_it_to_another_host) {
  const AfterTry after = after_try(
      intent(), {}, 1, {.what = Attempted::refused, .not_from_here = true, .said = "no"}, kNoon);
  EXPECT_EQ(after.allocation.stage, AllocationStage::wanted);
  EXPECT_TRUE(after.scheduler.not_from_here);
  EXPECT_EQ(after.scheduler.stopped, "");
}

TEST(Tries, that_may_work_later_are_made_again_after_a_pause_that_grows) {
  Scheduler s;
  Allocation a = intent();
  for (std::uint32_t n = 1; n <= 7; ++n) {
    AfterTry after = after_try(a, s, n, {.what = Attempted::later, .said = "busy"}, kNoon);
    EXPECT_EQ(after.allocation.stage, AllocationStage::wanted);
    EXPECT_EQ(after.scheduler.not_before, kNoon + pause_after(n));
    EXPECT_EQ(after.scheduler.said, "busy");
    s = after.scheduler;
    a = begun(after.allocation, {"me"}, kNoon);
  }
}

TEST(Tries, of_which_nobody_knows_what_came_stay_intents) {
  const AfterTry after = after_try(intent(), {}, 1, {.what = Attempted::unclear}, kNoon);
  EXPECT_EQ(after.allocation, intent());
  EXPECT_EQ(after.scheduler, Scheduler{});
}

TEST(Tries, that_are_accepted_without_an_id_are_unclear) {
  EXPECT_EQ(after_try(intent(), {}, 1, accepted(""), kNoon).allocation, intent());
}

TEST(LateAnswers, to_older_tries_change_nothing_and_what_they_brought_is_surplus) {
  for (const Allocation& a : {queued("8", 2), running("8")}) {
    const AfterTry after = after_try(a, {}, 1, accepted("7"), kNoon + 9s);
    EXPECT_EQ(after.allocation, a);
    EXPECT_EQ(after.surplus, "7");
    for (const Attempted what : {Attempted::refused, Attempted::later, Attempted::unclear}) {
      const AfterTry other = after_try(intent(2), {}, 1, {.what = what}, kNoon);
      EXPECT_EQ(other.allocation, intent(2));
      EXPECT_EQ(other.scheduler, Scheduler{});
      EXPECT_EQ(other.surplus, "");
    }
  }
}

TEST(LateAnswers, do_not_begin_anew_what_was_refused_for_good) {
  Scheduler stopped;
  stopped.stopped = "bad account";
  EXPECT_EQ(after_try(queued("8", 2), stopped, 1, accepted("7"), kNoon).scheduler, stopped);
}

TEST(LateAnswers, say_again_what_a_look_or_a_worker_has_said) {
  const Allocation seen = look_at(intent(), {row(As::waits, "7")}).allocation;
  for (const Allocation& a : {seen, running("7")}) {
    const AfterTry after = after_try(a, {}, 1, accepted("7"), kNoon);
    EXPECT_EQ(after.allocation, a);
    EXPECT_EQ(after.surplus, "");
  }
}

// Else a look that was read before would take for the allocation what is being canceled.
TEST(LateAnswers, to_older_tries_count_while_the_newest_one_is_not_answered) {
  const AfterTry after = after_try(intent(2), {}, 1, accepted("7"), kNoon);
  EXPECT_EQ(after.allocation.id, "7");
  EXPECT_EQ(after.surplus, "");
  EXPECT_EQ(after_try(after.allocation, {}, 2, accepted("8"), kNoon).surplus, "8");
  const AfterTry refused = after_try(after.allocation, {}, 2, {.what = Attempted::refused}, kNoon);
  EXPECT_EQ(refused.allocation, after.allocation);
}

TEST(LateAnswers, bring_what_is_wanted_still) {
  Allocation a = intent(2);
  a = after_try(a, {}, 2, {.what = Attempted::later}, kNoon).allocation;
  const AfterTry after = after_try(a, {}, 1, accepted("7"), kNoon);
  EXPECT_EQ(after.allocation.stage, AllocationStage::queued);
  EXPECT_EQ(after.allocation.id, "7");
  EXPECT_EQ(after.surplus, "");
  EXPECT_EQ(after_try(after.allocation, {}, 2, accepted("8"), kNoon).surplus, "8");
}

TEST(LateAnswers, of_what_is_not_to_be_any_more_are_surplus) {
  Allocation a = wanted();
  a.stage = AllocationStage::ended;
  a.end = AllocationEnd::withdrawn;
  a.tries = 1;
  EXPECT_EQ(after_try(a, {}, 1, accepted("7"), kNoon).surplus, "7");
  Allocation marked = intent();
  marked.is_surplus = true;
  const AfterTry after = after_try(marked, {}, 1, accepted("7"), kNoon);
  EXPECT_EQ(after.surplus, "7");
  EXPECT_EQ(after.allocation.id, "7");
  EXPECT_TRUE(after.allocation.is_surplus);
}

TEST(Tries, of_what_is_not_to_be_any_more_are_the_last_ones) {
  Allocation marked = intent();
  marked.is_surplus = true;
  for (const AttemptEnd& end : {AttemptEnd{.what = Attempted::later},
                                AttemptEnd{.what = Attempted::refused, .not_from_here = true}}) {
    const Allocation a = after_try(marked, {}, 1, end, kNoon).allocation;
    EXPECT_EQ(a.stage, AllocationStage::ended);
    EXPECT_EQ(a.end, AllocationEnd::withdrawn);
    EXPECT_FALSE(a.is_surplus);
  }
  const Allocation a = unseen(marked, 10min, true);
  EXPECT_EQ(a.end, AllocationEnd::withdrawn);
}

TEST(Looks, tell_what_an_intent_became) {
  Seen waits = row(As::waits, "7");
  waits.state = "PENDING";
  waits.reason = "Priority";
  waits.start = kNoon + 1h;
  const Allocation a = look_at(intent(), {waits}).allocation;
  EXPECT_EQ(a.stage, AllocationStage::queued);
  EXPECT_EQ(a.id, "7");
  EXPECT_EQ(a.reason, "Priority");
  EXPECT_EQ(a.expected_start, kNoon + 1h);
  EXPECT_EQ(a.started_at, WallTime{});
  Seen runs = row(As::runs, "7");
  runs.start = kNoon + 1min;
  runs.end = kNoon + 61min;
  const Allocation b = look_at(a, {runs}).allocation;
  EXPECT_EQ(b.stage, AllocationStage::running);
  EXPECT_EQ(b.started_at, kNoon + 1min);
  EXPECT_EQ(b.ends_at, kNoon + 61min);
  EXPECT_EQ(b.reason, "");
  EXPECT_EQ(b.expected_start, WallTime{});
  EXPECT_EQ(look_at(intent(), {row(As::other, "7")}).allocation.stage, AllocationStage::queued);
}

struct Ended {
  const char* state;
  bool ran;
  AllocationEnd end;
};
TEST(Looks, tell_how_it_ended) {
  for (const Ended& one :
       std::initializer_list<Ended>{{"COMPLETED", true, AllocationEnd::over},
                                    {"TIMEOUT", true, AllocationEnd::over},
                                    {"PREEMPTED", true, AllocationEnd::over},
                                    {"FAILED", true, AllocationEnd::failed},
                                    {"NODE_FAIL", true, AllocationEnd::failed},
                                    {"BOOT_FAIL", false, AllocationEnd::failed},
                                    {"OUT_OF_MEMORY", true, AllocationEnd::failed},
                                    {"CANCELLED by 1000", false, AllocationEnd::canceled},
                                    {"CANCELLED by 1000", true, AllocationEnd::over}}) {
    Seen over = row(As::over, "7");
    over.state = one.state;
    over.start = one.ran ? kNoon : WallTime{};
    over.end = kNoon + 10min;
    for (const Allocation& before : {queued(), intent()}) {
      const Allocation a = look_at(before, {over}).allocation;
      EXPECT_EQ(a.stage, AllocationStage::ended) << one.state;
      EXPECT_EQ(a.end, one.end) << one.state;
      EXPECT_EQ(a.ended_at, kNoon + 10min);
    }
  }
  Seen never = row(As::over, "7");
  never.state = "CANCELLED";
  never.start = never.end = kNoon + 10min;
  EXPECT_EQ(look_at(queued(), {never}).allocation.end, AllocationEnd::canceled);
}

// As systems do that have one word for all ends, and tell no end of what runs.
TEST(Looks, of_a_system_of_few_words_go_by_what_is_known_here) {
  Allocation not_needed = queued();
  not_needed.is_surplus = true;
  Seen over = row(As::over, "7");
  over.state = "z";
  EXPECT_EQ(look_at(not_needed, {over}).allocation.end, AllocationEnd::canceled);
  EXPECT_EQ(look_at(queued(), {over}).allocation.end, AllocationEnd::over);
  Allocation ran = running();
  ran.is_surplus = true;
  EXPECT_EQ(look_at(ran, {over}).allocation.end, AllocationEnd::over);
  EXPECT_EQ(look_at(running(), {row(As::runs, "7")}).allocation.ends_at, kNoon + 1h);
}

TEST(Looks, count_what_was_granted_of_each_run) {
  Allocation a = running();  // 4 CPUs
  a = look_at(a, {row(As::waits, "7")}, kNoon + 100s).allocation;
  EXPECT_EQ(a.stage, AllocationStage::queued) << "it was requeued";
  EXPECT_EQ(a.started_at, WallTime{});
  EXPECT_EQ(a.core_seconds, 400U);
  a = after_binding(a, 1, "c", "7", kNoon + 200s, kNoon + 200s, 4).allocation;
  Seen over = row(As::over, "7");
  over.start = kNoon + 200s;
  over.end = kNoon + 250s;
  a = look_at(a, {over}).allocation;
  EXPECT_EQ(a.core_seconds, 600U);
  EXPECT_EQ(look_at(a, {over}).allocation, a) << "the same once more";
}

TEST(Looks, that_show_it_twice_do_not_cancel_it) {
  Seen from_accounting = row(As::runs, "7");
  from_accounting.cluster = "";
  for (const Allocation& before : {intent(), queued(), running()}) {
    const AfterLook after =
        look_at(before, {row(As::waits, "7"), from_accounting, row(As::runs, "7")});
    EXPECT_TRUE(after.surplus.empty());
    EXPECT_EQ(after.allocation.stage, AllocationStage::running);
    EXPECT_EQ(after.allocation.cluster, "c");
  }
}

TEST(Looks, leave_that_which_is_known_else_that_which_runs_else_the_older_one) {
  const std::vector<Seen> rows{row(As::runs, "9", 2), row(As::waits, "7", 1)};
  const AfterLook known = look_at(queued("7", 2), rows);
  EXPECT_EQ(known.allocation.id, "7");
  EXPECT_EQ(known.surplus, std::vector<std::string>{"9"});
  const AfterLook runs = look_at(intent(2), rows);
  EXPECT_EQ(runs.allocation.id, "9");
  EXPECT_EQ(runs.surplus, std::vector<std::string>{"7"});
  const AfterLook older =
      look_at(intent(2), {row(As::waits, "10", 2), row(As::waits, "9", 1), row(As::waits, "9", 1)});
  EXPECT_EQ(older.allocation.id, "9");
  EXPECT_EQ(older.surplus, std::vector<std::string>{"10"});
}

TEST(Looks, at_what_an_older_try_brought_and_was_canceled_do_not_end_the_newest_one) {
  Seen past = row(As::over, "7", 1);
  past.state = "CANCELLED";
  const Allocation a = look_at(intent(2), {past}).allocation;
  EXPECT_EQ(a.stage, AllocationStage::intent);
  EXPECT_EQ(a.absent, 1U) << "it is not there";
  Allocation again = after_try(intent(1), {}, 1, {.what = Attempted::later}, kNoon).allocation;
  EXPECT_EQ(look_at(again, {past}).allocation, again);
}

TEST(Looks, find_what_is_wanted_and_was_given_up_too_early) {
  Allocation a = unseen(intent(), 10min, true);
  ASSERT_EQ(a.stage, AllocationStage::wanted);
  const AfterLook after = look_at(a, {row(As::waits, "7", 1)});
  EXPECT_EQ(after.allocation.stage, AllocationStage::queued);
  EXPECT_EQ(after.allocation.id, "7");
  EXPECT_TRUE(after.surplus.empty());
}

TEST(Looks, at_what_is_not_to_be_tell_what_is_surplus) {
  Allocation a = wanted();
  a.stage = AllocationStage::ended;
  a.end = AllocationEnd::refused;
  a.tries = 2;
  const AfterLook after = look_at(a, {row(As::waits, "7", 1), row(As::over, "8", 2)});
  EXPECT_EQ(after.allocation, a);
  EXPECT_EQ(after.surplus, std::vector<std::string>{"7"});
}

TEST(Looks, that_are_not_whole_say_nothing_of_what_is_not_there) {
  for (const Allocation& before : {intent(), queued(), running()}) {
    Allocation a = before;
    for (int n = 0; n < 100; ++n) {
      a = after_look(a, {{}, false, true}, kNoon + n * 1h).allocation;
      EXPECT_EQ(a, before);
    }
  }
}

TEST(Absence, of_an_intent_makes_it_wanted_again_after_three_looks_and_some_minutes) {
  EXPECT_EQ(unseen(intent(), 150s, true).stage, AllocationStage::intent);
  EXPECT_EQ(unseen(intent(), 180s, true).stage, AllocationStage::wanted);
  EXPECT_EQ(unseen(intent(), 570s, false).stage, AllocationStage::intent);
  EXPECT_EQ(unseen(intent(), 600s, false).stage, AllocationStage::wanted);
  Allocation twice = after_look(intent(), {{}, true, true}, kNoon).allocation;
  twice = after_look(twice, {{}, true, true}, kNoon + 1h).allocation;
  EXPECT_EQ(twice.stage, AllocationStage::intent) << "two looks are not three";
  EXPECT_EQ(begun(unseen(intent(), 180s, true), {"me"}, kNoon).tries, 2U);
}

TEST(Absence, of_what_waited_or_ran_is_its_loss_after_more_of_them) {
  for (const Allocation& before : {queued(), running()}) {
    EXPECT_TRUE(is_live(unseen(before, 150s, true)));
    const Allocation a = unseen(before, 180s, true);
    EXPECT_EQ(a.end, AllocationEnd::lost);
    EXPECT_TRUE(is_live(unseen(before, 29min, false)));
    EXPECT_EQ(unseen(before, 30min, false).end, AllocationEnd::lost);
  }
  Allocation marked = queued();
  marked.is_surplus = true;
  EXPECT_EQ(unseen(marked, 3min, true).end, AllocationEnd::canceled);
}

TEST(Absence, of_what_should_have_ended_by_its_time_is_not_waited_for_so_long) {
  Allocation a = running();
  a.ends_at = kNoon - 4min;
  EXPECT_EQ(unseen(a, 3min, false).end, AllocationEnd::lost);
}

TEST(Absence, ends_when_it_is_seen) {
  Allocation a = unseen(intent(), 150s, true);
  a = after_look(a, {{row(As::waits, "7")}, false, false}, kNoon + 160s).allocation;
  EXPECT_EQ(a.absent, 0U);
  EXPECT_EQ(a.absent_since, WallTime{});
}

TEST(Absence, counts_from_now_where_the_clock_of_who_looked_first_went_ahead) {
  Allocation a = after_look(intent(), {{}, true, true}, kNoon + 24h).allocation;
  a = unseen(a, 180s, true);
  EXPECT_EQ(a.stage, AllocationStage::wanted);
}

TEST(Lost, allocations_that_are_listed_live_again) {
  const Allocation lost = unseen(running(), 180s, true);
  ASSERT_EQ(lost.end, AllocationEnd::lost);
  EXPECT_EQ(lost.core_seconds, 4U * 180);
  Seen runs = row(As::runs, "7");
  runs.start = kNoon;
  const AfterLook after = look_at(lost, {runs});
  EXPECT_EQ(after.allocation.stage, AllocationStage::running);
  EXPECT_EQ(after.allocation.end, AllocationEnd::none);
  EXPECT_EQ(after.allocation.ended_at, WallTime{});
  EXPECT_EQ(after.allocation.core_seconds, 0U);
  EXPECT_TRUE(after.surplus.empty());
  EXPECT_EQ(look_at(lost, {row(As::over, "7")}).allocation, lost);
}

TEST(Lost, allocations_that_were_to_be_canceled_still_are) {
  Allocation marked = queued();
  marked.is_surplus = true;
  const Allocation gone = unseen(marked, 180s, true);
  ASSERT_EQ(gone.end, AllocationEnd::canceled);
  EXPECT_TRUE(look_at(gone, {row(As::waits, "7")}).allocation.is_surplus);
}

TEST(OtherClusters, have_ids_of_their_own) {
  Seen other = row(As::runs, "7", 0);
  other.cluster = "d";
  const AfterLook after = look_at(queued("7"), {other});
  EXPECT_EQ(after.allocation.stage, AllocationStage::queued);
  EXPECT_EQ(after.allocation.absent, 1U);
  EXPECT_TRUE(after.surplus.empty()) << "it may be anything";
  EXPECT_EQ(after_binding(queued("7"), 1, "d", "7", kNoon, kNoon).admission, Admission::surplus);
}

TEST(Binding, makes_it_run) {
  const AfterBinding after = after_binding(queued(), 1, "c", "7", kNoon + 5s, kNoon + 9s, 4);
  EXPECT_EQ(after.admission, Admission::yes);
  EXPECT_EQ(after.allocation.stage, AllocationStage::running);
  EXPECT_EQ(after.allocation.started_at, kNoon + 5s);
  EXPECT_EQ(after.allocation.ends_at, kNoon + 5s + 1h);
  EXPECT_EQ(after.allocation.cpus, 4U);
  Allocation wide = queued();
  wide.nodes = 3;
  wide = after_binding(wide, 1, "c", "7", {}, kNoon + 9s, 4).allocation;
  EXPECT_EQ(wide.cpus, 12U);
  EXPECT_EQ(wide.started_at, kNoon + 9s) << "its worker does not know";
  EXPECT_EQ(after_binding(wide, 1, "c", "7", {}, kNoon + 99s, 4).allocation, wide);
}

TEST(Binding, of_a_worker_that_does_not_know_its_cluster_goes_by_the_id) {
  const AfterBinding after = after_binding(queued(), 1, "", "7", kNoon, kNoon);
  EXPECT_EQ(after.admission, Admission::yes);
  EXPECT_EQ(after.allocation.cluster, "c");
}

TEST(Binding, comes_before_the_answer_of_the_submission) {
  const AfterBinding after = after_binding(intent(), 1, "c", "7", kNoon, kNoon);
  EXPECT_EQ(after.admission, Admission::yes);
  EXPECT_EQ(after.allocation.id, "7");
  EXPECT_EQ(after_try(after.allocation, {}, 1, accepted("7"), kNoon).surplus, "");
}

TEST(Binding, of_what_a_frozen_submitter_sent_is_surplus_once_another_one_is_there) {
  for (const Allocation& a : {queued("8", 2), running("8")}) {
    const AfterBinding after = after_binding(a, 1, "c", "7", kNoon, kNoon);
    EXPECT_EQ(after.admission, Admission::surplus);
    EXPECT_EQ(after.allocation, a);
  }
  Allocation over = running("8");
  over.stage = AllocationStage::ended;
  over.end = AllocationEnd::over;
  EXPECT_EQ(after_binding(over, 1, "c", "7", kNoon, kNoon).admission, Admission::surplus);
}

TEST(Binding, of_what_a_frozen_submitter_sent_is_it_while_there_is_no_other) {
  for (const Allocation& a : {intent(2), unseen(intent(2), 180s, true)}) {
    const AfterBinding after = after_binding(a, 1, "c", "7", kNoon, kNoon);
    EXPECT_EQ(after.admission, Admission::yes);
    EXPECT_EQ(after.allocation.id, "7");
    EXPECT_EQ(after_binding(after.allocation, 2, "c", "8", kNoon, kNoon).admission,
              Admission::surplus);
    EXPECT_EQ(after_try(after.allocation, {}, 2, accepted("8"), kNoon).surplus, "8");
  }
}

TEST(Binding, of_what_is_not_to_be_is_surplus) {
  Allocation marked = queued();
  marked.is_surplus = true;
  EXPECT_EQ(after_binding(marked, 1, "c", "7", kNoon, kNoon).admission, Admission::surplus);
  Allocation intended = intent();
  intended.is_surplus = true;
  EXPECT_EQ(after_binding(intended, 1, "c", "7", kNoon, kNoon).admission, Admission::surplus);
  Allocation withdrawn = wanted();
  withdrawn.stage = AllocationStage::ended;
  withdrawn.end = AllocationEnd::withdrawn;
  withdrawn.tries = 1;
  EXPECT_EQ(after_binding(withdrawn, 1, "c", "7", kNoon, kNoon).admission, Admission::surplus);
}

TEST(Binding, of_a_try_that_was_never_made_is_surplus) {
  for (const std::uint32_t attempt : {0U, 2U})
    EXPECT_EQ(after_binding(intent(), attempt, "c", "7", kNoon, kNoon).admission,
              Admission::surplus);
  EXPECT_EQ(after_binding(intent(), 1, "c", "", kNoon, kNoon).admission, Admission::surplus);
  EXPECT_EQ(after_binding(wanted(), 1, "c", "7", kNoon, kNoon).admission, Admission::surplus);
}

TEST(Binding, of_what_was_taken_for_lost_makes_it_live_again) {
  const Allocation lost = unseen(running(), 180s, true);
  const AfterBinding after = after_binding(lost, 1, "c", "7", kNoon, kNoon + 300s, 4);
  EXPECT_EQ(after.admission, Admission::yes);
  EXPECT_EQ(after.allocation.stage, AllocationStage::running);
  EXPECT_EQ(after.allocation.end, AllocationEnd::none);
  EXPECT_EQ(after.allocation.core_seconds, 0U);
}

}  // namespace
}  // namespace torc::claim
