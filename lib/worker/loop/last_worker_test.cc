#include "lib/worker/loop/last_worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "lib/worker/lease/lease_keeper_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::WorkerEpoch;
using claim::WorkerStatus;
using Other = LastWorker::Other;
using Verdict = LastWorker::Verdict;

Other other(std::uint64_t epoch, WorkerStatus status = WorkerStatus::registered) {
  Other one;
  one.epoch = WorkerEpoch{epoch};
  one.status = status;
  one.renewals = 5;
  one.ttl = 300s;
  return one;
}

TEST(LastWorker, is_who_finds_nobody_else) {
  EXPECT_EQ(LastWorker().look({}, 0, 1h), Verdict::last);
}

TEST(LastWorker, is_not_who_left_before_another_one) {
  LastWorker last;
  ASSERT_EQ(last.look({other(1)}, 0, 1h), Verdict::unclear);
  EXPECT_EQ(last.look({other(1)}, 0, 1h + 1s), Verdict::unclear);
  EXPECT_EQ(last.look({other(1, WorkerStatus::released)}, 0, 1h + 2s), Verdict::another);
}

TEST(LastWorker, is_who_sees_the_others_ended_by_others) {
  LastWorker last;
  ASSERT_EQ(last.look({other(1), other(2)}, 0, 1h), Verdict::unclear);
  EXPECT_EQ(last.look({other(1, WorkerStatus::expired), other(2)}, 0, 1h + 1s), Verdict::unclear);
  EXPECT_EQ(
      last.look({other(1, WorkerStatus::expired), other(2, WorkerStatus::expired)}, 0, 1h + 2s),
      Verdict::last);
}

TEST(LastWorker, is_not_who_sees_a_sign_of_life_of_another_one) {
  {
    LastWorker last;
    ASSERT_EQ(last.look({other(1), other(2)}, 0, 1h), Verdict::unclear);
    Other renewed = other(2);
    ++renewed.renewals;
    EXPECT_EQ(last.look({other(1), renewed}, 0, 1h + 1s), Verdict::another);
  }
  {
    LastWorker last;
    Other beating = other(1);
    ASSERT_EQ(last.look({beating}, 0, 1h), Verdict::unclear);
    beating.heartbeats = 7;  // it may have been there before
    ASSERT_EQ(last.look({beating}, 0, 1h + 1s), Verdict::unclear);
    beating.heartbeats = 8;
    EXPECT_EQ(last.look({beating}, 0, 1h + 2s), Verdict::another);
  }
  LastWorker last;
  ASSERT_EQ(last.look({other(1)}, 0, 1h), Verdict::unclear);
  EXPECT_EQ(last.look({other(1, WorkerStatus::expired), other(3)}, 0, 1h + 1s), Verdict::another)
      << "one has come";
}

TEST(LastWorker, waits_for_silent_ones_for_as_long_as_their_leases_are) {
  LastWorker last;
  Other longer = other(2);
  longer.ttl = 400s;
  ASSERT_EQ(last.look({other(1), longer}, 0, 1h), Verdict::unclear);
  for (BootTime now = 1h + 10s; now < 1h + 400s; now += 10s)
    ASSERT_EQ(last.look({other(1), longer}, 0, now), Verdict::unclear);
  EXPECT_EQ(last.look({other(1), longer}, 0, 1h + 400s), Verdict::last);
}

// As in `scontrol suspend`, or while the filesystem hangs: the others could say nothing either.
TEST(LastWorker, counts_time_in_which_it_stood_still_as_silence_of_nobody) {
  LastWorker last;
  ASSERT_EQ(last.look({other(1)}, 0, 1h), Verdict::unclear);
  EXPECT_EQ(last.look({other(1)}, 0, 5h), Verdict::unclear);
  for (BootTime now = 5h + 10s; now < 5h + 300s; now += 10s)
    ASSERT_EQ(last.look({other(1)}, 0, now), Verdict::unclear);
  EXPECT_EQ(last.look({other(1)}, 0, 5h + 300s), Verdict::last);
}

