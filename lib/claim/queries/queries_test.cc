#include <gtest/gtest.h>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/testing/test_workflow.h"

namespace torc::claim {
namespace {

std::vector<std::uint64_t> listed(const TestWorkflow& wf, std::optional<JobState> state) {
  std::vector<std::uint64_t> ids;
  const auto scanned = scan_jobs(wf.tx, state, [&](JobId id, const Job& job) {
    EXPECT_EQ(job.state, state.value_or(job.state));
    ids.push_back(raw(id));
    return true;
  });
  EXPECT_TRUE(scanned.ok()) << scanned.error().text();
  return ids;
}

// 1 to 2000 ready, of which some have happened; 2001 to 2003 blocked.
class Queries : public ::testing::Test {
 protected:
  static Plan plan() {
    Plan plan = plan_of({{2000, 0}, {3, 0}});
    plan.dependencies.push_back({{range(1, 2000)}, {range(2001, 3)}});
    return plan;
  }

  Queries() {
    const WorkerEpoch w = wf.join();
    Exchange request;
    request.worker = w;
    for (const Grant& g : wf.claim(w, 1000)) {
      const std::uint64_t id = raw(g.token.job);
      if (id % 4 == 0) request.finishes.push_back({g.token, JobState::failed, {}});
      if (id % 4 == 1) request.finishes.push_back({g.token, JobState::completed, {}});
      if (id % 4 == 2) request.finishes.push_back({g.token, JobState::ready, {}});
    }
    EXPECT_TRUE(wf.say(request).ok());
  }

  TestWorkflow wf{plan()};
};

TEST_F(Queries, every_job_is_listed_once_in_order_however_many_have_records) {
  const auto ids = listed(wf, std::nullopt);
  ASSERT_EQ(ids.size(), 2003U);
  for (std::uint64_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], i + 1);
}

TEST_F(Queries, each_state_lists_its_own) {
  EXPECT_EQ(listed(wf, JobState::completed).size(), 250U);
  EXPECT_EQ(listed(wf, JobState::failed).size(), 250U);
  EXPECT_EQ(listed(wf, JobState::claimed).size(), 250U);
  EXPECT_EQ(listed(wf, JobState::ready).size(), 1250U);
  EXPECT_EQ(listed(wf, JobState::blocked), (std::vector<std::uint64_t>{2001, 2002, 2003}));
  EXPECT_TRUE(listed(wf, JobState::running).empty());
}

TEST_F(Queries, a_visitor_that_has_enough_is_asked_no_more) {
  for (std::optional<JobState> state :
       {std::optional<JobState>{}, std::optional(JobState::ready),
        std::optional(JobState::completed), std::optional(JobState::failed),
        std::optional(JobState::blocked), std::optional(JobState::claimed)}) {
    int visits = 0;
    EXPECT_TRUE(scan_jobs(wf.tx, state, [&](JobId, const Job&) { return ++visits < 2; }).ok());
    EXPECT_EQ(visits, 2);
  }
}

TEST_F(Queries, a_blocked_job_names_what_it_waits_for_up_to_the_limit) {
  EXPECT_EQ(waits_for(wf.tx, JobId{2001}, 3), (std::vector{JobId{2}, JobId{3}, JobId{4}}));
  EXPECT_EQ(waits_for(wf.tx, JobId{2001}, 9999).size(), 1750U);
  EXPECT_TRUE(waits_for(wf.tx, JobId{1}, 3).empty());
  EXPECT_TRUE(waits_for(wf.tx, JobId{9999}, 3).empty());
}

}  // namespace
}  // namespace torc::claim
