// How a worker keeps its own lease and learns that others are dead, without waiting for anybody.
#include "lib/worker/lease/lease_keeper.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "lib/base/sanitizer.h"
#include "lib/exec/machine/procfs.h"
#include "lib/store/disk/disk.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/worker/lease/lease_keeper_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

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

// Of two that are dead, the first holds a job, or is one, whose record is damaged.
TEST_F(LeaseKeeperTest, what_cannot_be_read_of_one_worker_keeps_no_other_dead_one_alive) {
  for (const bool of_job : {true, false}) {
    const auto info = on("n1", self_process_.pid, self_process_.start);
    const auto self = join(info);
    const auto damaged = join(on("n2", 7, 7));
    const auto dead = join(on("n3", 7, 7));
    if (of_job) start_job(damaged);
    ASSERT_TRUE(store_here_
                    ->commit(0,
                             [&](claim::Transaction& tx) -> Result<void> {
                               const auto key =
                                   of_job ? claim::Key(claim::Table::job, 1)
                                          : claim::Key(claim::Table::worker, raw(damaged));
                               tx.put(key, "?");
                               return {};
                             })
                    .ok());
    auto kept = keeper(self, info);
    Result<void> told;
    for (int i = 0; i < 40; ++i) {
      const auto done = kept.tick({}, LeaseKeeper::Heartbeat::yes);
      if (!done) told = done.error();
      clock_.jump_to(kept.next_tick());
    }
    EXPECT_FALSE(lives(dead)) << of_job;
    ASSERT_FALSE(told.ok());
    EXPECT_EQ(told.error().kind, ErrorKind::corrupt) << told.error().text();
    ASSERT_TRUE(lives(self));
  }
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
  for (const BootTime begun = clock_.boot_now(); clock_.boot_now() - begun < 3s;) {
    clock_.jump_to(kept.next_tick());  // looks that come with no heartbeat, too
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::yes).ok());
  }
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
  // A tick that cannot read some other process of this user, which ends or executes just then,
  // leaves the last step to the next one.
  constexpr int kMostTicks = 200;
  for (int i = 0; i < kMostTicks && ran.size() < 2; ++i)
    ASSERT_TRUE(kept.tick({}, LeaseKeeper::Heartbeat::no).ok());
  disk.before = [] {};
  EXPECT_EQ(ran, (std::vector<bool>{true, false}));
  EXPECT_FALSE(lives(gone));
}

}  // namespace
}  // namespace torc::worker
