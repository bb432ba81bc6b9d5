// Records that can be read and make no sense, as a member of a group may write them, or a damaged
// disk: whoever meets one says so, and neither goes on for ever nor asks for all memory.
#include <gtest/gtest.h>

#include "lib/claim/add.h"
#include "lib/claim/firing.h"
#include "lib/claim/live.h"
#include "lib/claim/ready_queue.h"
#include "lib/claim/reset.h"
#include "lib/claim/tables.h"
#include "lib/claim/test_workflow.h"

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
  static Result<void> only_state(const Result<WorkflowState>& read) {
    return read ? Result<void>() : read.error();
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
  expect_corrupt(scan_ready_classes(wf.tx, [](const JobClass&, JobId) { return true; }),
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
  EXPECT_EQ(workers_on(wf.tx, "node1"), std::vector<WorkerEpoch>{worker});
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

TEST_F(Forged, a_count_of_retries_takes_no_time) {
  RetryRule rule;
  rule.backoff = std::chrono::seconds(0);
  EXPECT_EQ(backoff_of(rule, UINT32_MAX), std::chrono::seconds(0));
  rule.backoff = std::chrono::seconds(-5);
  EXPECT_EQ(backoff_of(rule, UINT32_MAX), std::chrono::seconds(0));
}

TEST_F(Forged, a_plan_of_more_jobs_than_a_workflow_can_have_is_not_written) {
  store::MemoryState tx;
  const auto written = write_plan(tx, plan_of({{kMaxJobs, 0}, {1, 0}}));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::invalid);
  EXPECT_TRUE(write_plan(tx, plan_of({{kMaxJobs, 0}})).ok());
}

}  // namespace
}  // namespace torc::claim
