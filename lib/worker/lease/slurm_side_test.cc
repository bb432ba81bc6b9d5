// What a worker concludes of what Slurm says, and who asks.
#include "lib/worker/lease/slurm_side.h"

#include <poll.h>

#include <filesystem>
#include <future>

#include "lib/claim/transactions/asking.h"
#include "lib/worker/lease/lease_keeper_fixture.h"

namespace torc::worker {
namespace {

using slurm::AllocationNow;
using State = slurm::AllocationState;

constexpr WallTime kStart = 1795342086s;
const slurm::Allocation kRun{"alpha", "99", kStart};

// Says what the test says, as soon as it is asked.
class SaidSlurm final : public SlurmInquiry {
 public:
  struct Says {
    AllocationNow of_run;
    int asked = 0;
    std::vector<slurm::Allocation> about;
    bool answers = true;
  };
  explicit SaidSlurm(Says& says) : says_(says) {}
  [[nodiscard]] bool possible() const override { return answer_.empty(); }
  void ask(std::vector<slurm::Allocation> allocations) override {
    ++says_.asked;
    says_.about = allocations;
    if (!says_.answers) return;
    for (const auto& a : allocations)
      answer_[a] = a.id == kRun.id && a.cluster == kRun.cluster ? says_.of_run : AllocationNow{};
  }
  [[nodiscard]] int fd() const override { return -1; }
  Answer take() override { return std::exchange(answer_, {}); }

 private:
  Says& says_;
  Answer answer_;
};

AllocationNow active(std::vector<std::string> nodes, WallTime end = kStart + 10h) {
  return {State::active, std::move(nodes), kStart, end};
}

class SlurmWord : public LeaseKeeperTest {
 protected:
  claim::WorkerInfo in_allocation(const std::string& host, std::uint64_t pid,
                                  std::uint64_t start) const {
    claim::WorkerInfo info = on(host, pid, start);
    info.lease_ttl = 100s;  // heartbeats come every ten seconds as with 300 s
    info.cluster = kRun.cluster;
    info.allocation = kRun.id;
    info.allocation_start = kStart;
    info.node = host;
    info.node_timeout = terms_.node_timeout;
    return info;
  }
  // A silent worker of the allocation on n2, and one on n1 that looks.
  void begin() {
    info_ = in_allocation("n1", self_process_.pid, self_process_.start);
    info_.allocation = "98";  // of another allocation
    self_ = join(info_);
    silent_ = join(in_allocation("n2", 1, 1));
    start_job(silent_);
  }
  // Ticks for at most so long; how long the silent worker lived.
  std::chrono::nanoseconds ticks(LeaseKeeper& kept, std::chrono::nanoseconds most) {
    const BootTime begun = clock_.boot_now();
    while (clock_.boot_now() - begun < most) {
      EXPECT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
      if (raw(silent_) != 0 && !lives(silent_)) return clock_.boot_now() - begun;
      kept.answered();
      clock_.jump_to(std::max(kept.next_tick(), clock_.boot_now() + 1ms));
    }
    return most;
  }
  std::chrono::nanoseconds silence_with(AllocationNow said) {
    begin();
    says_.of_run = std::move(said);
    auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_), terms_);
    return ticks(kept, 150s);
  }

  SaidSlurm::Says says_;
  SlurmTerms terms_{{}, 15s};
  claim::WorkerInfo info_;
  claim::WorkerEpoch self_{};
  claim::WorkerEpoch silent_{};
};

