#include "lib/claim/transactions/asking.h"

#include <gtest/gtest.h>

#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

const RunEnd kRun{"alpha", "7", 100s, 4000s};

TEST(Asking, of_two_that_have_seen_the_same_one_asks) {
  TestWorkflow wf(plan_of({{1, 0}}));
  EXPECT_EQ(read_inquiry(wf.tx), Inquiry{});
  EXPECT_TRUE(begin_inquiry(wf.tx, 0));
  EXPECT_FALSE(begin_inquiry(wf.tx, 0)) << "somebody has asked since";
  EXPECT_TRUE(begin_inquiry(wf.tx, 1));
  EXPECT_EQ(read_inquiry(wf.tx).asked, 2U);
  EXPECT_EQ(read_inquiry(wf.tx).answered, 0U);
}

TEST(Asking, what_was_said_is_there_for_all_until_its_worker_is_none) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch a = wf.join();
  const WorkerEpoch b = wf.join();
  ASSERT_TRUE(begin_inquiry(wf.tx, 0));
  ASSERT_TRUE(note_answer(wf.tx, 1, {{a, Gone::given_up}, {b, Gone::cut_off}}, {kRun}).ok());
  Inquiry said = read_inquiry(wf.tx);
  EXPECT_EQ(said.answered, 1U);
  EXPECT_EQ(said.gone, (std::map<WorkerEpoch, Gone>{{a, Gone::given_up}, {b, Gone::cut_off}}));
  EXPECT_EQ(said.ends, std::vector<RunEnd>{kRun});
  ASSERT_TRUE(*expire_worker(wf.tx, a, read_worker(wf.tx, a)->renewals, kNoon, 5));
  ASSERT_TRUE(begin_inquiry(wf.tx, 1));
  ASSERT_TRUE(note_answer(wf.tx, 2, {{a, Gone::ended}, {b, Gone::ended}}, {}).ok());
  said = read_inquiry(wf.tx);
  EXPECT_EQ(said.gone, (std::map<WorkerEpoch, Gone>{{b, Gone::cut_off}})) << "the first word stays";
  EXPECT_EQ(said.ends, std::vector<RunEnd>{kRun});
}

TEST(Asking, an_answer_of_one_cluster_leaves_what_another_said) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const RunEnd elsewhere{"beta", "7", 100s, 5000s};
  ASSERT_TRUE(begin_inquiry(wf.tx, 0));
  ASSERT_TRUE(note_answer(wf.tx, 1, {}, {kRun, elsewhere}).ok());
  const RunEnd later{"alpha", "8", 200s, 6000s};
  ASSERT_TRUE(begin_inquiry(wf.tx, 1));
  ASSERT_TRUE(note_answer(wf.tx, 2, {}, {later}).ok());
  EXPECT_EQ(read_inquiry(wf.tx).ends, (std::vector<RunEnd>{elsewhere, later}));
}

// Who asked stood still for minutes meanwhile.
TEST(Asking, an_answer_that_comes_after_a_later_one_tells_no_ends_and_still_what_is_for_good) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch a = wf.join();
  ASSERT_TRUE(begin_inquiry(wf.tx, 0));
  ASSERT_TRUE(begin_inquiry(wf.tx, 1));
  const RunEnd moved{"alpha", "7", 100s, 9000s};
  ASSERT_TRUE(note_answer(wf.tx, 2, {}, {moved}).ok());
  ASSERT_TRUE(note_answer(wf.tx, 1, {{a, Gone::ended}}, {kRun}).ok());
  const Inquiry said = read_inquiry(wf.tx);
  EXPECT_EQ(said.ends, std::vector<RunEnd>{moved});
  EXPECT_EQ(said.answered, 2U);
  EXPECT_TRUE(said.gone.contains(a));
}

TEST(Asking, a_record_that_cannot_be_read_is_as_none) {
  TestWorkflow wf(plan_of({{1, 0}}));
  wf.tx.put(Key(Table::inquiry), "?");
  EXPECT_EQ(read_inquiry(wf.tx), Inquiry{});
  EXPECT_TRUE(begin_inquiry(wf.tx, 0));
  EXPECT_EQ(read_inquiry(wf.tx).asked, 1U);
}

TEST(Asking, a_worker_is_told_of_by_the_end_that_it_heard_of_last) {
  TestWorkflow wf(plan_of({{1, 0}}));
  const WorkerEpoch w = wf.join();
  EXPECT_TRUE(*move_end(wf.tx, w, 4000s, 100s));
  EXPECT_EQ(read_worker(wf.tx, w)->info.ends_at, WallTime(4000s));
  EXPECT_EQ(read_worker(wf.tx, w)->info.allocation_start, WallTime(100s));
  EXPECT_TRUE(read_worker(wf.tx, w)->info.end_is_told);
  EXPECT_FALSE(*move_end(wf.tx, w, 4000s, 200s)) << "a start that is known stays";
  EXPECT_EQ(read_worker(wf.tx, w)->info.allocation_start, WallTime(100s));
  wf.check();
  ASSERT_TRUE(*expire_worker(wf.tx, w, read_worker(wf.tx, w)->renewals, kNoon, 5));
  EXPECT_FALSE(*move_end(wf.tx, w, 5000s, 100s));
  EXPECT_EQ(read_worker(wf.tx, w)->info.ends_at, WallTime(4000s));
}

}  // namespace
}  // namespace torc::claim
