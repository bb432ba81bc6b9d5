#include "lib/worker/loop/notice_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/worker/jobs/job_command.h"

namespace torc::worker {
namespace {

std::string text_of(const Notice& notice) {
  const JobPreparer preparer("/s", "id", {}, "/d", "/s/logs", environ, {}, claim::WorkerEpoch{2});
  const std::vector<claim::Action> none;
  return show_notice(notice, {preparer, none});
}

TEST(NoticeText, of_a_result_that_was_refused_tells_who_has_the_job_only_where_somebody_has) {
  Notice n{.what = Notice::What::result_refused};
  n.refused = {{JobId{3}, 1, 7}, claim::Refusal::superseded, claim::WorkerEpoch{5}};
  const std::string begin = "the result of job #3 (attempt 1) was discarded: ";
  EXPECT_EQ(text_of(n), begin + "worker 5 has the job now");
  n.refused.holder = {};
  EXPECT_EQ(text_of(n), begin + "that attempt does not count any more");
  n.refused.why = claim::Refusal::finished;
  EXPECT_EQ(text_of(n), begin + "the job has ended already");
  n.refused.why = claim::Refusal::no_such_job;
  EXPECT_EQ(text_of(n), begin + "the store has no such job");
}

TEST(NoticeText, of_results_whose_commit_had_no_answer_it_is_not_known_whether_they_count) {
  Notice n{.what = Notice::What::gave_up_results, .count = 2, .text = "no answer"};
  EXPECT_EQ(text_of(n), "gave up on reporting 2 results, those jobs will run again: no answer");
  n.flag = true;
  EXPECT_EQ(text_of(n),
            "gave up on reporting 2 results, whether the store has them is not known; if not, "
            "those jobs run again: no answer");
}

TEST(NoticeText, of_a_lost_partner_tells_who_it_was_and_what_happens_next) {
  Notice n{.what = Notice::What::gang_lost, .other = 3, .text = "worker 7 on n2"};
  EXPECT_EQ(
      text_of(n),
      "job #3: worker 7 on n2 was lost or has left, so it is over on all of its nodes; what is "
      "left of it here is ended, and this node is free then");
  n.flag = true;
  n.text.clear();
  EXPECT_EQ(
      text_of(n),
      "job #3: one of its nodes has left, so it is over on all of its nodes, and runs again as "
      "its next attempt; what is left of it here is ended, and this node is free then");
}

}  // namespace
}  // namespace torc::worker
