// Records that can be read and make no sense, as a member of a group may write them, or a damaged
// disk: whoever meets one says so, and neither goes on for ever nor asks for all memory.
#include <gtest/gtest.h>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/user_datum.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/user_data.h"

namespace torc::claim {
namespace {

constexpr std::uint64_t kForged = std::uint64_t{1} << 62;

// Jobs 1 to 4 a sweep, of which worker 2 holds 2; 5 and 6 wait for it; 1 has completed.
class Forged : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{4, 0}, {2, 0}});
    plan.dependencies.push_back({{range(1, 4)}, {range(5, 2)}});
    return plan;
  }

  Forged() {
    const auto grants = wf.claim(worker, 2);
    EXPECT_TRUE(wf.finish(worker, grants[0].token).ok());
  }

  void put_span(const Span& span) { wf.tx.put(Key(Table::span, span.first), encode(span)); }
  void put_template(const Template& t) {
    wf.tx.put(Key(Table::job_template, raw(t.first)), encode(t));
  }
  Tally tally() const { return *decode_tally(*wf.tx.get(Key(Table::tally))); }
  void put_tally(const Tally& t) { wf.tx.put(Key(Table::tally), encode(t)); }

  // As the commands that list jobs do it, which read the states that they show one by one or all.
  Result<void> list(std::optional<JobState> state = {}) const {
    return scan_jobs(wf.tx, state, [&](JobId, const Job&) {
      EXPECT_LT(++visits_, 100U) << "it goes on";
      return visits_ < 100;
    });
  }
  Result<void> list_templates() const {
    return scan_templates(wf.tx, [](const Template&) { return true; });
  }
  Result<void> claim_some() {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    request.offer = TestWorkflow::offer(1 << 20);
    ++wf.tx.number;
    const auto answer = exchange(wf.tx, request);
    return answer ? Result<void>() : answer.error();
  }

  static void expect_corrupt(const Result<void>& done, const std::string& part = "") {
    ASSERT_FALSE(done.ok()) << "not found: " << part;
    EXPECT_EQ(done.error().kind, ErrorKind::corrupt) << done.error().text();
    EXPECT_NE(done.error().what.find(part), std::string::npos) << done.error().what;
    EXPECT_NE(done.error().remedy.find("torc verify"), std::string::npos) << done.error().remedy;
  }
  template <class T>
  static Result<void> only_error(const Result<T>& read) {
    return read ? Result<void>() : read.error();
  }
  static Result<void> only_state(const Result<WorkflowState>& read) { return only_error(read); }
  // Of the last jobs that 5 and 6 wait for.
  Result<void> finish_held() {
    Exchange request;
    request.worker = worker;
    request.now = kNoon;
    request.offer = TestWorkflow::offer(4);
    ++wf.tx.number;
    TORC_ASSIGN(Answer answer, exchange(wf.tx, request));
    request.offer = {};
    Grant held;
    held.token = token_of(JobId{2}, wf.job(2));
    answer.grants.push_back(held);
    for (const Grant& grant : answer.grants) {
      Finished f;
      f.token = grant.token;
      f.state = JobState::completed;
      f.outcome.cause = EndCause::exited;
      request.finishes.push_back(f);
    }
    ++wf.tx.number;
    return only_error(exchange(wf.tx, request));
  }
  // All that walk over spans, templates and counters.
  void expect_refused_by_all() {
    expect_corrupt(list());
    expect_corrupt(list(JobState::blocked));
    expect_corrupt(list(JobState::ready));
    expect_corrupt(list(JobState::completed));
    expect_corrupt(list_templates());
    expect_corrupt(only_state(read_workflow(wf.tx)));
    const auto verified = verify_state(wf.tx);
    ASSERT_FALSE(verified.ok());
    EXPECT_EQ(verified.error().kind, ErrorKind::corrupt);
  }

  TestWorkflow wf{plan()};
  WorkerEpoch worker = wf.join();
  mutable std::uint64_t visits_ = 0;
};

