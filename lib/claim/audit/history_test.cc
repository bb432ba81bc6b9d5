#include "lib/claim/audit/history.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/asking.h"

#include <gtest/gtest.h>

#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/undo.h"
#include "lib/store/engine/commit_file.h"

namespace torc::claim {
namespace {

// A workflow whose commits are captured as the store captures them: what a call changed.
class History : public ::testing::Test {
 protected:
  template <class Act>
  void must_commit(std::uint64_t author, Act act) {
    const auto done = commit(author, act);
    EXPECT_TRUE(done.ok());
  }
  // Runs `act`, which makes one commit by `author`, and tells the historian.
  template <class Act>
  auto commit(std::uint64_t author, Act act) {
    const auto before = workflow.tx.entries;
    auto answer = act();
    store::WriteSet writes;
    for (const auto& [key, value] : workflow.tx.entries) {
      const auto old = before.find(key);
      if (old == before.end() || old->second != value) writes.put(key, value);
    }
    for (const auto& [key, value] : before) {
      if (!workflow.tx.entries.contains(key)) writes.erase(key);
    }
    EXPECT_TRUE(historian.commit(workflow.tx.number, author, writes.bytes()).ok());
    return answer;
  }
  WorkerEpoch join() {
    return commit(0, [&] { return workflow.join(); });
  }
  ClaimToken claim(WorkerEpoch w) {
    return commit(raw(w), [&] { return workflow.claim(w, 1); }).at(0).token;
  }
  void start(WorkerEpoch w, const ClaimToken& token) {
    must_commit(raw(w), [&] {
      Exchange e;
      e.worker = w;
      e.now = kNoon + std::chrono::seconds(1);
      e.starts.push_back({token, kNoon + std::chrono::seconds(1)});
      return workflow.say(e);
    });
  }
  void give_back(WorkerEpoch w, const ClaimToken& token) {
    must_commit(raw(w), [&] {
      Exchange e;
      e.worker = w;
      e.now = kNoon + std::chrono::seconds(2);
      e.returns.push_back(token);
      return workflow.say(e);
    });
  }
  std::string told() {
    std::string out;
    for (const Event& e : events) {
      out += std::string(to_string(e.kind));
      if (raw(e.job) != 0)
        out += " " + std::to_string(raw(e.job)) + "." + std::to_string(e.attempt);
      out += raw(e.worker) == 0 ? "" : " w" + std::to_string(raw(e.worker));
      out += "; ";
    }
    events.clear();
    return out;
  }
  std::string rest_of(Historian& other) {
    for (const auto& [key, value] : workflow.tx.entries) other.rest(key, value);
    return told();
  }

  std::vector<Event> events;
  Historian historian{[this](const Event& e) { events.push_back(e); }};
  TestWorkflow workflow{plan_of({{3, 0}})};
};

TEST_F(History, tells_once_that_a_worker_came_also_when_slurm_moves_its_end) {
  const WorkerEpoch w = join();
  const auto move = [&](WallTime end) {
    must_commit(raw(w), [&] {
      ++workflow.tx.number;
      return move_end(workflow.tx, w, end, kNoon);
    });
  };
  move(kNoon + std::chrono::hours(1));
  move(kNoon + std::chrono::hours(2));
  EXPECT_EQ(told(), "registered w2; ");
  Historian later([this](const Event& e) { events.push_back(e); });
  EXPECT_EQ(rest_of(later), "registered w2; ") << "the commit in which it came is gone";
}

TEST_F(History, tells_a_job_from_claim_to_end) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  start(w, token);
  must_commit(raw(w), [&] { return workflow.finish(w, token); });
  EXPECT_EQ(told(), "registered w2; claimed 1.1 w2; started 1.1 w2; finished 1.1 w2; ");
}

TEST_F(History, tells_once_which_jobs_were_added_and_by_whom) {
  Plan more = plan_of({{2, 0}});
  more.templates[0].first = JobId{4};
  Origin origin;
  origin.parent = JobId{2};
  origin.attempt = 3;
  origin.at = kNoon;
  origin.by = "me@here";
  must_commit(0, [&] { return add_jobs(workflow.tx, more, origin); });
  ASSERT_EQ(events.size(), 1U);
  for (const bool from_state : {false, true}) {
    if (from_state) {
      Historian other([this](const Event& e) { events.push_back(e); });
      events.clear();
      for (const auto& [key, value] : workflow.tx.entries) other.rest(key, value);
      ASSERT_EQ(events.size(), 1U);
    }
    EXPECT_EQ(events[0].kind, EventKind::added);
    EXPECT_EQ(raw(events[0].job), 4U);
    EXPECT_EQ(events[0].count, 2U);
    EXPECT_EQ(events[0].parent, JobId{2});
    EXPECT_EQ(events[0].attempt, 3U);
    EXPECT_EQ(events[0].by, "me@here");
    EXPECT_EQ(events[0].at, kNoon);
  }
  events.clear();
  EXPECT_EQ(rest_of(historian), "") << "the commit told of it";
}

TEST_F(History, knows_who_wrote_it_and_when) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  start(w, token);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].at, kNoon);
  EXPECT_EQ(events[1].sequence, token.claim);
  EXPECT_EQ(events[1].author, w);
  EXPECT_EQ(events[2].at, kNoon + std::chrono::seconds(1));
  EXPECT_EQ(events[2].state, JobState::running);
}

