// How a worker keeps its own lease and learns that others are dead, without waiting for anybody.
#include "bin/lease_keeper.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <future>

#include "bin/session_fixture.h"

namespace torc::cli {
namespace {

using namespace std::chrono_literals;

class LeaseKeeperTest : public SessionTest {
 protected:
  LeaseKeeperTest() {
    make("jobs: [{name: a, command: x}]\n");
    store_here_ = open();
  }
  static claim::WorkerInfo on(const std::string& host, std::uint64_t pid, std::uint64_t start) {
    claim::WorkerInfo info;
    info.host = host;
    info.boot_id = "boot";
    info.pid_namespace = "ns";
    info.pid = pid;
    info.pid_start = start;
    info.lease_ttl = 10s;
    return info;
  }
  claim::WorkerEpoch join(const claim::WorkerInfo& info) {
    claim::WorkerEpoch epoch{};
    const auto done = store_here_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(epoch, claim::register_worker(tx, info));
      return {};
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
    return epoch;
  }
  LeaseKeeper keeper(claim::WorkerEpoch self, const claim::WorkerInfo& info,
                     slurm::RunProgram run = {}) {
    return LeaseKeeper(app_.world, *store_here_, self, info, clock_.boot_now(), std::move(run));
  }
  bool lives(claim::WorkerEpoch epoch) {
    bool living = false;
    const auto seen = store_here_->view(
        store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          const auto worker = claim::read_worker(reader, epoch);
          living = worker && worker->status == claim::WorkerStatus::living;
          return {};
        });
    EXPECT_TRUE(seen.ok());
    return living;
  }
  // As if the newest beat in the file of this worker had been written then.
  void write_beat(claim::WorkerEpoch epoch, WallTime at) {
    const Path state = store_here_->state_directory();
    ASSERT_TRUE(store::write_beat(app_.world, state, claim::raw(epoch), {1, 10s}).ok());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
    const timespec when{seconds.count(), 0};
    const timespec both[] = {when, when};
    ASSERT_EQ(utimensat(AT_FDCWD, (state / "beats" / "0").c_str(), both, 0), 0);
  }
  // The worker claims the only job and says that it started it.
  void start_job(claim::WorkerEpoch worker) {
    claim::Exchange exchange;
    exchange.worker = worker;
    exchange.offer.emplace();
    exchange.offer->cpus = exchange.offer->total_cpus = 1;
    exchange.offer->memory = exchange.offer->total_memory = mebibytes(1024);
    exchange.offer->max_jobs = 1;
    const auto talk = [&] {
      claim::Answer answer;
      const auto done = store_here_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
        TORC_ASSIGN(answer, claim::exchange(tx, exchange));
        return {};
      });
      EXPECT_TRUE(done.ok()) << done.error().text();
      return answer;
    };
    const claim::Answer granted = talk();
    ASSERT_EQ(granted.grants.size(), 1U);
    exchange.offer.reset();
    exchange.starts = {{granted.grants[0].token, clock_.wall_now()}};
    talk();
  }
  bool has_beaten(claim::WorkerEpoch epoch) {
    const auto beat =
        store::read_beat(app_.world, store_here_->state_directory(), claim::raw(epoch));
    return beat.ok() && beat->has_value();
  }

  std::unique_ptr<store::Store> store_here_;
  const exec::ProcessIdentity self_process_ = exec::this_process();
};

TEST_F(LeaseKeeperTest, an_earlier_life_of_the_same_process_is_ended_at_once) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto earlier = join(info);
  const auto self = join(info);
  auto kept = keeper(self, info);
  start_job(earlier);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::yes).ok());
  EXPECT_FALSE(lives(earlier));
  EXPECT_TRUE(lives(self));
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost) << "it ended its jobs itself";
}

TEST_F(LeaseKeeperTest, a_neighbour_whose_process_has_gone_is_ended_at_once) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto gone = join(on("n1", self_process_.pid, self_process_.start + 1));
  const auto elsewhere = join(on("n2", self_process_.pid, self_process_.start + 1));
  auto kept = keeper(self, info);
  start_job(gone);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::yes).ok());
  EXPECT_FALSE(lives(gone)) << "its number is another process's now";
  EXPECT_TRUE(lives(elsewhere)) << "of another node nothing is known by that";
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::worker_lost);
}