TEST_F(Forged, what_is_sound_is_read_by_all) {
  EXPECT_TRUE(list().ok());
  EXPECT_EQ(visits_, 6U);
  for (std::size_t s = 0; s < kJobStates; ++s) EXPECT_TRUE(list(static_cast<JobState>(s)).ok());
  EXPECT_EQ(visits_, 12U);
  EXPECT_TRUE(list_templates().ok());
  EXPECT_TRUE(read_workflow(wf.tx).ok());
}

TEST_F(Forged, a_span_without_an_end_in_sight_is_refused) {
  put_span({5, kForged, 1, 0, 0});
  expect_refused_by_all();
}

TEST_F(Forged, a_change_of_jobs_in_a_span_without_an_end_in_sight_is_refused) {
  const Span span{5, kForged, 1, 0, 0};
  EXPECT_FALSE(decode_span(Key(Table::span, 5), encode(span)));
  put_span(span);
  const std::vector<JobRange> jobs = {range(5, 1000)};
  const auto canceled = cancel_jobs(wf.tx, jobs, kNoon);
  expect_corrupt(canceled ? Result<void>() : canceled.error(), "table 'S'");
  EXPECT_FALSE(read_job(wf.tx, JobId{1000}));
}

TEST_F(Forged, a_span_whose_end_is_beyond_all_numbers_is_refused) {
  put_span({5, UINT64_MAX - 2, 1, 0, 0});
  expect_refused_by_all();
}

TEST_F(Forged, an_empty_span_is_refused) {
  put_span({5, 0, 1, 0, 0});
  expect_refused_by_all();
}

TEST_F(Forged, a_span_of_more_jobs_than_its_template_has_is_refused) {
  put_span({5, 1000, 1, 0, 0});
  expect_refused_by_all();
}

TEST_F(Forged, spans_that_overlap_are_refused) {
  put_span({1, 5, 0, 0, 0});
  expect_corrupt(list(), "a span has the jobs 5 to 6 where 6 follows");
}

TEST_F(Forged, a_gap_between_spans_is_refused) {
  put_span({1, 3, 0, 0, 0});
  expect_corrupt(list(), "a span has the jobs 5 to 6 where 4 follows");
}

TEST_F(Forged, a_span_of_a_class_that_is_none_is_refused) {
  put_span({5, 2, 1, 7, 0});
  expect_corrupt(list(), "table 'C'");
}

TEST_F(Forged, a_span_behind_a_barrier_that_is_none_is_refused) {
  put_span({5, 2, 9, 0, 0});
  expect_corrupt(list(), "table 'b'");
}

TEST_F(Forged, a_span_with_a_priority_that_is_no_priority_is_refused) {
  wf.tx.put(Key(Table::span, 5),
            Value().varint(2).varint(1).varint(0).svarint(std::int64_t{1} << 40));
  expect_corrupt(list());
}

TEST_F(Forged, a_template_without_an_end_in_sight_is_refused) {
  Template t = *read_template(wf.tx, JobId{5});
  t.count = kForged;
  put_template(t);
  expect_refused_by_all();
  EXPECT_FALSE(read_template(wf.tx, JobId{1000}));
}

TEST_F(Forged, a_template_beyond_the_last_job_is_refused) {
  Template t = *read_template(wf.tx, JobId{5});
  t.first = JobId{7};
  put_template(t);
  expect_corrupt(list_templates(), "the templates end at job 8 where 6 are counted");
}

TEST_F(Forged, templates_that_overlap_are_refused) {
  Template t = *read_template(wf.tx, JobId{1});
  t.count = kMaxJobs;
  put_template(t);
  expect_corrupt(list_templates(), "a template begins at job 5 where 20000001 follows");
}

TEST_F(Forged, counters_that_say_more_jobs_than_there_are_are_refused) {
  Tally t = tally();
  t.counts[static_cast<std::size_t>(JobState::completed)] += 3;
  put_tally(t);
  expect_refused_by_all();
}

