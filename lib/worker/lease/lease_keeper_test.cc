// How a worker keeps its own lease and learns that others are dead, without waiting for anybody.
#include "lib/worker/lease/lease_keeper.h"
#include "lib/base/sanitizer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/exec/machine/procfs.h"
#include "lib/store/disk/disk.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

// As a worker that may have few and uses them: so many can still be had.
class FewDescriptors {
 public:
  explicit FewDescriptors(int left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = dup(0); fd >= 0; fd = dup(0)) taken_.push_back(fd);
    for (; left > 0; --left) {
      close(taken_.back());
      taken_.pop_back();
    }
  }
  ~FewDescriptors() {
    for (const int fd : taken_) close(fd);
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

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
    info.user = "7 user:[1]";
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
  LeaseKeeper keeper(claim::WorkerEpoch self, claim::WorkerInfo info, slurm::RunProgram run = {}) {
    info.own_heartbeat_file = place_of(self).file == store::HeartbeatFile::own;
    return LeaseKeeper(context_.world, *store_here_, self, info, clock_.boot_now(), std::move(run),
                       facts_);
  }
  bool lives(claim::WorkerEpoch epoch) {
    bool live_workers = false;
    const auto seen = store_here_->view(
        store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          const auto worker = claim::read_worker(reader, epoch);
          live_workers = worker && worker->status == claim::WorkerStatus::registered;
          return {};
        });
    EXPECT_TRUE(seen.ok());
    return live_workers;
  }
  store::HeartbeatPlace place_of(claim::WorkerEpoch epoch) {
    store::HeartbeatPlace place;
    EXPECT_TRUE(store_here_
                    ->view(store::Freshness::latest,
                           [&](const claim::Reader& reader) -> Result<void> {
                             place = claim::heartbeat_place(reader, epoch);
                             return {};
                           })
                    .ok());
    return place;
  }
  // As if the newest heartbeat in the file of this worker had been written then.
  void write_heartbeat(claim::WorkerEpoch epoch, WallTime at) {
    const Path state = store_here_->state_directory();
    ASSERT_TRUE(store::write_heartbeat(context_.world, state, place_of(epoch), {1, 10s}).ok());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
    const timespec when{seconds.count(), 0};
    const timespec both[] = {when, when};
    ASSERT_EQ(utimensat(AT_FDCWD, store::heartbeat_path(state, place_of(epoch)).c_str(), both, 0),
              0);
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
  bool has_heartbeat(claim::WorkerEpoch epoch) {
    const auto heartbeat =
        store::read_heartbeat(context_.world, store_here_->state_directory(), place_of(epoch),
                              store::heartbeat_caches(facts_.kind));
    return heartbeat.ok() && heartbeat->has_value();
  }

  std::unique_ptr<store::Store> store_here_;
  store::MountFacts facts_ = store::mount_facts(store::MountKind::local);
  const exec::ProcessIdentity self_process_ = exec::this_process();
};

TEST_F(LeaseKeeperTest, an_earlier_life_of_the_same_process_is_ended_at_once) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto earlier = join(info);
  const auto self = join(info);
  auto kept = keeper(self, info);
  start_job(earlier);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
  EXPECT_FALSE(lives(earlier));
  EXPECT_TRUE(lives(self));
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost) << "it ended its jobs itself";
}

// It says nothing of who has the lease: only what is read and says so ends a worker.
TEST_F(LeaseKeeperTest, a_record_that_cannot_be_read_fences_nobody) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto other = join(on("n2", 7, 7));
  auto kept = keeper(self, info);
  const auto spoil = [&](claim::WorkerEpoch epoch) {
    const claim::Key key(claim::Table::worker, raw(epoch));
    ASSERT_TRUE(store_here_
                    ->commit(0,
                             [&](claim::Transaction& tx) -> Result<void> {
                               tx.put(key, "?");
                               return {};
                             })
                    .ok());
  };
  spoil(other);
  const BootTime before = kept.fenced_at();
  clock_.sleep_for(5s);
  const auto of_another = kept.tick({}, LeaseKeeper::Heartbeat::yes);
  ASSERT_FALSE(of_another.ok());
  EXPECT_EQ(of_another.error().kind, ErrorKind::corrupt) << of_another.error().text();
  EXPECT_GT(kept.fenced_at(), before) << "its own lease was renewed";
  spoil(self);
  const auto of_itself = kept.tick({}, LeaseKeeper::Heartbeat::yes);
  ASSERT_FALSE(of_itself.ok());
  EXPECT_EQ(of_itself.error().kind, ErrorKind::corrupt) << of_itself.error().text();
}

