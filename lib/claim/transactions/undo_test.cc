#include "lib/claim/transactions/undo.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/scheduling/rank.h"
#include "lib/claim/tables/change_record.h"
#include "lib/claim/tables/past_attempts.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/membership.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

using Answer = Undone::Answer;

// 3 and 4 wait for 1 and 2, 5 for 3 and 4; 6 is alone.
class Undo : public ::testing::Test {
 protected:
  using Body = std::function<Result<void>(Transaction& tx)>;

  static Plan plan() {
    Plan plan = plan_of({{2, 0}, {2, 0}, {1, 0}, {1, 0}});
    plan.dependencies.push_back({{range(1, 2)}, {range(3, 2)}});
    plan.dependencies.push_back({{range(3, 2)}, {range(5, 1)}});
    return plan;
  }

  void run_ready() {
    for (const Grant& g : wf.claim(worker, 9)) EXPECT_TRUE(wf.finish(worker, g.token).ok());
  }
  void change(const std::string& words, const Body& body) {
    ++wf.tx.number;
    NotedTransaction noted(wf.tx);
    const auto done = body(noted);
    ASSERT_TRUE(done.ok()) << done.error().text();
    keep_change(wf.tx, noted, {kNoon, kNoon, "she@here", words, "", ""});
    wf.check();
  }
  void reset(std::uint64_t id) {
    change("torc reset", [&](Transaction& tx) -> Result<void> {
      TORC_TRY(reset_jobs(tx, std::vector{range(id, 1)}, Force::no, kNoon));
      return {};
    });
  }
  void hold(std::uint64_t id) {
    change("torc hold", [&](Transaction& tx) -> Result<void> {
      TORC_TRY(hold_jobs(tx, std::vector{range(id, 1)}));
      return {};
    });
  }
  // As the store: what is not done is not committed.
  Undone undo(std::uint64_t number) {
    ++wf.tx.number;
    auto before = wf.tx.entries;
    const auto undone = undo_change(wf.tx, number, kNoon, "he@there");
    EXPECT_TRUE(undone.ok());
    if (!undone.ok() || undone->answer != Answer::done) wf.tx.entries = std::move(before);
    wf.check();
    return undone.ok() ? *undone : Undone{};
  }
  // All but what is kept of changes, and the edition, which only grows.
  std::map<std::string, std::string> entries() const {
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : wf.tx.entries) {
      if (!is_in(Table::change, key) && !is_in(Table::edition, key)) out.emplace(key, value);
    }
    return out;
  }
  KeptChange kept(std::uint64_t number) const {
    const auto change = read_change(wf.tx, number);
    EXPECT_TRUE(change.ok() && *change) << number;
    return change.ok() && *change ? **change : KeptChange{};
  }

  TestWorkflow wf{plan()};
  WorkerEpoch worker = wf.join();
};

TEST_F(Undo, all_is_as_it_was) {
  for (int stage = 0; stage < 3; ++stage) run_ready();
  const auto before = entries();
  reset(1);
  EXPECT_NE(entries(), before);
  EXPECT_EQ(undo(1).answer, Answer::done);
  EXPECT_EQ(entries(), before);
  EXPECT_EQ(wf.state(5), JobState::completed);
}

TEST_F(Undo, it_is_told_who_changed_what) {
  for (int stage = 0; stage < 3; ++stage) run_ready();
  reset(3);
  const KeptChange change = kept(1);
  EXPECT_EQ(change.words, "torc reset");
  EXPECT_EQ(change.by, "she@here");
  EXPECT_EQ(change.at, kNoon);
  EXPECT_EQ(change.sequence, wf.tx.number);
  EXPECT_EQ(change.jobs, 2U);
  ASSERT_EQ(change.ranges.size(), 2U);
  EXPECT_EQ(change.ranges[0].first, JobId{3});
  EXPECT_EQ(change.ranges[1].first, JobId{5});
  EXPECT_EQ(change.ranges[1].count, 1U);
  EXPECT_GT(change.bytes, 0U);
  EXPECT_EQ(undo(1).answer, Answer::done);
  EXPECT_EQ(kept(1).undone_by, "he@there");
  EXPECT_EQ(kept(1).undone_at, kNoon);
  EXPECT_EQ(undo(1).answer, Answer::before);
}

TEST_F(Undo, one_after_the_other_the_newest_first) {
  const auto first = entries();
  hold(1);
  const auto second = entries();
  hold(6);
  EXPECT_EQ(newest_change(wf.tx), 2U);
  EXPECT_EQ(undo(2).answer, Answer::done);
  EXPECT_EQ(entries(), second);
  EXPECT_EQ(undo(1).answer, Answer::done);
  EXPECT_EQ(entries(), first);
}

TEST_F(Undo, not_what_a_job_has_gone_on_from) {
  run_ready();
  reset(6);
  (void)wf.claim(worker, 9);
  const Undone undone = undo(1);
  EXPECT_EQ(undone.answer, Answer::gone_on);
  EXPECT_EQ(undone.job, JobId{6});
  EXPECT_EQ(wf.state(6), JobState::claimed);
}