TEST_F(Forged, counters_beyond_all_workflows_are_refused) {
  Tally t = tally();
  t.counts[static_cast<std::size_t>(JobState::completed)] = kForged;
  put_tally(t);
  expect_refused_by_all();
  expect_corrupt(claim_some());
}

TEST_F(Forged, spans_templates_and_counters_that_agree_on_too_many_jobs_are_refused) {
  Tally t = tally();
  t.counts[static_cast<std::size_t>(JobState::blocked)] += kForged - 2;
  put_tally(t);
  Template last = *read_template(wf.tx, JobId{5});
  last.count = kForged;
  put_template(last);
  put_span({5, kForged, 1, 0, 0});
  expect_refused_by_all();
}

TEST_F(Forged, an_entry_in_the_list_of_sweeps_that_is_none_ends_the_search) {
  wf.tx.put(Key(Table::sweep, UINT64_MAX), {});
  const auto all = scan_sweeps(wf.tx, [](const Template&) { return true; });
  expect_corrupt(all, "table 'P'");
}

TEST_F(Forged, a_ready_queue_without_an_end_in_sight_is_refused) {
  put_ready(wf.tx, {0, 0, 0, 3, kForged});
  expect_corrupt(list(JobState::ready), "table 'R'");
  expect_corrupt(claim_some(), "table 'R'");
}

TEST_F(Forged, a_ready_queue_of_jobs_that_are_not_there_is_refused) {
  put_ready(wf.tx, {0, 0, 0, 7, 2});
  expect_corrupt(list(JobState::ready), "a ready queue has the jobs 7 to 8");
  expect_corrupt(claim_some(), "a ready queue has job 8, of 6");
}

TEST_F(Forged, a_ready_queue_of_more_jobs_than_are_ready_is_refused) {
  put_ready(wf.tx, {0, 0, 0, 3, 4});
  expect_corrupt(list(JobState::ready), "4 jobs are in the ready queues where 2 are counted");
  expect_corrupt(claim_some());
}

TEST_F(Forged, jobs_in_two_ready_queues_are_refused) {
  put_ready(wf.tx, {0, 3, 0, 3, 2});
  expect_corrupt(list(JobState::ready), "which are there twice");
}

TEST_F(Forged, a_queue_of_a_class_that_is_none_is_refused) {
  put_ready(wf.tx, {7, 0, 0, 3, 2});
  expect_corrupt(scan_ready_classes(wf.tx, [](const JobClass&, const ReadyRange&) { return true; }),
                 "table 'C'");
  expect_corrupt(claim_some(), "table 'C'");
}

TEST_F(Forged, a_barrier_with_members_without_an_end_in_sight_is_refused) {
  Barrier barrier = *decode_barrier(*wf.tx.get(Key(Table::barrier, 1)));
  barrier.members = {range(5, kForged)};
  EXPECT_FALSE(decode_barrier(encode(barrier)));
  wf.tx.put(Key(Table::barrier, 1), encode(barrier));
  const std::vector<JobRange> all = {range(1, 6)};
  const auto reset = reset_jobs(wf.tx, all, Force::yes, kNoon);
  expect_corrupt(reset ? Result<void>() : reset.error(), "table 'b'");
}

TEST_F(Forged, a_barrier_that_names_its_members_again_and_again_is_refused) {
  Barrier barrier = *decode_barrier(*wf.tx.get(Key(Table::barrier, 1)));
  barrier.members = {range(5, 2), range(5, 2)};
  EXPECT_FALSE(decode_barrier(encode(barrier)));
}

TEST_F(Forged, an_upstream_run_that_cannot_be_read_ends_an_addition) {
  wf.tx.put(Key(Table::upstream, 1), encode(UpstreamRun{1, 0, {{1}}}));
  Plan addition = plan_of({{1, 0}});
  addition.templates[0].first = JobId{7};
  addition.dependencies.push_back({{range(1, 4)}, {range(7, 1)}});
  const auto added = add_jobs(wf.tx, addition, {});
  expect_corrupt(added ? Result<void>() : added.error(), "table 'G'");
}