TEST_F(LeaseKeeperTest, a_neighbour_whose_process_has_gone_is_ended_at_once) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto gone = join(on("n1", self_process_.pid, self_process_.start + 1));
  const auto elsewhere = join(on("n2", self_process_.pid, self_process_.start + 1));
  auto kept = keeper(self, info);
  start_job(gone);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
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
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::no).ok());
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::worker_lost);
  EXPECT_EQ(job(1).outcome.ended_at, started)
      << "its newest commit: it has not written a heartbeat";
}

TEST_F(LeaseKeeperTest, a_heartbeat_is_a_sign_of_life) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto gone = join(on("n1", self_process_.pid, self_process_.start + 1));
  start_job(gone);
  const WallTime started = clock_.wall_now();
  write_heartbeat(gone, started + 3h);
  clock_.jump_to(clock_.boot_now() + 12h);
  const auto self = join(info);
  auto kept = keeper(self, info);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
  EXPECT_TRUE(has_heartbeat(self));
  EXPECT_EQ(job(1).outcome.ended_at, started + 3h);
}

// What it says was there for as long as two heartbeats are apart.
TEST_F(LeaseKeeperTest, a_heartbeat_says_which_commit_its_worker_saw_at_the_one_before) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  auto kept = keeper(self, info);
  const auto sequence = [&] {
    std::uint64_t newest = 0;
    EXPECT_TRUE(store_here_
                    ->view(store::Freshness::latest,
                           [&](const claim::Reader& reader) -> Result<void> {
                             newest = reader.sequence();
                             return {};
                           })
                    .ok());
    return newest;
  };
  const auto said = [&] {
    const auto heartbeat = store::read_heartbeat(context_.world, store_here_->state_directory(),
                                                 place_of(self), store::Caches::trust);
    return heartbeat.ok() && *heartbeat ? (*heartbeat)->known : 99'999;
  };
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
  EXPECT_EQ(said(), 0U);
  const std::uint64_t before = sequence();
  join(on("n2", 1, 1));
  ASSERT_GT(sequence(), before);
  clock_.jump_to(kept.next_tick());
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
  EXPECT_EQ(said(), before);
}

TEST_F(LeaseKeeperTest, no_sign_of_life_is_later_than_the_silence_that_was_watched) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto silent = join(on("n2", 1, 1));
  start_job(silent);
  const WallTime started = clock_.wall_now();
  write_heartbeat(silent, started + 1h);  // by a clock that is ahead
  auto kept = keeper(self, info);
  for (int i = 0; i < 40 && lives(silent); ++i) {
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::no).ok());
    clock_.jump_to(kept.next_tick());
  }
  ASSERT_FALSE(lives(silent));
  EXPECT_LT(job(1).outcome.ended_at - started, 3s);
}

// A file that both wrote would be read late for ever on GlusterFS; and a thousand files for a
// thousand workers would be too many.
TEST_F(LeaseKeeperTest,
       the_first_workers_write_heartbeats_into_files_of_their_own_and_later_ones_into_one) {
  const auto info = on("n2", 1, 1);
  std::vector<claim::WorkerEpoch> all;
  for (std::uint64_t n = 0; n < store::kOwnHeartbeatFiles + 2; ++n) all.push_back(join(info));
  for (std::uint64_t n = 0; n < store::kOwnHeartbeatFiles + 2; ++n) {
    EXPECT_EQ(place_of(all[n]).file, n < store::kOwnHeartbeatFiles ? store::HeartbeatFile::own
                                                                   : store::HeartbeatFile::shared)
        << n;
  }
}

TEST_F(LeaseKeeperTest, a_silence_that_may_be_the_filesystems_ends_nobodys_lease) {
  facts_.heartbeat_age = 30s;  // heartbeats are seen so late here
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto silent = join(on("n2", 1, 1));
  auto kept = keeper(self, info);
  const BootTime since = clock_.boot_now();
  while (lives(silent) && clock_.boot_now() - since < 120s) {
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    clock_.jump_to(kept.next_tick());
  }
  EXPECT_FALSE(lives(silent));
  EXPECT_GE(clock_.boot_now() - since, 40s) << "a lease of 10 s and what the mount adds";
}

TEST_F(LeaseKeeperTest, a_worker_that_was_ended_leaves_no_file_of_its_late_heartbeat) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  auto kept = keeper(self, info);
  ASSERT_TRUE(store_here_
                  ->commit(0,
                           [&](claim::Transaction& tx) -> Result<void> {
                             const auto worker = claim::read_worker(tx, self);
                             TORC_TRY(claim::expire_worker(tx, self, worker->renewals,
                                                           clock_.wall_now(), kCrashLimit,
                                                           claim::EndCause::lease_lost, {}));
                             return {};
                           })
                  .ok());
  EXPECT_EQ(kept.tick({}, LeaseKeeper::Heartbeat::yes).error().kind, ErrorKind::fenced);
  EXPECT_FALSE(has_heartbeat(self));
}