TEST_F(SlurmWord, that_a_node_was_dropped_counts_once_its_worker_must_have_paused_its_jobs) {
  const auto silence = silence_with(active({"n1", "n3"}));
  EXPECT_GE(silence, 25s);
  EXPECT_LT(silence, 30s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
  EXPECT_EQ(says_.asked, 1);
}

TEST_F(SlurmWord, counts_no_sooner_than_slurm_itself_gives_up_a_node) {
  terms_.node_timeout = 40s;
  const auto silence = silence_with(active({"n1", "n3"}));
  EXPECT_GE(silence, 40s);
  EXPECT_LT(silence, 45s);
}

TEST_F(SlurmWord, counts_once_the_worker_has_fenced_itself_where_nothing_is_known_of_its_pause) {
  terms_.node_timeout = 0s;
  const auto silence = silence_with({State::ended});
  EXPECT_GE(silence, 60s);
  EXPECT_LT(silence, 65s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::allocation_ended);
}

// What its own question, or that of another cluster, came to is not what this worker knows.
TEST_F(SlurmWord, counts_no_sooner_than_the_worker_itself_pauses_its_jobs) {
  info_ = in_allocation("n1", self_process_.pid, self_process_.start);
  info_.allocation = "98";
  self_ = join(info_);
  auto unaware = in_allocation("n2", 1, 1);
  unaware.node_timeout = 0s;
  silent_ = join(unaware);
  says_.of_run = active({"n1", "n3"});
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_), terms_);
  const auto silence = ticks(kept, 150s);
  EXPECT_GE(silence, 60s) << "only then it has fenced itself";
  EXPECT_LT(silence, 65s);
}

// It goes on by the number of workers that it knew when it was cut off.
TEST_F(SlurmWord, counts_no_sooner_for_workers_that_have_left_meanwhile) {
  begin();
  says_.of_run = active({"n1"});
  std::vector<claim::WorkerEpoch> crowd;
  for (std::uint64_t n = 0; n < 75; ++n) crowd.push_back(join(on("n4", 10 + n, 1)));
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_), terms_);
  EXPECT_EQ(ticks(kept, 1ms), 1ms);
  for (const auto worker : crowd) {
    ASSERT_TRUE(store_here_
                    ->commit(0,
                             [&](claim::Transaction& tx) -> Result<void> {
                               return claim::release_worker(tx, worker, clock_.wall_now());
                             })
                    .ok());
  }
  const auto silence = ticks(kept, 150s);
  EXPECT_GE(silence, 37s) << "two and a half of a heartbeat of 15 s";
  EXPECT_LT(silence, 45s);
}

// Its last heartbeat allowed it a longer silence than its last commit, and it keeps to that.
TEST_F(SlurmWord, counts_no_earlier_for_a_heartbeat_that_cannot_be_read_any_more) {
  terms_.node_timeout = 0s;
  begin();
  says_.of_run = {State::ended};
  const Path state = store_here_->state_directory();
  ASSERT_TRUE(store::write_heartbeat(context_.world, state, place_of(silent_), {1, 300s}).ok());
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_), terms_);
  EXPECT_EQ(ticks(kept, 1ms), 1ms);
  std::filesystem::resize_file(store::heartbeat_path(state, place_of(silent_)), 20);
  const auto silence = ticks(kept, 400s);
  EXPECT_GE(silence, 170s) << "only then it has fenced itself";
  EXPECT_LT(silence, 260s);
}

TEST_F(SlurmWord, that_a_node_is_still_there_ends_nobody_early) {
  EXPECT_GE(silence_with(active({"n1", "n2"})), 100s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
  EXPECT_LE(says_.asked, 10) << "once in ten seconds";
  EXPECT_GE(says_.asked, 6);
}

TEST_F(SlurmWord, that_the_allocation_has_ended_makes_its_jobs_suspects) {
  EXPECT_LT(silence_with({State::ended}), 30s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::allocation_ended);
  EXPECT_TRUE(claim::is_suspect(job(1)));
  EXPECT_EQ(job(1).lost, 1U);
}

TEST_F(SlurmWord, that_the_allocation_was_cut_off_is_no_fault_of_its_jobs) {
  EXPECT_LT(silence_with({State::cut_off}), 30s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::allocation_ended);
  EXPECT_EQ(job(1).suspicion, claim::Suspicion::none);
  EXPECT_EQ(job(1).lost, 0U);
  EXPECT_EQ(job(1).stopped, 1U) << "it does not go on for ever";
}

TEST_F(SlurmWord, that_a_run_was_given_up_says_no_more_than_a_lease_that_ran_out) {
  EXPECT_LT(silence_with({State::given_up}), 30s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
  EXPECT_EQ(job(1).suspicion, claim::Suspicion::silence);
}

TEST_F(SlurmWord, which_says_nothing_ends_nobody_early) {
  EXPECT_GE(silence_with({}), 100s);
}

TEST_F(SlurmWord, ends_nobody_who_renews) {
  begin();
  says_.of_run = {State::cut_off};
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_));
  const BootTime begun = clock_.boot_now();
  std::uint64_t heartbeats = 0;
  while (clock_.boot_now() - begun < 60s) {
    ASSERT_TRUE(store::write_heartbeat(context_.world, store_here_->state_directory(),
                                       place_of(silent_), {++heartbeats, 100s})
                    .ok());
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    kept.answered();
    clock_.jump_to(std::max(kept.next_tick(), clock_.boot_now() + 1ms));
  }
  EXPECT_TRUE(lives(silent_));
}