TEST_F(LeaseKeeperTest, an_attempt_ends_with_the_last_sign_of_life_and_not_with_its_discovery) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto gone = join(on("n1", self_process_.pid, self_process_.start + 1));
  start_job(gone);
  const WallTime started = clock_.wall_now();
  clock_.jump_to(clock_.boot_now() + 12h);
  const auto self = join(info);
  auto kept = keeper(self, info);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::no).ok());
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::worker_lost);
  EXPECT_EQ(job(1).outcome.ended_at, started) << "its newest commit: it has not beaten";
}

TEST_F(LeaseKeeperTest, a_beat_is_a_sign_of_life) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto gone = join(on("n1", self_process_.pid, self_process_.start + 1));
  start_job(gone);
  const WallTime started = clock_.wall_now();
  write_beat(gone, started + 3h);
  clock_.jump_to(clock_.boot_now() + 12h);
  const auto self = join(info);
  auto kept = keeper(self, info);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::yes).ok());
  EXPECT_TRUE(has_beaten(self)) << "into the same file";
  EXPECT_EQ(job(1).outcome.ended_at, started + 3h);
}

TEST_F(LeaseKeeperTest, no_sign_of_life_is_later_than_the_silence_that_was_watched) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto silent = join(on("n2", 1, 1));
  start_job(silent);
  const WallTime started = clock_.wall_now();
  write_beat(silent, started + 1h);  // another one's, in the same file
  auto kept = keeper(self, info);
  for (int i = 0; i < 40 && lives(silent); ++i) {
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::no).ok());
    clock_.jump_to(kept.next_tick());
  }
  ASSERT_FALSE(lives(silent));
  EXPECT_LT(job(1).outcome.ended_at - started, 3s);
}

TEST_F(LeaseKeeperTest, no_beat_claims_that_a_worker_lives_whose_main_thread_stands_still) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  auto kept = keeper(self, info);
  const BootTime before = kept.fenced_at();
  clock_.jump_to(clock_.boot_now() + 5s);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::no).ok());
  EXPECT_FALSE(has_beaten(self));
  EXPECT_EQ(kept.fenced_at(), before);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::yes).ok());
  EXPECT_TRUE(has_beaten(self));
  EXPECT_GT(kept.fenced_at(), before);
}

TEST_F(LeaseKeeperTest, a_slow_slurm_holds_up_no_beat_and_its_word_ends_a_silent_worker_early) {
  std::promise<void> gate;
  std::shared_future<void> open_gate = gate.get_future().share();
  const slurm::RunProgram slow = [open_gate](const std::vector<std::string>&) {
    open_gate.wait();
    return Result<slurm::CommandOutput>(
        slurm::CommandOutput{1, "", "slurm_load_jobs error: Invalid job id specified\n"});
  };
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  auto other_info = on("n2", 1, 1);
  other_info.allocation = "99";
  const auto silent = join(other_info);
  start_job(silent);
  auto kept = keeper(self, info, slow);
  for (int i = 0; i < 4; ++i) {  // 8 s of silence at most, give or take the jitter
    const BootTime fenced_at = kept.fenced_at();
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::yes).ok());
    EXPECT_TRUE(i == 0 || kept.fenced_at() > fenced_at) << "no beat while Slurm is asked";
    ASSERT_TRUE(lives(silent));
    clock_.jump_to(kept.next_tick());
  }
  gate.set_value();
  pollfd answer{kept.answer_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&answer, 1, 60'000), 1) << "Slurm was not asked";
  kept.answered();
  EXPECT_LE(kept.next_tick(), clock_.boot_now());
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::yes).ok());
  EXPECT_FALSE(lives(silent));
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::allocation_ended);
}

TEST_F(LeaseKeeperTest, of_a_worker_that_fell_silent_it_is_told_that_its_lease_was_lost) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto silent = join(on("n2", 1, 1));
  start_job(silent);
  auto kept = keeper(self, info);
  for (int i = 0; i < 40 && lives(silent); ++i) {
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Beat::yes).ok());
    clock_.jump_to(kept.next_tick());
  }
  EXPECT_FALSE(lives(silent));
  EXPECT_EQ(job(1).state, claim::JobState::ready);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
}

}  // namespace
}  // namespace torc::cli