TEST_F(LeaseKeeperTest, no_heartbeat_claims_that_a_worker_lives_whose_main_thread_stands_still) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  auto kept = keeper(self, info);
  const BootTime before = kept.fenced_at();
  clock_.jump_to(clock_.boot_now() + 5s);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::no).ok());
  EXPECT_FALSE(has_heartbeat(self));
  EXPECT_EQ(kept.fenced_at(), before);
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
  EXPECT_TRUE(has_heartbeat(self));
  EXPECT_GT(kept.fenced_at(), before);
}

TEST_F(LeaseKeeperTest, with_few_descriptors_a_live_neighbour_is_left_alone) {
  if (kSanitized) GTEST_SKIP() << "the check of an object's class needs the descriptors of a pipe";
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto parent = exec::read_stat(getppid());
  ASSERT_TRUE(parent);
  const auto neighbour = join(on("n1", static_cast<std::uint64_t>(getppid()), parent->start));
  start_job(neighbour);
  for (const int left : {0, 1, 2, 3}) {
    auto kept = keeper(self, info);
    {
      const FewDescriptors few(left);
      for (int i = 0; i < 3; ++i) (void)kept.tick({}, LeaseKeeper::Heartbeat::no);
    }
    EXPECT_TRUE(lives(neighbour)) << left;
    EXPECT_TRUE(kept.neighbour_fds().empty()) << "the last ones are for its jobs";
    EXPECT_EQ(job(1).state, claim::JobState::running) << left;
  }
}

TEST_F(LeaseKeeperTest, of_a_neighbour_that_cannot_be_looked_at_the_lease_decides) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto neighbour = join(on("n1", self_process_.pid, 0));  // its /proc told it nothing
  start_job(neighbour);
  auto kept = keeper(self, info);
  int ticks = 0;
  for (; ticks < 40 && lives(neighbour); ++ticks) {
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::no).ok());
    clock_.jump_to(kept.next_tick());
  }
  EXPECT_GE(ticks, 4);
  EXPECT_FALSE(lives(neighbour)) << "it has not renewed its lease";
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
}

TEST_F(LeaseKeeperTest, what_another_user_left_is_not_looked_for_and_waits_for_the_lease) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  for (const char* user : {"8 user:[1]", "7 user:[2]", ""}) {
    auto other = on("n1", self_process_.pid, self_process_.start + 1);
    other.user = user;
    const auto gone = join(other);
    auto kept = keeper(self, info);
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    EXPECT_TRUE(lives(gone)) << user;
    EXPECT_TRUE(kept.neighbour_fds().empty());
  }
}

TEST_F(LeaseKeeperTest, where_boots_or_namespaces_are_not_known_no_process_is_known_to_be_gone) {
  for (const bool boot : {true, false}) {
    auto info = on("n1", self_process_.pid, self_process_.start);
    (boot ? info.boot_id : info.pid_namespace).clear();
    auto other = info;
    ++other.pid_start;
    const auto self = join(info);
    const auto unknown = join(other);
    auto kept = keeper(self, info);
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    EXPECT_TRUE(lives(unknown));
  }
}