// A host without a name that Slurm has is in no list.
TEST_F(SlurmWord, of_a_node_whose_name_is_not_known_the_list_says_nothing) {
  info_ = in_allocation("n1", self_process_.pid, self_process_.start);
  self_ = join(info_);
  auto nameless = in_allocation("n2", 1, 1);
  nameless.node.clear();
  silent_ = join(nameless);
  says_.of_run = active({"n1"});
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_));
  EXPECT_EQ(ticks(kept, 60s), 60s);
}

TEST_F(SlurmWord, one_asks_for_all_and_tells_the_others) {
  begin();
  says_.of_run = active({"n1"});
  const auto third = in_allocation("n3", 2, 2);
  const auto other = join(third);
  SaidSlurm::Says unasked = says_;
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_), terms_);
  auto listens = keeper(other, third, std::make_unique<SaidSlurm>(unasked), terms_);
  const BootTime begun = clock_.boot_now();
  while (lives(silent_) && clock_.boot_now() - begun < 60s) {
    ASSERT_TRUE(listens.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    listens.answered();
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    kept.answered();
    clock_.jump_to(clock_.boot_now() + 2s);
  }
  EXPECT_FALSE(lives(silent_));
  EXPECT_LT(clock_.boot_now() - begun, 30s);
  EXPECT_EQ(says_.asked + unasked.asked, 1);
  EXPECT_TRUE(lives(other)) << "it was dropped, too, and renews";
}

TEST_F(SlurmWord, a_record_that_says_that_somebody_asked_is_waited_for) {
  begin();
  says_.of_run = active({"n1"});
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_));
  const BootTime begun = clock_.boot_now();
  while (clock_.boot_now() - begun < 60s) {  // somebody asks every five seconds, whatever the rule
    ASSERT_TRUE(store_here_
                    ->commit(0,
                             [&](claim::Transaction& tx) -> Result<void> {
                               claim::begin_inquiry(tx, claim::read_inquiry(tx).asked);
                               return {};
                             })
                    .ok());
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    clock_.jump_to(clock_.boot_now() + 5s);
  }
  EXPECT_EQ(says_.asked, 0);
}

// --- the end of its own time ---

TEST_F(SlurmWord, an_end_that_moved_is_noticed_within_minutes_both_ways) {
  info_ = in_allocation("n1", self_process_.pid, self_process_.start);
  info_.ends_at = kStart + 10h;
  info_.end_is_told = true;
  self_ = join(info_);
  says_.of_run = active({"n1"});
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_));
  const auto noticed = [&]() -> std::optional<WallTime> {
    for (const BootTime begun = clock_.boot_now(); clock_.boot_now() - begun < 250s;) {
      EXPECT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
      kept.answered();
      if (auto end = kept.take_moved_end()) return end;
      clock_.jump_to(std::max(kept.next_tick(), clock_.boot_now() + 1ms));
    }
    return std::nullopt;
  };
  EXPECT_EQ(noticed(), std::nullopt);
  EXPECT_GE(says_.asked, 1) << "every few minutes";
  EXPECT_LE(says_.asked, 3);
  says_.of_run = active({"n1"}, kStart + 2h);
  EXPECT_EQ(noticed(), kStart + 2h);
  EXPECT_EQ(read(self_).info.ends_at, kStart + 2h);
  says_.of_run = active({"n1"}, kStart + 20h);
  EXPECT_EQ(noticed(), kStart + 20h);
  says_.answers = false;
  EXPECT_EQ(noticed(), std::nullopt) << "nothing is concluded from no answer";
  EXPECT_EQ(read(self_).info.ends_at, kStart + 20h);
}