TEST_F(History, tells_a_start_that_was_reported_with_its_end) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  told();
  must_commit(raw(w), [&] {
    Exchange e;
    e.worker = w;
    e.now = kNoon;
    Finished f;
    f.token = token;
    f.state = JobState::failed;
    f.outcome.cause = EndCause::exited;
    f.outcome.exit_code = 3;
    f.outcome.started_at = kNoon + std::chrono::seconds(1);
    f.outcome.ended_at = kNoon + std::chrono::seconds(5);
    e.finishes.push_back(f);
    return workflow.say(e);
  });
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].state, JobState::failed);
  EXPECT_EQ(events[1].outcome.exit_code, 3);
  EXPECT_EQ(events[1].at, kNoon + std::chrono::seconds(5));
  EXPECT_EQ(told(), "started 1.1 w2; finished 1.1 w2; ");
}

TEST_F(History, tells_a_claim_that_was_given_back) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  told();
  give_back(w, token);
  EXPECT_EQ(events.at(0).at, kNoon + std::chrono::seconds(2));
  EXPECT_EQ(told(), "returned 1.1 w2; ");
}

TEST_F(History, tells_a_hold_and_its_end_as_a_persons_word) {
  const JobRange first{JobId{1}, 1};
  must_commit(0, [&] { return hold_jobs(workflow.tx, {&first, 1}); });
  EXPECT_EQ(told(), "held 1.0; ");
  must_commit(0, [&] { return release_jobs(workflow.tx, {&first, 1}, kNoon); });
  EXPECT_EQ(told(), "hold_released 1.0; ");
}

TEST_F(History, tells_a_retry_as_a_persons_word) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  must_commit(raw(w), [&] { return workflow.finish(w, token, JobState::failed); });
  told();
  const JobRange first{JobId{1}, 1};
  must_commit(0, [&] { return retry_jobs(workflow.tx, {&first, 1}); });
  EXPECT_EQ(told(), "retried 1.1; ");
  must_commit(0, [&] { return hold_jobs(workflow.tx, {&first, 1}); });
  EXPECT_EQ(told(), "held 1.1; ");
}

TEST_F(History, tells_once_who_changed_what_and_that_it_was_taken_back) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  must_commit(raw(w), [&] { return workflow.finish(w, token); });
  told();
  const JobRange first{JobId{1}, 1};
  must_commit(0, [&] {
    ++workflow.tx.number;
    NotedTransaction noted(workflow.tx);
    const auto done = reset_jobs(noted, {&first, 1}, Force::no, kNoon);
    keep_change(workflow.tx, noted, {kNoon, kNoon, "she@here", "torc reset", "", ""});
    return done;
  });
  ASSERT_FALSE(events.empty());
  const Event changed = events.back();
  EXPECT_EQ(told(), "retried 1.1; changed; ");
  EXPECT_EQ(changed.command, "torc reset");
  EXPECT_EQ(changed.by, "she@here");
  EXPECT_EQ(changed.sequence, workflow.tx.number);
  EXPECT_EQ(changed.count, 1U);
  must_commit(0, [&] {
    ++workflow.tx.number;
    return undo_change(workflow.tx, 1, kNoon, "he@there");
  });
  const Event undone = events.back();
  EXPECT_EQ(told(), "restored 1.1 w2; undone; ") << "the attempt is not told once more";
  EXPECT_EQ(undone.by, "he@there");
  EXPECT_EQ(rest_of(historian), "");
  Historian later([this](const Event& e) { events.push_back(e); });
  EXPECT_EQ(rest_of(later), "claimed 1.1 w2; finished 1.1 w2; registered w2; changed; undone; ");
}

TEST_F(History, tells_of_a_lost_worker_and_whose_jobs_run_again) {
  const WorkerEpoch w = join();
  const WorkerEpoch other = join();
  start(w, claim(w));
  told();
  must_commit(raw(other), [&] {
    ++workflow.tx.number;
    return expire_worker(workflow.tx, w, read_worker(workflow.tx, w)->renewals,
                         kNoon + std::chrono::seconds(9), 5, EndCause::lease_lost);
  });
  for (const Event& e : events) {
    EXPECT_EQ(e.author, other);
    EXPECT_EQ(e.at, kNoon + std::chrono::seconds(9));
  }
  EXPECT_EQ(events.at(0).outcome.ended_at, kNoon + std::chrono::seconds(1)) << "its last words";
  EXPECT_EQ(told(), "requeued 1.1 w2; expired w2; ");
  const ClaimToken again = claim(other);
  EXPECT_EQ(again.attempt, 2U);
  EXPECT_EQ(told(), "claimed 1.2 w3; ");
  give_back(other, again);
  EXPECT_EQ(told(), "returned 1.2 w3; ");
}

