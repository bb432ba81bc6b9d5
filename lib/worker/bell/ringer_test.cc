#include "lib/worker/bell/ringer.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/set_limit.h"

namespace torc::worker {
namespace {

using claim::TestWorkflow;
using claim::WorkerEpoch;

constexpr StoreInstance kStore{4, 2};

TEST(WhomToRing, as_many_are_rung_as_jobs_became_ready_and_were_not_taken) {
  const auto most = [](std::uint64_t before, std::uint64_t after, std::uint64_t anew) {
    return whom_to_ring({before, false}, {after, false}, anew).most;
  };
  EXPECT_EQ(most(0, 0, 0), 0U);
  EXPECT_EQ(most(0, 3, 0), 3U);
  EXPECT_EQ(most(5, 8, 1), 3U);
  EXPECT_EQ(most(8, 8, 0), 0U) << "others were told of these";
  EXPECT_EQ(most(8, 5, 0), 0U);
  EXPECT_EQ(most(8, 5, 1), 1U) << "who took some knows that there are more of the kind";
  EXPECT_EQ(most(8, 0, 1), 0U);
  EXPECT_EQ(most(8, 8, 5), 5U) << "they need something else than before";
  EXPECT_EQ(most(8, 3, 5), 3U);
  EXPECT_EQ(most(0, 1'000'000, 0), kMostRung);
}

TEST(WhomToRing, all_are_rung_at_the_end_once) {
  const RingPlan end = whom_to_ring({0, false}, {0, true}, 0);
  EXPECT_EQ(end.most, kMostRungAtEnd);
  EXPECT_TRUE(end.at_end);
  EXPECT_EQ(whom_to_ring({0, true}, {0, true}, 0).most, 0U);
  EXPECT_EQ(whom_to_ring({0, true}, {2, false}, 0).most, 2U) << "jobs were added";
}

class Sent final : public Datagrams {
 public:
  void send(const claim::BellAddress& to, std::string_view bytes) override {
    all.emplace_back(to, bytes);
  }
  std::vector<std::pair<claim::BellAddress, std::string>> all;
};

class Rings : public ::testing::Test {
 protected:
  static claim::Plan plan() {  // 2 to 4 wait for 1
    claim::Plan plan = claim::plan_of({{1, 0}, {3, 0}});
    plan.dependencies.push_back({{claim::range(1, 1)}, {claim::range(2, 3)}});
    return plan;
  }
  WorkerEpoch join(std::uint8_t number, const std::string& host = "node1", std::uint8_t net = 10,
                   std::uint32_t cpus = 1) {
    claim::WorkerInfo info;
    info.host = info.boot_id = host;
    info.cpus = cpus;
    info.memory = mebibytes(1 << 20);
    info.registered_at = claim::kNoon;
    const std::string address{static_cast<char>(net), 0, 0, static_cast<char>(number)};
    info.bell = claim::BellPlace{{{address, number}}, {number}};
    ++wf.tx.number;
    return *claim::register_worker(wf.tx, info);
  }
  // Worker `self` has job 1, and reports its end; it asks for `more` jobs, or not at all.
  void end_first_job(WorkerEpoch self, std::optional<std::uint64_t> more) {
    const auto grants = wf.claim(self, 1);
    ASSERT_EQ(grants.size(), 1U);
    Ringer ringer(&sent, self, "node1");
    claim::Exchange words;
    words.worker = self;
    words.now = claim::kNoon;
    claim::Finished f;
    f.token = grants[0].token;
    f.state = claim::JobState::completed;
    words.finishes.push_back(f);
    if (more) words.offer = TestWorkflow::offer(*more);
    ringer.before(wf.tx);
    const auto answer = wf.say(words);
    ASSERT_TRUE(answer.ok());
    ringer.after(wf.tx, answer->grants.empty() ? 0 : 1, claim::kNoon);
    EXPECT_TRUE(sent.all.empty()) << "nothing is said before it is in the chain";
    ringer.ring(wf.tx.number, kStore);
  }