// A worker that takes another one's place has the variables of when the allocation began.
TEST_F(SlurmWord, an_end_that_moved_before_a_worker_came_is_known_to_it_at_once) {
  ASSERT_TRUE(store_here_
                  ->commit(0,
                           [&](claim::Transaction& tx) -> Result<void> {
                             claim::begin_inquiry(tx, 0);
                             return claim::note_answer(
                                 tx, 1, {}, {{kRun.cluster, kRun.id, kStart, kStart + 20h}});
                           })
                  .ok());
  info_ = in_allocation("n1", self_process_.pid, self_process_.start);
  info_.ends_at = kStart + 10h;
  info_.end_is_told = true;
  self_ = join(info_);
  terms_.end_was_asked = true;
  auto asked = keeper(self_, info_, std::make_unique<SaidSlurm>(says_), terms_);
  ticks(asked, 1ms);
  EXPECT_EQ(asked.take_moved_end(), std::nullopt) << "what it was told itself is newer";
  terms_.end_was_asked = false;
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_), terms_);
  ticks(kept, 1ms);
  EXPECT_EQ(kept.take_moved_end(), kStart + 20h);
}

TEST_F(SlurmWord, whoever_began_without_an_answer_goes_on_asking) {
  info_ = in_allocation("n1", self_process_.pid, self_process_.start);
  info_.allocation_start = {};
  info_.ends_at = kStart + 1h;  // as the script says
  self_ = join(info_);
  says_.answers = false;
  terms_.margins.headroom = 60s;
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_), terms_);
  ticks(kept, 200s);
  EXPECT_GE(says_.asked, 2);
  EXPECT_EQ(kept.take_moved_end(), std::nullopt);
  EXPECT_FALSE(read(self_).info.end_is_told);
  says_.answers = true;
  says_.of_run = active({"n1"});
  ticks(kept, 100s);
  EXPECT_EQ(kept.take_moved_end(), kStart + 10h - 60s);
  EXPECT_EQ(read(self_).info.allocation_start, kStart);
  EXPECT_TRUE(read(self_).info.end_is_told);
}

// Slurm gives the time back in which it had suspended an allocation.
TEST_F(SlurmWord, whoever_stood_still_asks_soon) {
  info_ = in_allocation("n1", self_process_.pid, self_process_.start);
  info_.ends_at = kStart + 10h;
  info_.end_is_told = true;
  self_ = join(info_);
  says_.of_run = active({"n1"}, kStart + 10h + 80s);
  auto kept = keeper(self_, info_, std::make_unique<SaidSlurm>(says_));
  ticks(kept, 20s);
  EXPECT_EQ(says_.asked, 0);
  clock_.jump_to(clock_.boot_now() + 80s);
  ticks(kept, 10s);
  EXPECT_EQ(kept.take_moved_end(), kStart + 10h + 80s);
}

TEST_F(SlurmWord, is_waited_for_by_no_heartbeat) {
  begin();
  std::promise<void> gate;
  std::shared_future<void> open_gate = gate.get_future().share();
  auto kept = keeper(self_, info_, [open_gate](const std::vector<std::string>&) {
    open_gate.wait();
    return Result<slurm::CommandOutput>(
        slurm::CommandOutput{0, "99 99 alpha n[1-2] 2 FAILED 1795342086 1795342099 \n", ""});
  });
  for (const BootTime begun = clock_.boot_now(); clock_.boot_now() - begun < 75s;) {
    const BootTime fenced_at = kept.fenced_at();
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    EXPECT_GE(kept.fenced_at(), fenced_at);
    ASSERT_TRUE(lives(silent_));
    clock_.jump_to(kept.next_tick());
  }
  EXPECT_GT(kept.fenced_at(), clock_.boot_now()) << "no heartbeat while Slurm is asked";
  gate.set_value();
  pollfd answer{kept.answer_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&answer, 1, 60'000), 1) << "Slurm was not asked";
  kept.answered();
  EXPECT_LE(kept.next_tick(), clock_.boot_now());
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
  EXPECT_FALSE(lives(silent_));
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::allocation_ended);
}

}  // namespace
}  // namespace torc::worker