// The workers first, as `torc history` tells them.
TEST_F(History, dates_a_loss_by_when_it_was_found_also_where_no_commit_is_left) {
  const WorkerEpoch w = join();
  start(w, claim(w));
  ++workflow.tx.number;
  const WallTime found = kNoon + std::chrono::seconds(9);
  ASSERT_TRUE(expire_worker(workflow.tx, w, read_worker(workflow.tx, w)->renewals, found, 5,
                            EndCause::lease_lost)
                  .ok());
  std::vector<Event> ends;
  Historian later([&](const Event& e) {
    if (e.kind == EventKind::requeued) ends.push_back(e);
  });
  for (const Table table : {Table::worker, Table::job}) {
    for (const auto& [key, value] : workflow.tx.entries) {
      if (is_in(table, key)) later.rest(key, value);
    }
  }
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].at, found);
  EXPECT_EQ(ends[0].outcome.ended_at, kNoon + std::chrono::seconds(1)) << "its last words";
}

TEST_F(History, of_a_worker_that_leaves_is_told) {
  const WorkerEpoch w = join();
  start(w, claim(w));
  told();
  must_commit(raw(w), [&] {
    ++workflow.tx.number;
    return release_worker(workflow.tx, w, kNoon);
  });
  EXPECT_EQ(told(), "requeued 1.1 w2; released w2; ");
}

TEST_F(History, without_any_commit_is_told_from_the_state) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  start(w, token);
  must_commit(raw(w), [&] { return workflow.finish(w, token); });
  told();
  Historian later([this](const Event& e) { events.push_back(e); });
  EXPECT_EQ(rest_of(later), "claimed 1.1 w2; started 1.1 w2; finished 1.1 w2; registered w2; ");
}

TEST_F(History, of_an_expiry_the_state_tells_when_it_was_noticed) {
  const WorkerEpoch w = join();
  start(w, claim(w));
  const WallTime noticed = kNoon + std::chrono::hours(12);
  ++workflow.tx.number;
  const auto renewals = read_worker(workflow.tx, w)->renewals;
  ASSERT_TRUE(*expire_worker(workflow.tx, w, renewals, noticed, 5));
  Historian later([this](const Event& e) { events.push_back(e); });
  for (const auto& [key, value] : workflow.tx.entries) later.rest(key, value);
  ASSERT_EQ(events.back().kind, EventKind::expired);
  EXPECT_EQ(events.back().at, noticed);
}

TEST_F(History, is_told_once_by_commits_and_state_together) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  start(w, token);
  told();
  EXPECT_EQ(rest_of(historian), "");
}

TEST_F(History, does_not_tell_from_the_state_what_happened_after_the_last_commit_read) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  told();
  ASSERT_TRUE(workflow.finish(w, token).ok());  // by a commit that the historian does not get
  EXPECT_EQ(rest_of(historian), "");
}

TEST_F(History, that_begins_in_the_middle_tells_the_beginning_from_the_record) {
  const WorkerEpoch w = join();
  const ClaimToken token = claim(w);
  start(w, token);
  told();
  historian = Historian([this](const Event& e) { events.push_back(e); });
  must_commit(raw(w), [&] { return workflow.finish(w, token); });
  EXPECT_EQ(events.at(0).sequence, token.claim);
  EXPECT_EQ(told(), "claimed 1.1 w2; started 1.1 w2; finished 1.1 w2; ");
  EXPECT_EQ(rest_of(historian), "registered w2; ");
}

TEST_F(History, tells_earlier_attempts_from_the_state_where_no_commit_tells_them) {
  const WorkerEpoch w = join();
  const ClaimToken first = claim(w);
  start(w, first);
  Historian middle([this](const Event& e) { events.push_back(e); });
  std::swap(historian, middle);  // the commits up to here are gone
  must_commit(raw(w), [&] { return workflow.finish(w, first, JobState::failed); });
  must_commit(0, [&] {
    ++workflow.tx.number;
    return retry_jobs(workflow.tx, std::vector{range(1, 1)});
  });
  while (raw(claim(w).job) != 1) {
  }
  events.clear();
  const std::string told_late = rest_of(historian);
  EXPECT_EQ(told_late.find(" 1.1"), std::string::npos)
      << "with its end all of it was told: " << told_late;
  Historian without([this](const Event& e) { events.push_back(e); });
  const std::string of_state = rest_of(without);
  EXPECT_NE(of_state.find("claimed 1.1 w2; started 1.1 w2; finished 1.1 w2; "), std::string::npos)
      << of_state;
  EXPECT_NE(of_state.find("claimed 1.2 w2; "), std::string::npos) << of_state;
}

TEST_F(History, of_what_is_no_write_set_is_an_error) {
  EXPECT_EQ(historian.commit(5, 1, "\x07nonsense").error().kind, ErrorKind::corrupt);
}

}  // namespace
}  // namespace torc::claim