TEST_F(Forged, a_record_of_a_job_that_does_not_exist_is_refused) {
  wf.tx.put(Key(Table::job, kForged), encode(wf.job(1)));
  expect_corrupt(list(), "has a record, of 6 jobs");
  expect_corrupt(list(JobState::completed), "has a record, of 6 jobs");
}

TEST_F(Forged, a_record_that_cannot_be_read_is_not_taken_for_none) {
  wf.tx.put(Key(Table::job, 1), "?");
  expect_corrupt(list(), "table 'J'");
  expect_corrupt(list(JobState::completed), "table 'J'");
}

TEST_F(Forged, a_failed_job_without_a_record_is_refused) {
  wf.tx.put(Key(Table::set_aside, kForged), {});
  expect_corrupt(list(JobState::failed), "table 'J'");
}

TEST_F(Forged, leases_of_more_jobs_than_are_held_are_not_gathered) {
  Lease lease;
  for (std::uint64_t id = 1; id <= Lease::kMaxHeld; ++id) lease.held.push_back(id);
  for (std::uint64_t epoch = 100; epoch < 110; ++epoch)
    wf.tx.put(Key(Table::lease, epoch), encode(lease));
  expect_corrupt(list(JobState::running), "workers hold more jobs than the 1 that are counted");
}

TEST_F(Forged, a_lease_of_jobs_that_no_workflow_has_is_refused) {
  Lease lease;
  lease.held = {UINT64_MAX};
  EXPECT_FALSE(decode_lease(encode(lease)));
}

TEST_F(Forged, a_host_with_an_epoch_of_another_length_does_not_make_its_workers_endless) {
  std::string key(Key(Table::host, name_hash("node1")).be64(std::uint64_t{1} << 56));
  wf.tx.put(key.append(1, '\0'), {});
  expect_corrupt(only_error(workers_on(wf.tx, "node1")), "table 'H'");
  wf.tx.number += 7;
  expect_corrupt(only_error(release_worker(wf.tx, worker, kNoon)), "table 'H'");
}

TEST_F(Forged, a_limit_that_cannot_be_read_is_not_the_last) {
  wf.tx.put(Key(Table::limit).be32(1), encode(Limit{"a", 1}));
  const auto scan = [&] { return scan_limits(wf.tx, [](const LimitState&) { return true; }); };
  EXPECT_TRUE(scan().ok());
  wf.tx.put(Key(Table::limit).be32(3), encode(Limit{"b", 1}));
  expect_corrupt(scan(), "table 'L', key 00 00 00 03");
  wf.tx.put(Key(Table::limit).be32(2), "?");
  expect_corrupt(scan(), "table 'L', key 00 00 00 02");
}

TEST_F(Forged, a_worker_that_cannot_be_read_is_not_the_last) {
  const auto scan = [&](bool live_workers) {
    return scan_workers(wf.tx, live_workers, [](const Worker&) { return true; });
  };
  EXPECT_TRUE(scan(true).ok());
  EXPECT_TRUE(scan(false).ok());
  wf.tx.put(Key(Table::lease, 99), encode(Lease{}));
  expect_corrupt(scan(true), "table 'W', key 00 00 00 00 00 00 00 63");
  wf.tx.put(Key(Table::worker, 99), "?");
  expect_corrupt(scan(false), "table 'W', key 00 00 00 00 00 00 00 63");
}

