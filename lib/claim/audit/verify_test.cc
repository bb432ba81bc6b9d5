#include <gtest/gtest.h>

#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

// Jobs 1-4 one sweep, 5-6 behind 1 and 2, 7 alone with a name. Worker 2 holds 3; 1 completed, 4
// failed.
class Verify : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{4, 0}, {2, 0}, {1, -1}});
    plan.dependencies.push_back({{range(1, 2)}, {range(5, 2)}});
    plan.templates[2].name_hash = name_hash("alone");
    plan.few_classes = 0;
    return plan;
  }

  Verify() {
    const WorkerEpoch w = wf.join();
    const auto grants = wf.claim(w, 4);
    EXPECT_TRUE(wf.finish(w, grants[0].token).ok());
    EXPECT_TRUE(wf.finish(w, grants[3].token, JobState::failed).ok());
    Exchange request;
    request.worker = w;
    request.returns.push_back(grants[1].token);
    EXPECT_TRUE(wf.say(request).ok());
  }

  void put_job(std::uint64_t id, const Job& job) { wf.tx.put(Key(Table::job, id), encode(job)); }

  void expect_wrong(const std::string& part) {
    const auto sound = verify_state(wf.tx);
    ASSERT_FALSE(sound.ok()) << "not found: " << part;
    EXPECT_EQ(sound.error().kind, ErrorKind::corrupt);
    EXPECT_NE(sound.error().what.find(part), std::string::npos) << sound.error().what;
  }

  TestWorkflow wf{plan()};
};

TEST_F(Verify, a_sound_state_passes) {
  wf.check();
}

TEST_F(Verify, a_job_that_ran_before_its_dependencies_is_found) {
  put_job(5, wf.job(1));
  expect_wrong("job 5 is completed at attempt 1 although jobs that it depends on");
}

TEST_F(Verify,
       a_job_that_was_claimed_before_its_dependencies_is_found_even_when_it_is_blocked_again) {
  Job job = untouched(JobState::ready);
  job.attempt = 1;
  put_job(5, job);
  expect_wrong("job 5 is blocked at attempt 1");
}

TEST_F(Verify, a_record_that_says_blocked_is_found) {
  put_job(5, Job{});
  expect_wrong("the record of job 5 says what only its barrier can say");
}

TEST_F(Verify, a_job_to_be_ended_that_was_not_canceled_is_found) {
  Job job = wf.job(4);
  job.revoked = Revoked::ending;
  put_job(4, job);
  expect_wrong("job 4 is failed and is to be ended");
}

TEST_F(Verify, a_canceled_job_whose_worker_was_not_told_is_found) {
  Lease lease = *decode_lease(*wf.tx.get(Key(Table::lease, 2)));
  lease.held.clear();
  wf.tx.put(Key(Table::lease, 2), encode(lease));
  Job job = wf.job(3);
  job.state = JobState::canceled;
  job.revoked = Revoked::ending;
  put_job(3, job);
  expect_wrong("by a worker that does not know of it");
}

TEST_F(Verify, a_worker_told_to_end_what_was_not_canceled_is_found) {
  Lease lease = *decode_lease(*wf.tx.get(Key(Table::lease, 2)));
  lease.ending = {4};
  wf.tx.put(Key(Table::lease, 2), encode(lease));
  expect_wrong("worker 2 is to end job 4, which was not canceled");
}

TEST_F(Verify, a_ready_job_of_an_age_that_nobody_looks_for_is_found) {
  wf.tx.erase(ready_key({0, -1, 0, 7, 1}));
  put_ready(wf.tx, {0, -1, 1, 7, 1});
  expect_wrong("job 7 is in its queue where nobody would look for it");
}

TEST_F(Verify, a_wrong_countdown_is_found) {
  wf.tx.put(Key(Table::countdown, 1), Value().varint(2));
  expect_wrong("barrier 1 counts 2 jobs to go where 1");
}

TEST_F(Verify, a_barrier_opened_too_early_is_found) {
  wf.tx.put(Key(Table::countdown, 1), Value().varint(0));
  expect_wrong("barrier 1 counts 0 jobs to go where 1");
}

TEST_F(Verify, a_countdown_of_nothing_is_found) {
  wf.tx.put(Key(Table::countdown, 9), Value().varint(2));
  expect_wrong("a countdown without a barrier");
}

TEST_F(Verify, a_wrong_counter_is_found) {
  Tally tally = *decode_tally(*wf.tx.get(Key(Table::tally)));
  tally.move(JobState::ready, JobState::completed);
  wf.tx.put(Key(Table::tally), encode(tally));
  expect_wrong("1 jobs are counted as ready where 2 are");
}

TEST_F(Verify, a_wrong_number_of_live_workers_is_found) {
  Tally tally = *decode_tally(*wf.tx.get(Key(Table::tally)));
  ++tally.live_workers;
  wf.tx.put(Key(Table::tally), encode(tally));
  expect_wrong("2 workers are counted as registered where 1");
}

TEST_F(Verify, a_wrong_number_of_hosts_is_found) {
  Tally tally = *decode_tally(*wf.tx.get(Key(Table::tally)));
  ++tally.hosts;
  wf.tx.put(Key(Table::tally), encode(tally));
  expect_wrong("2 hosts are counted where registered workers are on 1");
}