  TestWorkflow wf{plan()};
  Sent sent;
};

TEST_F(Rings, idle_workers_are_told_the_commit_each_with_its_own_key_and_place) {
  const WorkerEpoch self = join(1);
  for (std::uint8_t i = 2; i <= 9; ++i) join(i);
  end_first_job(self, 1);
  ASSERT_EQ(sent.all.size(), 2U) << "of three jobs it took one itself";
  for (std::uint32_t place = 0; place < 2; ++place) {
    const auto& [to, bytes] = sent.all[place];
    const auto message = read_bell(bytes, kStore, SipKey{static_cast<std::uint8_t>(to.port)});
    EXPECT_EQ(message, (BellMessage{wf.tx.number, place}));
    EXPECT_NE(to.port, 1) << "itself";
  }
  EXPECT_NE(sent.all[0].first, sent.all[1].first);
}

TEST_F(Rings, nobody_rings_itself) {
  const WorkerEpoch self = join(1);
  join(2);
  end_first_job(self, 0);  // idle, since it has none and asks
  ASSERT_EQ(sent.all.size(), 1U);
  EXPECT_EQ(sent.all[0].first.port, 2);
}

TEST_F(Rings, who_could_run_nothing_of_what_is_ready_is_rung_at_the_end_alone) {
  const WorkerEpoch self = join(1);
  join(2, "node2", 10, 0);
  end_first_job(self, std::nullopt);
  EXPECT_TRUE(sent.all.empty());
  const auto rest = wf.claim(self, 3);
  ASSERT_EQ(rest.size(), 3U);
  for (const claim::Grant& grant : rest) {
    Ringer ringer(&sent, self, "node1");
    EXPECT_TRUE(sent.all.empty()) << "others are left";
    ringer.before(wf.tx);
    ASSERT_TRUE(wf.finish(self, grant.token).ok());
    ringer.after(wf.tx, 0, claim::kNoon);
    ringer.ring(wf.tx.number, kStore);
  }
  ASSERT_EQ(sent.all.size(), 1U);
  EXPECT_EQ(sent.all[0].first.port, 2);
}

TEST_F(Rings, a_loopback_address_is_only_for_workers_of_the_same_host) {
  const WorkerEpoch self = join(1);
  join(2, "node2", 127);
  join(3, "node1", 127);
  end_first_job(self, std::nullopt);
  ASSERT_EQ(sent.all.size(), 1U);
  EXPECT_EQ(sent.all[0].first.port, 3);
}

TEST_F(Rings, a_change_by_a_person_rings_as_many_as_there_is_work_for) {
  const WorkerEpoch self = join(1);
  for (std::uint8_t i = 2; i <= 5; ++i) join(i);
  const auto grants = wf.claim(self, 1);
  ASSERT_EQ(grants.size(), 1U);
  const auto change = [&](const auto& what) {
    sent.all.clear();
    Ringer ringer(&sent, WorkerEpoch{}, "login");
    ringer.before(wf.tx);
    ++wf.tx.number;
    ASSERT_TRUE(what().ok());
    ringer.after(wf.tx, 0, claim::kNoon);
    ringer.ring(wf.tx.number, kStore);
  };
  const std::vector<claim::JobRange> others{claim::range(2, 3)};
  change([&] { return claim::hold_jobs(wf.tx, others); });
  EXPECT_TRUE(sent.all.empty()) << "there is no more work than before";
  ASSERT_TRUE(wf.finish(self, grants[0].token).ok());
  change([&] { return claim::release_jobs(wf.tx, std::vector{claim::range(2, 2)}, claim::kNoon); });
  EXPECT_EQ(sent.all.size(), 2U);
  change([&] { return claim::cancel_jobs(wf.tx, others, claim::kNoon); });
  EXPECT_EQ(sent.all.size(), 4U) << "all, since the workflow is over";
}

TEST_F(Rings, while_failures_halt_the_workflow_no_job_counts_as_ready) {
  claim::Plan halting = claim::plan_of({{4, 0}});
  halting.max_failures = 1;
  wf = TestWorkflow(halting);
  const WorkerEpoch self = join(1);
  join(2);
  join(3);
  const auto grants = wf.claim(self, 1);
  ASSERT_EQ(grants.size(), 1U);
  const auto ring = [&](const auto& what) {
    sent.all.clear();
    Ringer ringer(&sent, self, "node1");
    ringer.before(wf.tx);
    ++wf.tx.number;
    ASSERT_TRUE(what().ok());
    ringer.after(wf.tx, 0, claim::kNoon);
    ringer.ring(wf.tx.number, kStore);
  };
  ring([&] { return wf.finish(self, grants[0].token, claim::JobState::failed); });
  EXPECT_EQ(sent.all.size(), 2U) << "it is over, whatever is ready";
  ring([&] { return claim::retry_jobs(wf.tx, std::vector{claim::range(1, 1)}); });
  EXPECT_EQ(sent.all.size(), 2U) << "four are ready now, none was before";
}

// Jobs of a limit that the first worker has all of; the others wait for it.
class LimitRings : public Rings {
 protected:
  static claim::Plan limited(std::uint32_t most, std::uint32_t amount) {
    claim::Plan plan = claim::plan_of({{6, 0}, {1, -1}});
    plan.limits = {{"licence", most, claim::LimitKind::named}};
    plan.classes[0].limits = {{1, amount}};
    plan.classes.emplace_back();
    plan.templates[1].job_class = 1;
    return plan;
  }
  void end_job(WorkerEpoch self, const claim::Grant& grant, std::optional<std::uint64_t> more) {
    sent.all.clear();
    Ringer ringer(&sent, self, "node1");
    claim::Exchange words;
    words.worker = self;
    words.now = claim::kNoon;
    claim::Finished f;
    f.token = grant.token;
    f.state = claim::JobState::completed;
    words.finishes.push_back(f);
    if (more) words.offer = TestWorkflow::offer(*more);
    ringer.before(wf.tx);
    const auto answer = wf.say(words);
    ASSERT_TRUE(answer.ok());
    ringer.after(wf.tx, answer->grants.empty() ? 0 : 1, claim::kNoon);
    ringer.ring(wf.tx.number, kStore);
  }
};

TEST_F(LimitRings, a_limit_that_gets_free_rings_as_many_as_may_have_of_it_now) {
  wf = TestWorkflow(limited(2, 1));
  const WorkerEpoch self = join(1);
  for (std::uint8_t i = 2; i <= 5; ++i) join(i);
  const auto grants = wf.claim(self, 3);
  ASSERT_EQ(grants.size(), 3U) << "two of the limit, and the one without";
  end_job(self, grants[2], std::nullopt);
  EXPECT_TRUE(sent.all.empty()) << "that is none of the limit";
  end_job(self, grants[0], std::nullopt);
  EXPECT_EQ(sent.all.size(), 1U) << "four wait, and one may be claimed";
  end_job(self, grants[1], std::nullopt);
  EXPECT_TRUE(sent.all.empty()) << "what was left before was told before";
}

TEST_F(LimitRings, what_is_given_back_and_taken_again_is_not_free) {
  wf = TestWorkflow(limited(1, 1));
  const WorkerEpoch self = join(1);
  const claim::SlotsTaken before{{1, 1}};
  const auto grants = wf.claim(self, 1);
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(claim::slots_taken(wf.tx), before);
  end_job(self, grants[0], 1);
  EXPECT_EQ(claim::let_by_limits(wf.tx, before), 0U);
}

TEST_F(LimitRings, what_is_given_back_must_be_enough) {
  wf = TestWorkflow(limited(4, 3));
  const WorkerEpoch self = join(1);
  join(2);
  join(3);
  const auto grants = wf.claim(self, 1);
  ASSERT_EQ(grants.size(), 1U);
  end_job(self, grants[0], std::nullopt);
  EXPECT_EQ(sent.all.size(), 1U) << "of four one may have three";
}

TEST_F(LimitRings, a_limit_that_is_raised_rings_as_many_as_may_have_more_of_it) {
  wf = TestWorkflow(limited(1, 1));
  const WorkerEpoch self = join(1);
  for (std::uint8_t i = 2; i <= 7; ++i) join(i);
  ASSERT_EQ(wf.claim(self, 2).size(), 2U) << "the one of the limit, and the one without";
  const auto set = [&](std::uint32_t most) {
    sent.all.clear();
    Ringer ringer(&sent, WorkerEpoch{}, "node1");
    ringer.before(wf.tx);
    ++wf.tx.number;
    const auto change = claim::set_limit(wf.tx, 1, most);
    ASSERT_TRUE(change.ok());
    ringer.after(wf.tx, change->freed(), claim::kNoon);
    EXPECT_TRUE(sent.all.empty()) << "nothing is said before it is in the chain";
    ringer.ring(wf.tx.number, kStore);
  };
  set(4);
  EXPECT_EQ(sent.all.size(), 3U) << "five wait, and three more may be claimed";
  set(4);
  EXPECT_TRUE(sent.all.empty()) << "nothing is different";
  set(2);
  EXPECT_TRUE(sent.all.empty()) << "it is lowered";
  set(1000);
  EXPECT_EQ(sent.all.size(), 5U) << "no more than are ready";
}

TEST_F(Rings, an_address_that_no_worker_tells_is_not_rung) {
  const WorkerEpoch self = join(1);
  join(2, "node2", 224);  // whoever is in that group
  join(3, "node2", 0);    // this host
  join(4, "node2");
  end_first_job(self, std::nullopt);
  ASSERT_EQ(sent.all.size(), 1U);
  EXPECT_EQ(sent.all[0].first.port, 4);
}

TEST_F(Rings, without_a_net_nobody_is_looked_for) {
  Ringer ringer(nullptr, WorkerEpoch{1}, "node1");
  ringer.before(wf.tx);
  ringer.after(wf.tx, 1, claim::kNoon);
  ringer.ring(1, kStore);
  EXPECT_TRUE(sent.all.empty());
}

}  // namespace
}  // namespace torc::worker
