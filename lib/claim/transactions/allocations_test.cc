#include "lib/claim/transactions/allocations.h"

#include "lib/claim/testing/test_allocations.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

class AllocationTransactions : public WithAllocations {
 protected:
  AllocationTransactions() { make(plan_of({{9, 0}})); }
};

TEST_F(AllocationTransactions, count_what_lives_and_what_is_wanted) {
  EXPECT_EQ(book(), AllocationBook{});
  EXPECT_EQ(want_some(3), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(want_some(1, 2), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(book().allocations, 4U);
  EXPECT_EQ(book().live, 4U);
  EXPECT_EQ(book().wanted, 4U);
  submit(1, "11");
  EXPECT_EQ(book().wanted, 3U);
  EXPECT_EQ(book().live, 4U);
  (void)begin(2);
  (void)end(2, 1, {.what = Attempted::refused, .said = "bad account"});
  EXPECT_EQ(book().live, 3U);
  EXPECT_EQ(book().wanted, 2U);
  EXPECT_EQ(read_live_allocations(wf->tx)->size(), 3U);
  EXPECT_EQ(read_allocations(wf->tx)->size(), 4U);
  EXPECT_EQ(allocation(4).nodes, 2U);
  EXPECT_EQ(allocation(4).walltime, 4h);
  EXPECT_EQ(allocation(4).who, "me");
  EXPECT_EQ(allocation(4).wanted_at, kNoon);
}

TEST_F(AllocationTransactions, of_schedulers_that_are_none_are_refused) {
  const auto wanted = commit([](auto& tx) { return want(tx, {3, 1, {}, {}, {}, 0}, kNoon); });
  ASSERT_FALSE(wanted.ok());
  EXPECT_EQ(wanted.error().kind, ErrorKind::invalid);
  EXPECT_NE(wanted.error().what.find("3"), std::string::npos);
  EXPECT_FALSE(commit([](auto& tx) { return manage(tx, 0, true); }).ok());
  Demand demand;
  demand.ask = {{3, 1, ""}};
  EXPECT_FALSE(commit([&](auto& tx) { return note_demand(tx, demand, "me", kNoon); }).ok());
}

TEST_F(AllocationTransactions, a_full_ledger_takes_no_more_and_says_so) {
  ++wf->tx.number;
  wf->tx.put(Key(Table::allocation), encode(AllocationBook{kMostAllocations - 1, 0, 0, 0, {}, {}}));
  const auto wanted = want(wf->tx, {1, 2, {}, {}, {}, 0}, kNoon);
  ASSERT_FALSE(wanted.ok());
  EXPECT_NE(wanted.error().what.find("1000000"), std::string::npos) << wanted.error().what;
}

TEST_F(AllocationTransactions, a_pass_is_begun_by_one) {
  const auto begun = [&](std::uint64_t passes) {
    return *commit([&](auto& tx) { return begin_pass(tx, passes, kNoon + 1s); });
  };
  EXPECT_TRUE(begun(0));
  EXPECT_FALSE(begun(0));
  EXPECT_TRUE(begun(1));
  EXPECT_EQ(book().passes, 2U);
  EXPECT_EQ(book().passed_at, kNoon + 1s);
}

TEST_F(AllocationTransactions, who_only_looks_does_so_alone_and_takes_nobodys_turn) {
  const auto begun = [&](WallTime seen) {
    return *commit([&](auto& tx) { return begin_look(tx, seen, kNoon + 1s); });
  };
  EXPECT_TRUE(begun(WallTime{}));
  EXPECT_FALSE(begun(WallTime{}));
  EXPECT_TRUE(begun(kNoon + 1s));
  EXPECT_EQ(book().passes, 0U);
  EXPECT_EQ(book().passed_at, WallTime{});
  ASSERT_TRUE(commit([&](auto& tx) { return note_answer(tx, kNoon + 2s); }).ok());
  EXPECT_EQ(book().answered_at, kNoon + 2s);
  EXPECT_EQ(book().looked_at, kNoon + 1s);
}

TEST_F(AllocationTransactions, one_submitter_begins_a_try) {
  want_some(1);
  const auto mine = begin(1);
  ASSERT_TRUE(mine.has_value());
  EXPECT_EQ(mine->tries, 1U);
  EXPECT_FALSE(begin(1).has_value());
  EXPECT_FALSE(begin(2).has_value()) << "there is none";
  EXPECT_EQ(allocation(1), *mine);
}

TEST_F(AllocationTransactions, a_scheduler_that_is_stopped_goes_on_at_a_persons_word) {
  want_some(2);
  (void)begin(1);
  (void)end(1, 1, {.what = Attempted::refused, .said = "bad account"});
  EXPECT_EQ(scheduler(1).stopped, "bad account");
  EXPECT_FALSE(begin(2).has_value());
  want_some(1);
  EXPECT_FALSE(begin(2).has_value()) << "nobody has said so";
  want_some(1, 1, AskedBy::person);
  EXPECT_TRUE(begin(2).has_value());
  EXPECT_EQ(scheduler(1).stopped, "");
}

TEST_F(AllocationTransactions, a_pause_is_kept_to) {
  want_some(1);
  (void)begin(1);
  (void)end(1, 1, {.what = Attempted::later, .said = "busy"});
  EXPECT_EQ(book().wanted, 1U);
  EXPECT_FALSE(begin(1, kNoon + 59s).has_value());
  EXPECT_TRUE(begin(1, kNoon + 60s).has_value());
}

TEST_F(AllocationTransactions, what_is_brought_for_what_is_not_known_is_surplus) {
  EXPECT_EQ(end(7, 1, accepted("77")), "77");
  EXPECT_EQ(bind(7, 1, "77"), Admission::yes) << "of another store";
}

TEST_F(AllocationTransactions, looks_are_noted_by_number) {
  want_some(3);
  (void)begin(1);
  submit(2, "22");
  Seen waits;
  waits.as = Seen::As::waits;
  waits.attempt = 1;
  waits.cluster = "c";
  waits.id = "11";
  Seen second = waits;
  second.id = "23";
  const auto surplus = *commit([&](auto& tx) {
    return note_looks(tx, {{1, {{waits}, true, true}}, {2, {{second}, true, true}}, {9, {}}},
                      kNoon);
  });
  EXPECT_EQ(surplus, std::vector<std::string>{"23"});
  EXPECT_EQ(allocation(1).id, "11");
  EXPECT_EQ(allocation(2).absent, 1U);
  EXPECT_EQ(allocation(3).stage, AllocationStage::wanted);
}

TEST_F(AllocationTransactions,
       what_is_not_needed_is_withdrawn_or_marked_and_told_until_it_is_gone) {
  want_some(4);
  submit(2, "22");
  submit(3, "33");
  EXPECT_EQ(bind(3, 1, "33"), Admission::yes);
  (void)begin(4);
  EXPECT_EQ(need({{}, {1, 2, 3, 4}, {}}), std::vector<std::string>{"22"});
  EXPECT_EQ(allocation(1).end, AllocationEnd::withdrawn);
  EXPECT_TRUE(allocation(2).is_surplus);
  EXPECT_FALSE(allocation(3).is_surplus) << "it runs";
  EXPECT_FALSE(allocation(4).is_surplus) << "it is being submitted";
  EXPECT_EQ(need({}), std::vector<std::string>{"22"});
  EXPECT_TRUE(need({}, "d").empty()) << "it is of another cluster";
  EXPECT_EQ(need({}, "c"), std::vector<std::string>{"22"});
  EXPECT_EQ(bind(2, 1, "22"), Admission::surplus);
  Seen over;
  over.as = Seen::As::over;
  over.id = "22";
  over.state = "CANCELLED";
  (void)*commit([&](auto& tx) { return note_looks(tx, {{2, {{over}, true, true}}}, kNoon); });
  EXPECT_EQ(allocation(2).end, AllocationEnd::canceled);
  EXPECT_TRUE(need({}).empty());
}

TEST_F(AllocationTransactions, a_person_cancels_whatever_lives) {
  want_some(4);
  submit(2, "22");
  (void)bind(2, 1, "22");
  (void)begin(3);
  const auto ids = *commit([](auto& tx) {
    return cancel_allocations(tx, {1, 2, 3, 99}, kNoon + 5s);
  });
  EXPECT_EQ(ids, std::vector<std::string>{"22"});
  EXPECT_EQ(allocation(1).ended_at, kNoon + 5s);
  EXPECT_EQ(end(3, 1, accepted("33")), "33");
  EXPECT_EQ(bind(3, 1, "33"), Admission::surplus);
  EXPECT_EQ(allocation(4).stage, AllocationStage::wanted);
  EXPECT_EQ(book().live, 3U);
}

TEST_F(AllocationTransactions, demand_that_was_reckoned_long_ago_asks_for_no_more_than_the_terms) {
  ++wf->tx.number;
  Scheduler s = scheduler(1);
  s.terms.max = 3;
  s.terms.max_queued = 2;
  wf->tx.put(scheduler_key(1), encode(s));
  const Demand many{{{1, 9, "jobs wait"}}, {}, {}};
  (void)need(many);
  EXPECT_EQ(book().live, 2U) << "max_queued";
  submit(1, "11");
  (void)bind(1, 1, "11");
  (void)need(many);
  EXPECT_EQ(book().live, 3U) << "max";
  (void)need(many);
  EXPECT_EQ(book().live, 3U);
  EXPECT_EQ(allocation(3).why, "jobs wait");
  s.serialize = true;
  s.terms = {};
  wf->tx.put(scheduler_key(1), encode(s));
  (void)need(many);
  EXPECT_EQ(book().live, 3U) << "two wait already";
  s.serialize = false;
  s.stopped = "bad account";
  wf->tx.put(scheduler_key(1), encode(s));
  (void)need(many);
  EXPECT_EQ(book().live, 3U);
}

TEST_F(AllocationTransactions, whether_they_come_by_themselves_is_a_persons_word) {
  ASSERT_TRUE(commit([](auto& tx) { return manage(tx, 1, false); }).ok());
  EXPECT_FALSE(scheduler(1).is_managed);
  (void)need({{{1, 1, ""}}, {}, {}});
  EXPECT_EQ(book().live, 0U);
  ASSERT_TRUE(commit([](auto& tx) { return manage(tx, 1, true); }).ok());
  (void)need({{{1, 1, ""}}, {}, {}});
  EXPECT_EQ(book().live, 1U);
}

TEST_F(AllocationTransactions, nodes_are_learned_of_their_workers_where_nobody_knew) {
  want_some(1);
  submit(1, "11");
  const auto bind_one = [&](std::uint32_t cpus) {
    Binding binding{{1, 1}, "c", "11", kNoon};
    binding.node.cpus = cpus;
    EXPECT_EQ(*commit([&](auto& tx) { return bind_allocation(tx, binding, kNoon); }),
              Admission::yes);
  };
  bind_one(36);
  EXPECT_EQ(scheduler(1).node.cpus, 4U) << "the workflow file says so";
  EXPECT_EQ(allocation(1).cpus, 36U);
  Scheduler s = scheduler(1);
  s.node = no_resources();
  wf->tx.put(scheduler_key(1), encode(s));
  bind_one(36);
  EXPECT_EQ(scheduler(1).node.cpus, 36U);
}

TEST_F(AllocationTransactions, of_records_that_can_not_be_read_nothing_is_made) {
  want_some(2);
  submit(1, "11");
  const auto is_corrupt = [](const auto& result) {
    return !result.ok() && result.error().kind == ErrorKind::corrupt;
  };
  for (const std::string& key :
       {std::string(std::string_view(allocation_key(1))), std::string(1, 'p'),
        std::string(std::string_view(scheduler_key(1)))}) {
    const auto before = wf->tx.entries;
    wf->tx.put(key, "rubbish");
    const bool is_book = key.size() == 1;
    const bool is_scheduler = key[0] == 'c';
    if (!is_scheduler) {
      EXPECT_TRUE(is_corrupt(cancel_allocations(wf->tx, {1, 2}, kNoon)) || is_book);
      EXPECT_TRUE(is_corrupt(read_allocation_book(wf->tx)) == is_book);
    }
    wf->tx.entries = before;
    wf->tx.put(key, "rubbish");
    EXPECT_TRUE(is_corrupt(want(wf->tx, {1, 1, {}, {}, {}, 0}, kNoon)) ||
                !(is_book || is_scheduler));
    EXPECT_TRUE(is_corrupt(end_submission(wf->tx, 1, 1, accepted("1"), kNoon)) || is_book);
    EXPECT_TRUE(is_corrupt(bind_allocation(wf->tx, {{1, 1}, "c", "11", kNoon, 1}, kNoon)) ||
                is_book || is_scheduler);
    wf->tx.entries = before;
  }
  wf->check();
}

TEST_F(AllocationTransactions, by_counts_that_are_too_low_nothing_is_written_over) {
  want_some(2);
  submit(1, "11");
  const auto before = wf->tx.entries;
  AllocationBook low = book();
  low.allocations = 0;
  wf->tx.put(Key(Table::allocation), encode(low));
  const auto wanted = want(wf->tx, {1, 1, {}, {}, {}, 0}, kNoon);
  ASSERT_FALSE(wanted.ok());
  EXPECT_EQ(wanted.error().kind, ErrorKind::corrupt);
  EXPECT_NE(wanted.error().what.find("allocation 1 is not counted"), std::string::npos)
      << wanted.error().what;
  EXPECT_EQ(allocation(1).id, "11");
  wf->tx.entries = before;
  low = book();
  low.live = 0;
  wf->tx.put(Key(Table::allocation), encode(low));
  const auto ended = cancel_allocations(wf->tx, {2}, kNoon);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::corrupt);
  EXPECT_EQ(book(), low) << "and it can be read";
  wf->tx.entries = before;
  wf->check();
}

// --- actions that ask for allocations ---

class SchedulingActions : public WithAllocations {
 protected:
  // Jobs 1-2, and 3 behind them.
  void make_with(Trigger trigger, bool persistent = false) {
    Plan plan = plan_of({{2, 0}, {1, 0}});
    plan.dependencies.push_back({{range(1, 2)}, {range(3, 1)}});
    Action action{trigger, persistent, ""};
    action.schedule = ScheduleNodes{2, 3, 5};
    plan.actions.push_back(action);
    DependencySet set;
    set.action = 1;
    if (trigger == Trigger::jobs_ready) set.upstream = {range(1, 2)};
    if (trigger == Trigger::jobs_complete) set.conditional = {{range(1, 2), Condition::afterany}};
    if (!set.upstream.empty() || !set.conditional.empty()) plan.dependencies.push_back(set);
    make(plan);
    w = wf->join();
  }
  Answer say(WorkerEpoch worker, ActionWish wish) {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    request.wish = wish;
    request.offer = TestWorkflow::offer(0);
    auto answer = wf->say(request);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? *answer : Answer{};
  }
  static ActionWish due() {
    ActionWish wish;
    wish.due = wish.workflow_over = true;
    return wish;
  }
  void finish_all() {
    for (auto grants = wf->claim(w, 9); !grants.empty(); grants = wf->claim(w, 9))
      for (const Grant& g : grants) ASSERT_TRUE(wf->finish(w, g.token).ok());
  }
  WorkerEpoch w{};
};

TEST_F(SchedulingActions, at_the_start_of_the_workflow_are_wanted_with_its_first_commit) {
  make_with(Trigger::workflow_start);
  EXPECT_EQ(book().live, 3U);
  EXPECT_EQ(book().wanted, 3U);
  const Allocation a = allocation(3);
  EXPECT_EQ(a.by, AskedBy::action);
  EXPECT_EQ(a.action, 1U);
  EXPECT_EQ(a.scheduler, 2U);
  EXPECT_EQ(a.nodes, 2U);
  EXPECT_EQ(a.max_parallel_jobs, 5U);
  EXPECT_TRUE(say(w, due()).actions.empty()) << "nobody runs it";
  EXPECT_EQ(wf->claim(w, 9).size(), 2U) << "jobs do not wait for it";
  EXPECT_EQ(read_action_tally(wf->tx).gates, 0U);
  EXPECT_EQ(read_action_tally(wf->tx).ended, 1U);
}

TEST_F(SchedulingActions, of_jobs_are_wanted_in_the_commit_that_makes_them_ready_or_ends_them) {
  for (const Trigger trigger : {Trigger::jobs_ready, Trigger::jobs_complete}) {
    make_with(trigger);
    const auto grants = wf->claim(w, 2);
    ASSERT_TRUE(wf->finish(w, grants[0].token).ok());
    EXPECT_EQ(book().live, 0U);
    ASSERT_TRUE(wf->finish(w, grants[1].token).ok());
    EXPECT_EQ(book().live, 3U);
    EXPECT_TRUE(say(w, due()).actions.empty());
    finish_all();
    EXPECT_EQ(book().live, 3U) << "once";
  }
}

TEST_F(SchedulingActions, of_jobs_that_nothing_waits_for_are_wanted_from_the_start) {
  Plan plan = plan_of({{2, 0}});
  Action action{Trigger::jobs_ready, false, ""};
  action.schedule = ScheduleNodes{1, 1, 0};
  plan.actions.push_back(action);
  make(plan);
  EXPECT_EQ(book().live, 1U);
}

TEST_F(SchedulingActions, that_persist_are_wanted_again_after_a_reset_and_others_are_not) {
  for (const bool persistent : {true, false}) {
    make_with(Trigger::jobs_complete, persistent);
    finish_all();
    EXPECT_EQ(book().allocations, 3U);
    const std::vector<JobRange> first_two{range(1, 2)};
    (void)*commit([&](auto& tx) { return reset_jobs(tx, first_two, Force::no, kNoon); });
    finish_all();
    EXPECT_EQ(book().allocations, persistent ? 6U : 3U);
  }
}

TEST_F(SchedulingActions, at_the_end_of_the_workflow_are_wanted_when_a_worker_sees_it) {
  for (const bool persistent : {true, false}) {
    make_with(Trigger::workflow_complete, persistent);
    finish_all();
    EXPECT_EQ(book().allocations, 0U);
    const Answer first = say(w, due());
    EXPECT_TRUE(first.actions.empty());
    EXPECT_TRUE(first.to_be_known) << "it is to be committed, though nothing is granted";
    EXPECT_EQ(book().allocations, 3U);
    EXPECT_FALSE(say(w, due()).to_be_known);
    EXPECT_EQ(book().allocations, 3U);
    const std::vector<JobRange> first_two{range(1, 2)};
    (void)*commit([&](auto& tx) { return reset_jobs(tx, first_two, Force::no, kNoon); });
    finish_all();
    (void)say(w, due());
    EXPECT_EQ(book().allocations, persistent ? 6U : 3U);
  }
}

TEST_F(SchedulingActions, of_workers_are_wanted_once_for_each) {
  for (const Trigger trigger : {Trigger::worker_start, Trigger::worker_complete}) {
    make_with(trigger);
    ActionWish wish;
    wish.worker_start = trigger == Trigger::worker_start;
    wish.worker_complete = trigger == Trigger::worker_complete;
    const Answer first = say(w, wish);
    EXPECT_TRUE(first.actions.empty());
    EXPECT_TRUE(first.to_be_known) << "it is to be committed, though nothing is granted";
    EXPECT_EQ(book().live, 3U);
    EXPECT_FALSE(say(w, wish).to_be_known);
    EXPECT_EQ(book().live, 3U);
    const WorkerEpoch other = wf->join();
    (void)say(other, wish);
    EXPECT_EQ(book().live, 6U);
  }
}

TEST_F(SchedulingActions, of_a_scheduler_that_is_none_make_no_store) {
  for (const std::uint32_t of : {0U, 2U}) {
    Plan plan = plan_of({{2, 0}});
    plan.schedulers = {managed("one")};
    Action action{Trigger::workflow_start, false, ""};
    action.schedule = ScheduleNodes{of, 1, 0};
    plan.actions.push_back(action);
    store::MemoryState tx;
    EXPECT_FALSE(write_plan(tx, plan).ok()) << of;
  }
}

TEST_F(SchedulingActions, are_read_as_they_were_written_and_commands_as_before) {
  Action action{Trigger::jobs_ready, true, "commands"};
  const std::string before = encode(action);
  EXPECT_EQ(decode_action(before)->schedule, std::nullopt);
  action.schedule = ScheduleNodes{7, 8, 9};
  const std::string bytes = encode(action);
  EXPECT_TRUE(bytes.starts_with(before));
  EXPECT_EQ(decode_action(bytes)->schedule, action.schedule);
  for (std::size_t n = before.size() + 1; n < bytes.size(); ++n)
    EXPECT_FALSE(decode_action(std::string_view(bytes).substr(0, n))) << n;
  EXPECT_FALSE(decode_action(bytes + "x"));
  action.schedule->scheduler = 0;
  EXPECT_FALSE(decode_action(encode(action)));
}

// --- what the audit finds ---

class AllocationAudit : public AllocationTransactions {
 protected:
  AllocationAudit() {
    want_some(3);
    submit(1, "11");
    (void)begin(2);
  }
  void put(std::uint32_t number, const Allocation& a) {
    wf->tx.put(allocation_key(number), encode(a));
  }
  void expect_wrong(const std::string& part) {
    const auto sound = verify_state(wf->tx);
    ASSERT_FALSE(sound.ok()) << "not found: " << part;
    EXPECT_EQ(sound.error().kind, ErrorKind::corrupt);
    EXPECT_NE(sound.error().what.find(part), std::string::npos) << sound.error().what;
  }
};

TEST_F(AllocationAudit, finds_records_that_can_not_be_read) {
  const auto before = wf->tx.entries;
  for (const std::string& key :
       {std::string(std::string_view(allocation_key(2))), std::string(1, 'p'),
        std::string(std::string_view(scheduler_key(2))), std::string("pxx"), std::string("cxx"),
        std::string("ixx")}) {
    wf->tx.put(key, "rubbish");
    EXPECT_FALSE(verify_state(wf->tx).ok()) << key;
    wf->tx.entries = before;
  }
}

TEST_F(AllocationAudit, misses_no_entry_that_is_lost) {
  const auto before = wf->tx.entries;
  for (const auto& [key, value] : before) {
    if (key[0] != 'p' && key[0] != 'i' && key[0] != 'c') continue;
    if (key == std::string_view(scheduler_key(2))) continue;  // nothing is of it
    wf->tx.entries.erase(key);
    EXPECT_FALSE(verify_state(wf->tx).ok()) << key[0] << key.size();
    wf->tx.entries = before;
  }
}

TEST_F(AllocationAudit, finds_counts_that_are_wrong) {
  for (const AllocationBook& wrong :
       {AllocationBook{4, 3, 1, 0, {}, {}}, AllocationBook{3, 2, 1, 0, {}, {}},
        AllocationBook{3, 3, 2, 0, {}, {}}}) {
    wf->tx.put(Key(Table::allocation), encode(wrong));
    expect_wrong("counted wrong");
  }
}

TEST_F(AllocationAudit, finds_allocations_that_are_listed_and_have_ended) {
  wf->tx.put(live_allocation_key(4), {});
  expect_wrong("allocation 4 is listed as live");
}

TEST_F(AllocationAudit, finds_allocations_that_live_and_are_not_listed) {
  wf->tx.erase(live_allocation_key(2));
  expect_wrong("allocation 2 is live and not listed");
}

TEST_F(AllocationAudit, finds_an_allocation_of_a_scheduler_that_is_none) {
  Allocation a = allocation(3);
  a.scheduler = 3;
  put(3, a);
  expect_wrong("allocation 3 is of a scheduler that is none");
}

TEST_F(AllocationAudit, finds_allocations_that_can_not_be_so) {
  Allocation a = allocation(3);
  a.end = AllocationEnd::over;
  put(3, a);
  expect_wrong("allocation 3 has ended and lives");
  put(3, allocation(1));
  Allocation nameless = allocation(1);
  nameless.id.clear();
  put(1, nameless);
  expect_wrong("allocation 1 was submitted and has no id");
  put(1, allocation(3));
  Allocation untried = allocation(2);
  untried.tries = 0;
  put(2, untried);
  expect_wrong("allocation 2 is being submitted and was not tried");
}

TEST_F(AllocationAudit, finds_numbers_that_are_left_out) {
  wf->tx.put(scheduler_key(4), *wf->tx.get(scheduler_key(1)));
  expect_wrong("scheduler 3 has the number 4");
  wf->tx.erase(scheduler_key(4));
  wf->tx.put(allocation_key(5), *wf->tx.get(allocation_key(1)));
  expect_wrong("allocation 4 has the number 5");
}

}  // namespace
}  // namespace torc::claim
