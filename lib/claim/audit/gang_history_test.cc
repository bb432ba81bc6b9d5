// What is told of jobs of several nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/claim/audit/history.h"
#include "lib/claim/testing/test_gangs.h"
#include "lib/store/engine/commit_file.h"

namespace torc::claim {
namespace {

class GangHistory : public ::testing::Test {
 protected:
  // Tells the historian what changed since it was last told.
  void tell(WorkerEpoch author) {
    store::WriteSet writes;
    for (const auto& [key, value] : wf.tx.entries) {
      const auto old = before.find(key);
      if (old == before.end() || old->second != value) writes.put(key, value);
    }
    for (const auto& [key, value] : before) {
      if (!wf.tx.entries.contains(key)) writes.erase(key);
    }
    EXPECT_TRUE(historian.commit(wf.tx.number, raw(author), writes.bytes()).ok());
    before = wf.tx.entries;
  }

  GangWorkflow wf{Jobs{{2}}};
  decltype(wf.tx.entries) before = wf.tx.entries;
  std::string told;
  Historian historian{[this](const Event& e) {
    if (e.kind < EventKind::gang_claimed) return;
    told += fmt::format("{} job {} worker {} nodes {}; ", to_string(e.kind), raw(e.job),
                        raw(e.worker), e.count);
  }};
};

TEST_F(GangHistory,
       tells_who_claimed_how_many_nodes_that_all_confirmed_and_because_of_whom_it_is_over) {
  const WorkerEpoch a = wf.join_group("g");
  const WorkerEpoch b = wf.join_group("g");
  (void)wf.ask(a);
  const Answer answer = wf.ask(b);
  ASSERT_TRUE(answer.gang.has_value());
  tell(b);
  EXPECT_EQ(std::exchange(told, ""), fmt::format("gang_claimed job 1 worker {} nodes 2; ", raw(b)));
  (void)wf.word(a, answer.gang->gang.token, GangWord::What::confirmed);
  tell(a);
  EXPECT_EQ(std::exchange(told, ""),
            fmt::format("gang_complete job 1 worker {} nodes 2; ", raw(b)));
  wf.start(b, answer.gang->gang.token);
  tell(b);
  EXPECT_EQ(told, "") << "the start of the job says it";
  ASSERT_TRUE(*wf.expire(a));
  tell(b);
  EXPECT_EQ(told, fmt::format("gang_over job 1 worker {} nodes 2; ", raw(a)));
}

}  // namespace
}  // namespace torc::claim