TEST_F(Forged, a_worker_that_cannot_be_read_is_not_taken_for_none) {
  EXPECT_TRUE((*find_worker(wf.tx, worker)).has_value());
  EXPECT_FALSE((*find_worker(wf.tx, WorkerEpoch{99})).has_value());
  const auto before = wf.tx.entries;
  for (const Table table : {Table::worker, Table::lease}) {
    wf.tx.put(Key(table, raw(worker)), "?");
    expect_corrupt(only_error(find_worker(wf.tx, worker)),
                   std::string("table '") + static_cast<char>(table) + "'");
    expect_corrupt(only_error(newest_worker(wf.tx)));
    EXPECT_FALSE(read_worker(wf.tx, worker).has_value()) << "it is shown as far as it can be";
    wf.tx.entries = before;
  }
}

TEST_F(Forged, additions_that_cannot_be_read_are_not_taken_for_none) {
  const auto add_one = [&] {
    ++wf.tx.number;
    auto before = wf.tx.entries;
    Plan addition = plan_of({{1, 0}});
    addition.templates[0].first = JobId{*count_jobs(wf.tx) + 1};
    auto done = only_error(add_jobs(wf.tx, addition, {}));
    if (!done.ok()) wf.tx.entries = std::move(before);
    return done;
  };
  EXPECT_FALSE((*read_origin(wf.tx, JobId{6})).has_value()) << "nothing was added yet";
  ASSERT_TRUE(add_one().ok());
  ASSERT_TRUE((*read_origin(wf.tx, JobId{7})).has_value());
  wf.tx.put(Key(Table::addition, 7), "?");
  expect_corrupt(only_error(read_origin(wf.tx, JobId{7})), "table 'A'");
  EXPECT_FALSE((*read_origin(wf.tx, JobId{6})).has_value());
  wf.tx.put(Key(Table::addition), "?");
  expect_corrupt(add_one(), "table 'A'");
}

TEST_F(Forged, user_data_that_cannot_be_read_is_not_left_out) {
  ASSERT_TRUE(set_user_datum(wf.tx, "a", "1", {}, Create::yes).ok());
  const auto scan = [&] { return scan_user_data(wf.tx, [](const UserDatum&) { return true; }); };
  EXPECT_TRUE(scan().ok());
  wf.tx.put(std::string(Key(Table::user_data)) + "b", "?");
  expect_corrupt(scan(), "table 'U', key 62");
}

// Keys of another length than the table's: between those of it, at its end, and before its first.
TEST_F(Forged, a_key_of_a_job_of_another_length_is_not_the_end_of_the_records) {
  const auto state_after = [&](const std::string& key, const auto& act) {
    const auto before = wf.tx.entries;
    wf.tx.put(key, encode(wf.job(1)));
    expect_corrupt(act(), "table 'J'");
    wf.tx.entries = before;
  };
  const std::string first(Key(Table::job, 1));
  const std::vector<JobRange> all = {range(1, 6)};
  for (const std::string& key : {first + '\0', first + "more"}) {
    state_after(key, [&] { return list(); });
    state_after(key, [&] { return list(JobState::completed); });
  }
  // Where a look for the next record meets it: else what completed would be taken for what waits.
  for (const std::string& key :
       {std::string(Key(Table::job)) + '\7', std::string(Key(Table::job, 3)) + '\0'}) {
    state_after(key, [&] { return list(); });
    state_after(key, [&] { return list(JobState::completed); });
    state_after(key, [&] { return only_error(cancel_jobs(wf.tx, all, kNoon)); });
    state_after(key, [&] { return only_error(reset_jobs(wf.tx, all, Force::yes, kNoon)); });
  }
  for (const std::string& key : {std::string(Key(Table::job)), first.substr(0, 8),
                                 first.substr(0, 4), std::string(Key(Table::job, 0))}) {
    state_after(key, [&] { return list(); });
    state_after(key, [&] { return list(JobState::completed); });
  }
}