TEST_F(Verify, a_worker_listed_at_a_host_where_it_is_not_is_found) {
  wf.tx.put(Key(Table::host, name_hash("elsewhere")).be64(2), {});
  expect_wrong("listed by host are not those that are registered");
}

TEST_F(Verify, a_ready_job_in_no_queue_is_found) {
  wf.tx.erase(ready_key({0, -1, 0, 7, 1}));
  expect_wrong("job 7 is ready and in no queue");
}

TEST_F(Verify, a_job_in_the_queues_twice_is_found) {
  wf.tx.put(ready_key({0, -1, 9, 7, 1}), Value().varint(1));
  expect_wrong("job 7 is in the ready queues twice");
}

TEST_F(Verify, a_job_in_a_queue_that_is_not_ready_is_found) {
  wf.tx.put(ready_key({0, 0, 0, 3, 1}), Value().varint(1));
  expect_wrong("job 3 is claimed and in a ready queue");
}

TEST_F(Verify, a_job_in_the_queue_of_another_priority_is_found) {
  wf.tx.erase(ready_key({0, -1, 0, 7, 1}));
  wf.tx.put(ready_key({0, 3, 0, 7, 1}), Value().varint(1));
  expect_wrong("job 7 is in a queue of another class or priority");
}

TEST_F(Verify, a_queue_of_jobs_that_do_not_exist_is_found) {
  wf.tx.put(ready_key({0, 0, 9, 7, 1}), Value().varint(2));
  expect_wrong("a ready queue names jobs 7 to 8 of 7");
}

TEST_F(Verify, a_worker_that_holds_what_it_does_not_is_found) {
  Lease lease = *decode_lease(*wf.tx.get(Key(Table::lease, 2)));
  lease.held = {2, 3};
  wf.tx.put(Key(Table::lease, 2), encode(lease));
  expect_wrong("worker 2 claims to hold job 2");
}

TEST_F(Verify, a_live_job_that_nobody_holds_is_found) {
  Lease lease = *decode_lease(*wf.tx.get(Key(Table::lease, 2)));
  lease.held.clear();
  wf.tx.put(Key(Table::lease, 2), encode(lease));
  expect_wrong("by a worker that does not hold it");
}

TEST_F(Verify, a_live_worker_without_a_lease_is_found) {
  wf.tx.put(Key(Table::worker, 1), encode_worker({}, WorkerStatus::registered, {}, {}));
  expect_wrong("worker 1 is registered and has no lease");
}

TEST_F(Verify, a_lease_of_a_worker_that_left_is_found) {
  wf.tx.put(Key(Table::worker, 2), encode_worker({}, WorkerStatus::released, {}, {}));
  expect_wrong("worker 2 has a lease and is not registered");
}

TEST_F(Verify, a_failed_job_missing_from_the_list_is_found) {
  wf.tx.erase(Key(Table::set_aside, 4));
  expect_wrong("a failed job is not listed");
}

TEST_F(Verify, a_completed_job_listed_as_failed_is_found) {
  wf.tx.put(Key(Table::set_aside, 1), {});
  expect_wrong("a job that has not failed is listed");
}

TEST_F(Verify, a_claim_from_the_future_is_found) {
  Job job = wf.job(3);
  job.claim = wf.tx.number + 1;
  put_job(3, job);
  expect_wrong("job 3 has impossible numbers");
}

TEST_F(Verify, an_upstream_job_that_would_not_open_its_barrier_is_found) {
  wf.tx.erase(Key(Table::upstream, 1));
  expect_wrong("some job that barrier 1 waits for would not open it");
}

TEST_F(Verify, an_upstream_job_that_would_open_another_barrier_is_found) {
  wf.tx.put(Key(Table::upstream, 1), encode(UpstreamRun{1, 3, {{1}}}));
  expect_wrong("barrier 1 does not wait for job 1");
}

TEST_F(Verify, a_missing_template_is_found) {
  wf.tx.erase(Key(Table::job_template, 7));
  expect_wrong("job 7 has no template");
}

TEST_F(Verify, a_name_that_leads_nowhere_is_found) {
  wf.tx.erase(Key(Table::name, name_hash("alone")).be64(7));
  expect_wrong("job 7 is not found by its name");
}

TEST_F(Verify, a_value_that_nobody_wrote_is_found_and_not_acted_upon) {
  wf.tx.put(Key(Table::job, 3), "\x0f garbage");
  expect_wrong("unreadable value at table 'J', key 00 00 00 00 00 00 00 03");
  const auto answer = exchange(wf.tx, {.worker = WorkerEpoch{2},
                                       .now = {},
                                       .starts = {{{JobId{3}, 1, 3}, {}}},
                                       .finishes = {},
                                       .returns = {},
                                       .spares = {},
                                       .offer = {},
                                       .ttl = {},
                                       .actions = {},
                                       .wish = {},
                                       .gang = {},
                                       .job_time = {}});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::corrupt);
}

TEST_F(Verify, no_entry_can_be_lost_unnoticed) {
  const auto whole = wf.tx.entries;
  for (const auto& [key, value] : whole) {
    if (key[0] == static_cast<char>(Table::settings)) continue;  // it may be empty
    wf.tx.entries.erase(key);
    EXPECT_FALSE(verify_state(wf.tx).ok()) << "lost: " << key[0];
    wf.tx.entries = whole;
  }
}

}  // namespace
}  // namespace torc::claim