class SlurmWord : public LeaseKeeperTest {
 protected:
  // A silent worker of allocation 99 of cluster alpha, and one that asks.
  void begin() {
    info_ = on("n1", self_process_.pid, self_process_.start);
    self_ = join(info_);
    auto other = on("n2", 1, 1);
    other.cluster = "alpha";
    other.allocation = "99";
    other.allocation_start = std::chrono::seconds(1795342086);
    silent_ = join(other);
    start_job(silent_);
  }
  // Ticks until the silent worker is expired; how long that took. `seen`: after the first tick.
  std::chrono::nanoseconds silence_with(
      const std::string& answer, const std::function<void()>& seen = [] {}) {
    if (raw(self_) == 0) begin();
    auto kept = keeper(self_, info_, [answer](const std::vector<std::string>&) {
      return Result<slurm::CommandOutput>(slurm::CommandOutput{0, answer, ""});
    });
    const BootTime begun = clock_.boot_now();
    for (int i = 0; i < 40; ++i) {
      EXPECT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
      if (i == 0) seen();
      if (!lives(silent_)) return clock_.boot_now() - begun;
      pollfd told{kept.answer_fd(), POLLIN, 0};
      // Asked after two silent intervals, so it answers before the worker must have fenced itself.
      if (clock_.boot_now() - begun >= 4s && poll(&told, 1, answered_ ? 0 : 2'000) == 1) {
        answered_ = true;
        kept.answered();
      }
      clock_.jump_to(std::max(kept.next_tick(), clock_.boot_now() + 1s));
    }
    return {};
  }

  bool answered_ = false;
  claim::WorkerInfo info_;
  claim::WorkerEpoch self_{};
  claim::WorkerEpoch silent_{};
};

TEST_F(SlurmWord, that_the_allocation_has_ended_counts_once_the_worker_must_have_fenced_itself) {
  const auto silence = silence_with("99 99 COMPLETED alpha 1795342086\n");
  EXPECT_GE(silence, 6s);
  EXPECT_LT(silence, 9s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::allocation_ended);
}

TEST_F(SlurmWord, that_the_allocation_failed_makes_its_jobs_suspects) {
  EXPECT_LT(silence_with("99 99 OUT_OF_MEMORY alpha 1795342086\n"), 9s);
  EXPECT_TRUE(claim::is_suspect(job(1)));
  EXPECT_EQ(job(1).lost, 1U);
}

TEST_F(SlurmWord, that_the_allocation_was_cut_off_is_no_fault_of_its_jobs) {
  const auto silence = silence_with("99 99 TIMEOUT alpha 1795342086\n");
  EXPECT_GE(silence, 6s);
  EXPECT_LT(silence, 9s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::allocation_ended);
  EXPECT_EQ(job(1).suspicion, claim::Suspicion::none);
  EXPECT_EQ(job(1).lost, 0U);
  EXPECT_EQ(job(1).stopped, 1U) << "it does not go on for ever";
}

TEST_F(SlurmWord, that_another_run_of_the_allocation_was_cut_off_excuses_nobody) {
  EXPECT_GE(silence_with("99 99 TIMEOUT alpha 1795349999\n"), 10s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
  EXPECT_EQ(job(1).suspicion, claim::Suspicion::silence);
  EXPECT_EQ(job(1).stopped, 0U);
}

TEST_F(SlurmWord, of_another_cluster_ends_nobody_early) {
  EXPECT_GE(silence_with("99 99 COMPLETED beta 1795342086\n"), 10s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
}

TEST_F(SlurmWord, of_a_requeued_allocation_ends_nobody_early) {
  EXPECT_GE(silence_with("99 99 COMPLETED alpha 1795349999\n"), 10s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
}

TEST_F(SlurmWord, that_it_is_revoked_ends_nobody_early) {
  EXPECT_GE(silence_with("99 99 REVOKED alpha 1795342086\n"), 10s);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
}

// Its last heartbeat allowed it a longer silence than its last commit, and it keeps to that.
TEST_F(SlurmWord, counts_no_earlier_for_a_heartbeat_that_cannot_be_read_any_more) {
  begin();
  const Path state = store_here_->state_directory();
  ASSERT_TRUE(store::write_heartbeat(context_.world, state, place_of(silent_), {1, 30s}).ok());
  const auto silence = silence_with("99 99 COMPLETED alpha 1795342086\n", [&] {
    std::filesystem::resize_file(store::heartbeat_path(state, place_of(silent_)), 20);
  });
  EXPECT_GE(silence, 18s) << "only then it has fenced itself";
  EXPECT_LT(silence, 27s);
}

TEST_F(SlurmWord, is_waited_for_by_no_heartbeat) {
  begin();
  std::promise<void> gate;
  std::shared_future<void> open_gate = gate.get_future().share();
  auto kept = keeper(self_, info_, [open_gate](const std::vector<std::string>&) {
    open_gate.wait();
    return Result<slurm::CommandOutput>(
        slurm::CommandOutput{0, "99 99 FAILED alpha 1795342086\n", ""});
  });
  for (int i = 0; i < 4; ++i) {  // 8 s of silence at most, give or take the jitter
    const BootTime fenced_at = kept.fenced_at();
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    EXPECT_TRUE(i == 0 || kept.fenced_at() > fenced_at) << "no heartbeat while Slurm is asked";
    ASSERT_TRUE(lives(silent_));
    clock_.jump_to(kept.next_tick());
  }
  gate.set_value();
  pollfd answer{kept.answer_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&answer, 1, 60'000), 1) << "Slurm was not asked";
  kept.answered();
  EXPECT_LE(kept.next_tick(), clock_.boot_now());
  for (int i = 0; i < 2 && lives(silent_); ++i) {  // as soon as it must have fenced itself
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    clock_.jump_to(kept.next_tick());
  }
  EXPECT_FALSE(lives(silent_));
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::allocation_ended);
}

TEST_F(LeaseKeeperTest, of_a_worker_that_fell_silent_it_is_told_that_its_lease_was_lost) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto silent = join(on("n2", 1, 1));
  start_job(silent);
  auto kept = keeper(self, info);
  for (int i = 0; i < 40 && lives(silent); ++i) {
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    clock_.jump_to(kept.next_tick());
  }
  EXPECT_FALSE(lives(silent));
  EXPECT_EQ(job(1).state, claim::JobState::ready);
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::lease_lost);
}

// Calls `before` ahead of every publication of a commit.
class ListeningDisk final : public store::PosixDisk {
 public:
  std::function<void()> before = [] {};
  Result<void> link(const Path& from, const Path& to) override {
    before();
    return PosixDisk::link(from, to);
  }
  Result<void> link_unnamed(store::FileHandle file, const Path& to) override {
    before();
    return PosixDisk::link_unnamed(file, to);
  }
};

// A process that a job of this worker left behind.
class Leftover {
 public:
  explicit Leftover(const std::vector<std::string>& tags) {
    int block[2], executed[2];
    EXPECT_EQ(pipe(block), 0);
    EXPECT_EQ(pipe2(executed, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(block[0], 0);
      close(block[1]);
      std::vector<char*> environment;
      for (const std::string& tag : tags) environment.push_back(const_cast<char*>(tag.c_str()));
      environment.push_back(nullptr);
      execle("/bin/cat", "cat", nullptr, environment.data());
      _exit(1);
    }
    close(block[0]);
    input_ = block[1];
    // Before it executes, its environment is that of this process.
    close(executed[1]);
    char none = 0;
    EXPECT_EQ(read(executed[0], &none, 1), 0);
    close(executed[0]);
  }
  ~Leftover() {
    close(input_);
    waitpid(pid_, nullptr, 0);
  }
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;
  [[nodiscard]] bool runs() const {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == 0;
  }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
};

// A job of it that left its session has not ended with the others.
TEST_F(LeaseKeeperTest, what_an_earlier_life_left_is_ended_before_its_jobs_are_others) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto earlier = join(info);
  const auto self = join(info);
  auto kept = keeper(self, info);
  start_job(earlier);
  const Leftover leftover(worker_tags(store_here_->identity().instance_hex(), earlier));
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
  EXPECT_FALSE(leftover.runs());
  EXPECT_FALSE(lives(earlier));
}

TEST_F(LeaseKeeperTest, of_a_worker_that_was_barred_it_is_told_that_it_was_lost) {
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto gone = join(on("n2", 1, 1));  // found gone by somebody there, who ended then, too
  start_job(gone);
  const auto barred = store_here_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const bool done,
                claim::bar_worker(tx, gone, claim::read_worker(tx, gone)->renewals));
    EXPECT_TRUE(done);
    return {};
  });
  ASSERT_TRUE(barred.ok()) << barred.error().text();
  auto kept = keeper(self, info);
  for (int i = 0; i < 40 && lives(gone); ++i) {
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
    clock_.jump_to(kept.next_tick());
  }
  EXPECT_FALSE(lives(gone));
  EXPECT_EQ(job(1).outcome.cause, claim::EndCause::worker_lost);
}