TEST(LastWorker, takes_what_it_cannot_read_for_no_silence) {
  LastWorker last;
  Other unread = other(1);
  unread.is_seen = false;
  ASSERT_EQ(last.look({unread}, 0, 1h), Verdict::unclear);
  for (BootTime now = 1h + 10s; now < 1h + 600s; now += 10s)
    ASSERT_EQ(last.look({unread}, 0, now), Verdict::unclear);
}

TEST(LastWorker, waits_for_those_that_were_started_with_it_and_have_not_come_yet) {
  {
    LastWorker last;
    ASSERT_EQ(last.look({}, 1, 1h), Verdict::unclear);
    EXPECT_EQ(last.look({}, 1, 1h + 1s), Verdict::unclear);
    EXPECT_EQ(last.look({other(1)}, 0, 1h + 2s), Verdict::another);
  }
  {
    LastWorker last;  // it came and left between two looks
    ASSERT_EQ(last.look({}, 1, 1h), Verdict::unclear);
    EXPECT_EQ(last.look({}, 0, 1h + 1s), Verdict::last);
  }
}

TEST(LastWorker, waits_only_so_long_for_one_that_never_comes) {
  EXPECT_EQ(still_to_come(4, 1, 1h, 1h), 3U);
  EXPECT_EQ(still_to_come(4, 4, 1h, 1h), 0U);
  EXPECT_EQ(still_to_come(1, 2, 1h, 1h), 0U);
  EXPECT_EQ(still_to_come(4, 1, 1h, 1h + kToCome - 1s), 3U);
  EXPECT_EQ(still_to_come(4, 1, 1h, 1h + kToCome), 0U);
}

TEST(LastWorker, leaves_it_to_the_others_where_they_are_many) {
  std::vector<Other> others;
  for (std::uint64_t i = 1; i <= LastWorker::kFew; ++i) others.push_back(other(i));
  EXPECT_EQ(LastWorker().look(others, 0, 1h), Verdict::unclear);
  others.push_back(other(100));
  EXPECT_EQ(LastWorker().look(others, 0, 1h), Verdict::another);
}

// A worker that has left, in allocation 12 of a Slurm that answers what it is told to.
class EndOfAllocation : public LeaseKeeperTest {
 protected:
  EndOfAllocation() {
    context_.env = [](std::string_view name) -> std::optional<std::string> {
      return name == "SLURM_JOB_ID" ? std::optional<std::string>("12") : std::nullopt;
    };
    self_ = come("n1");
    const auto left = store_here_->commit(0, [&](claim::Transaction& tx) {
      return claim::release_worker(tx, self_, clock_.wall_now());
    });
    EXPECT_TRUE(left.ok()) << left.error().text();
    store_here_.reset();
  }
  WorkerEpoch come(const std::string& host) {
    auto info = on(host, 1, 1);
    info.cluster = "alpha";
    info.allocation = "12";
    info.registered_at = clock_.wall_now();
    return join(info);
  }
  // What it told Slurm.
  std::vector<std::string> told() {
    std::vector<std::string> told;
    see_to_end_of_allocation(
        context_, store_, self_, clock_.wall_now(),
        [&](const std::vector<std::string>& argv) -> Result<slurm::CommandOutput> {
          if (std::ranges::find(argv, "scancel") == argv.end()) {
            while_asked();
            return slurm::CommandOutput{0, "12.0 torc-workers\n", ""};
          }
          told.push_back(argv.back());
          kill(getpid(), SIGUSR2);  // the batch script answers
          return slurm::CommandOutput{0, "", ""};
        },
        [](const std::string&) {});
    return told;
  }

  std::function<void()> while_asked = [] {};
  WorkerEpoch self_{};
};

TEST_F(EndOfAllocation, is_told_to_the_batch_script_by_who_is_alone) {
  EXPECT_EQ(told(), std::vector<std::string>{"12"});
}

TEST_F(EndOfAllocation, is_told_by_nobody_who_stood_still_while_others_came) {
  bool asked = false;
  while_asked = [&] {
    if (std::exchange(asked, true)) return;
    clock_.jump_to(clock_.boot_now() + 10min);
    store_here_ = open();
    for (std::size_t n = 0; n <= LastWorker::kFew; ++n) come("n2");
    store_here_.reset();
  };
  EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace torc::worker