TEST_F(Forged, keys_of_another_length_are_refused_in_every_table) {
  const auto refused = [&](Table table, const std::string& key, std::string_view value,
                           const auto& act) {
    const auto before = wf.tx.entries;
    wf.tx.put(key, value);
    expect_corrupt(act(), std::string("table '") + static_cast<char>(table) + "'");
    wf.tx.entries = before;
  };
  const auto more = [](const Key& key) { return std::string(key) + '\0'; };
  const std::string lease(*wf.tx.get(Key(Table::lease, raw(worker))));
  const std::string one_class = encode(JobClass{});
  refused(Table::name, more(Key(Table::name, 77).be64(1)), "",
          [&] { return only_error(find_by_name_hash(wf.tx, 77)); });
  refused(Table::name, std::string(Key(Table::name, 77)) + "xy", "",
          [&] { return only_error(find_by_name_hash(wf.tx, 77)); });
  const std::string after = more(Key(Table::lease, raw(worker)));
  refused(Table::lease, after, lease, [&] { return list(JobState::running); });
  refused(Table::lease, after, lease,
          [&] { return scan_workers(wf.tx, true, [](const Worker&) { return true; }); });
  const std::string last = std::string(Key(Table::lease)) + '\1';
  refused(Table::lease, last, lease, [&] { return only_error(newest_worker(wf.tx)); });
  refused(Table::lease, last, lease, [&] { return only_error(successors(wf.tx, worker, 3)); });
  refused(Table::lease, last, lease,
          [&] { return only_error(is_anybody_of(wf.tx, raw(worker) + 1, UINT64_MAX)); });
  refused(Table::span, more(Key(Table::span, 1)), *wf.tx.get(Key(Table::span, 1)),
          [&] { return list(); });
  refused(Table::sweep, more(Key(Table::sweep, 1)), "",
          [&] { return scan_sweeps(wf.tx, [](const Template&) { return true; }); });
  refused(Table::job_class, std::string(Key(Table::job_class)) + "x", one_class,
          [&] { return scan_classes(wf.tx, [](const JobClass&) { return true; }); });
  refused(Table::delayed, std::string(Key(Table::delayed, 0)), "",
          [&] { return list(JobState::delayed); });
  refused(Table::delayed, std::string(Key(Table::delayed, 0)), "", [&] { return claim_some(); });
  refused(Table::ready, more(ready_key({0, 0, 0, 3, 2})), std::string(Value().varint(1)),
          [&] { return list(JobState::ready); });
  refused(Table::action_run, more(Key(Table::action_run).be32(1)), "",
          [&] { return scan_runs(wf.tx, 1, [](WorkerEpoch, const ActionRun&) { return true; }); });
  refused(Table::own_rank, more(Key(Table::own_rank, 5)), "", [&] { return finish_held(); });
}

TEST_F(Forged, user_data_listed_without_a_name_ends_a_reset) {
  // Shorter than the number of a job, and between those of two jobs.
  wf.tx.put(std::string(1, static_cast<char>(Table::ephemeral)) + std::string(7, '\0') + '\1', {});
  wf.tx.put(std::string(Key(Table::ephemeral, 1)), {});
  const auto cleared = clear_ephemeral(wf.tx, range(0, 6));
  expect_corrupt(cleared, "table 'u'");
}

TEST_F(Forged, barriers_of_another_length_are_not_taken_for_none) {
  wf.tx.put(std::string(Key(Table::barrier, 9)) + '\0', "");
  Plan addition = plan_of({{1, 0}});
  addition.templates[0].first = JobId{7};
  addition.dependencies.push_back({{range(1, 4)}, {range(7, 1)}});
  expect_corrupt(only_error(add_jobs(wf.tx, addition, {})), "table 'b'");
}

TEST_F(Forged, more_actions_than_there_are_end_the_exchange) {
  Tally t = tally();
  t.rules |= rule::kActions;
  put_tally(t);
  ActionTally actions;
  actions.actions = UINT32_MAX;
  actions.spent = 1;
  actions.armed = 1;
  wf.tx.put(Key(Table::action), encode(actions));
  expect_corrupt(claim_some(), "table 'a'");
  actions.actions = kForged;
  EXPECT_FALSE(decode_action_tally(encode(actions)));
}

}  // namespace
}  // namespace torc::claim