// First it is said that nothing of that worker counts any more, then what it left is ended, then
// others may have its jobs.
TEST_F(LeaseKeeperTest, a_dead_worker_is_barred_before_what_it_left_is_ended_and_expires_after) {
  store_here_.reset();
  std::filesystem::remove_all(store_);
  make("jobs: [{name: a, command: x}]\n", store::Engine::journal);
  ListeningDisk disk;
  store::World world{disk, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}};
  world.replica_roots = {directory_};
  auto opened = store::Store::open(world, store_, {});
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  store_here_ = *std::move(opened);
  const auto info = on("n1", self_process_.pid, self_process_.start);
  const auto self = join(info);
  const auto gone = join(on("n1", self_process_.pid, self_process_.start + 1));
  start_job(gone);
  const Leftover leftover(worker_tags(store_here_->identity().instance_hex(), gone));
  std::vector<bool> ran;  // at each commit
  disk.before = [&] { ran.push_back(leftover.runs()); };
  LeaseKeeper kept(world, *store_here_, self, info, clock_.boot_now(), {},
                   store::mount_facts(store::MountKind::local));
  ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::no).ok());
  disk.before = [] {};
  EXPECT_EQ(ran, (std::vector<bool>{true, false}));
  EXPECT_FALSE(lives(gone));
}

}  // namespace
}  // namespace torc::worker