TEST_F(Undo, not_where_others_were_started_that_stood_in_the_same_queue) {
  hold(2);
  (void)wf.claim(worker, 1);
  EXPECT_EQ(undo(1).answer, Answer::gone_on);
  EXPECT_EQ(wf.state(2), JobState::held);
}

TEST_F(Undo, not_where_a_job_was_ended_at_work) {
  const auto grants = wf.claim(worker, 9);
  change("torc cancel", [&](Transaction& tx) -> Result<void> {
    TORC_TRY(cancel_jobs(
        tx, std::vector{grants[0].token.job == JobId{1} ? range(1, 1) : range(2, 1)}, kNoon));
    return {};
  });
  EXPECT_EQ(undo(1).answer, Answer::gone_on) << "its worker ends it, whatever is said now";
}

TEST_F(Undo, not_what_a_job_ran_by_that_had_not_run_before) {
  change("torc apply", [&](Transaction& tx) -> Result<void> {
    Template t = *read_template(tx, JobId{6});
    t.recipe = "another";
    tx.put(Key(Table::job_template, 6), encode(t));
    return {};
  });
  EXPECT_EQ(UndoTrial(wf.tx).next(1)->answer, Answer::done);
  for (const Grant& g : wf.claim(worker, 9)) EXPECT_TRUE(wf.finish(worker, g.token).ok());
  const auto undone = UndoTrial(wf.tx).next(1);
  EXPECT_EQ(undone->answer, Answer::gone_on);
  EXPECT_EQ(undone->job, JobId{6});
}

TEST_F(Undo, a_command_of_many_commits_counts_as_one) {
  for (std::uint64_t n = 0; n < kMostUndoable + 5; ++n) {
    change("torc cancel", [&](Transaction& tx) -> Result<void> {
      keep_attempts(tx, static_cast<std::uint32_t>(n + 1));
      return {};
    });
  }
  EXPECT_GT(kept(1).bytes, 0U);
}

TEST_F(Undo, a_change_of_more_commits_than_there_are_is_none) {
  hold(6);
  KeptChange forged = kept(1);
  wf.tx.put(change_key(UINT64_MAX - 1), encode(forged));
  EXPECT_EQ(newest_change(wf.tx), 1U);
  EXPECT_FALSE(verify_state(wf.tx).ok());
}

TEST_F(Undo, ranges_that_cover_each_other_cannot_be_written) {
  KeptChange change;
  change.number = 1;
  change.ranges = {range(1, 3), range(7, 2)};
  change.lost = {range(2, 1)};
  const auto read = decode_change(change_key(1), encode(change));
  ASSERT_TRUE(read);
  EXPECT_EQ(raw(read->ranges[1].first), 7U);
  EXPECT_EQ(read->lost.size(), 1U);
  change.ranges = {range(1, 20'000'000), range(5, 20'000'000)};
  EXPECT_FALSE(decode_change(change_key(1), encode(change)));
}

TEST_F(Undo, workers_may_come_and_go_meanwhile) {
  hold(6);
  (void)wf.join();
  EXPECT_EQ(undo(1).answer, Answer::done);
  EXPECT_EQ(wf.state(6), JobState::ready);
  EXPECT_EQ(read_workflow(wf.tx)->of(JobState::ready), 3U);
}

TEST_F(Undo, what_was_added_is_there_no_more) {
  const auto before = entries();
  change("torc add", [&](Transaction& tx) -> Result<void> {
    Plan more;
    more.classes = {JobClass{}};
    Template t;
    t.first = JobId{7};
    t.count = 3;
    t.recipe = "more";
    more.templates = {t};
    Origin origin;
    origin.at = kNoon;
    TORC_TRY(add_jobs(tx, std::move(more), std::move(origin)));
    return {};
  });
  EXPECT_EQ(read_workflow(wf.tx)->jobs, 9U);
  EXPECT_EQ(kept(1).jobs, 3U);
  EXPECT_EQ(undo(1).answer, Answer::done);
  EXPECT_EQ(entries(), before);
}

// Whoever looks for a class reads as long as the numbers follow each other.
TEST_F(Undo, a_class_stays_behind_which_others_were_numbered) {
  const auto class_key = [](std::uint32_t number) { return Key(Table::job_class).be32(number); };
  const auto priority = [&](const std::string& words, std::uint32_t cpus) {
    change(words, [&](Transaction& tx) -> Result<void> {
      State state(tx);
      JobClass job_class = state.job_class(0);
      job_class.need.cpus = cpus;
      put_rank(tx, state, 6, Rank{find_or_add_class(tx, state, job_class), 0});
      return state.sound();
    });
  };
  ASSERT_EQ(wf.claim(worker, Offer{}).size(), 0U);
  hold(6);
  priority("torc set", 2);
  ASSERT_TRUE(wf.tx.get(class_key(1)));
  const auto before = entries();
  priority("torc set again", 3);
  EXPECT_EQ(undo(3).answer, Answer::done);
  EXPECT_EQ(entries(), before) << "the last one goes";
  // As a worker does for a job that is to have more.
  JobClass grown;
  grown.need.cpus = 7;
  State state(wf.tx);
  EXPECT_EQ(find_or_add_class(wf.tx, state, grown), 2U);
  EXPECT_EQ(UndoTrial(wf.tx).next(2)->answer, Answer::done);
  EXPECT_EQ(undo(2).answer, Answer::done);
  EXPECT_TRUE(wf.tx.get(class_key(1)));
  State after(wf.tx);
  EXPECT_EQ(find_or_add_class(wf.tx, after, grown), 2U);
  EXPECT_TRUE(after.sound().ok());
  wf.tx.erase(class_key(1));
  EXPECT_FALSE(verify_state(wf.tx).ok());
}

// They read it when they registered.
TEST_F(Undo, not_what_workers_at_work_go_by) {
  for (const std::string& key :
       {std::string(Key(Table::settings)), std::string(Key(Table::action).be32(1))}) {
    NotedTransaction noted(wf.tx);
    noted.put(key, "other");
    ++wf.tx.number;
    keep_change(wf.tx, noted, {kNoon, kNoon, "she@here", "torc apply", "", ""});
    const std::uint64_t number = newest_change(wf.tx);
    EXPECT_EQ(UndoTrial(wf.tx).next(number)->answer, Answer::followed);
    ASSERT_TRUE(release_worker(wf.tx, worker, kNoon).ok());
    EXPECT_EQ(UndoTrial(wf.tx).next(number)->answer, Answer::done);
    worker = wf.join();
  }
}

TEST_F(Undo, parts_are_tried_one_after_the_other) {
  hold(1);
  hold(2);  // of the same queue
  UndoTrial trial(wf.tx);
  EXPECT_EQ(trial.next(2)->answer, Answer::done);
  EXPECT_EQ(trial.next(1)->answer, Answer::done) << "as the newer one found it";
  EXPECT_EQ(UndoTrial(wf.tx).next(1)->answer, Answer::gone_on) << "without the newer one";
}

TEST_F(Undo, a_change_that_changes_nothing_is_none) {
  hold(6);
  hold(6);
  EXPECT_EQ(newest_change(wf.tx), 1U);
}

TEST_F(Undo, what_workers_remember_of_recipes_counts_no_more) {
  change("torc apply", [&](Transaction& tx) -> Result<void> {
    tx.put(Key(Table::edition), Value().varint(tx.sequence()));
    TORC_TRY(hold_jobs(tx, std::vector{range(6, 1)}));
    return {};
  });
  const std::uint64_t edition = read_edition(wf.tx);
  EXPECT_EQ(undo(1).answer, Answer::done);
  EXPECT_GT(read_edition(wf.tx), edition);
}

TEST_F(Undo, of_old_changes_only_is_kept_that_they_were) {
  for (std::uint64_t n = 0; n < kMostUndoable + 2; ++n) {
    change("torc set " + std::to_string(n), [&](Transaction& tx) -> Result<void> {
      keep_attempts(tx, static_cast<std::uint32_t>(n + 1));
      return {};
    });
  }
  EXPECT_EQ(newest_change(wf.tx), kMostUndoable + 2);
  EXPECT_EQ(kept(1).bytes, 0U);
  EXPECT_EQ(kept(2).bytes, 0U);
  EXPECT_GT(kept(3).bytes, 0U);
  EXPECT_EQ(undo(2).answer, Answer::not_kept);
  for (std::uint64_t n = kMostUndoable + 2; n > 2; --n) EXPECT_EQ(undo(n).answer, Answer::done);
  EXPECT_EQ(kept_attempts(wf.tx), 2U);
}

TEST_F(Undo, too_much_is_kept_as_a_change_alone) {
  wf.tx.put("~1", std::string(NotedTransaction::kMostBytes, 'x'));
  change("torc set", [&](Transaction& tx) -> Result<void> {
    tx.put("~1", "");
    TORC_TRY(hold_jobs(tx, std::vector{range(6, 1)}));
    return {};
  });
  EXPECT_TRUE(kept(1).is_too_large);
  EXPECT_EQ(undo(1).answer, Answer::not_kept);
}

TEST_F(Undo, what_cannot_be_read_is_an_error) {
  hold(6);
  std::string bytes(*wf.tx.get(before_change_key(1)));
  for (const std::string& damaged : {bytes.substr(0, bytes.size() - 1), bytes + "x"}) {
    wf.tx.put(before_change_key(1), damaged);
    const auto undone = undo_change(wf.tx, 1, kNoon, "he@there");
    ASSERT_FALSE(undone.ok());
    EXPECT_EQ(undone.error().kind, ErrorKind::corrupt);
  }
}

}  // namespace
}  // namespace torc::claim
