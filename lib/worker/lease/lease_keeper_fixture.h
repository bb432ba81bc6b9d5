// A store with a job, and workers that come and fall silent, for the tests of who keeps a lease.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/worker/lease/lease_keeper.h"
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {

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
  // With a Slurm that the test answers for.
  LeaseKeeper keeper(claim::WorkerEpoch self, claim::WorkerInfo info,
                     std::unique_ptr<SlurmInquiry> slurm, const SlurmTerms& terms = {}) {
    info.own_heartbeat_file = place_of(self).file == store::HeartbeatFile::own;
    return LeaseKeeper(context_.world, *store_here_, self, info, clock_.boot_now(),
                       std::make_unique<SystemProcesses>(), std::move(slurm), facts_, terms);
  }
  claim::Worker read(claim::WorkerEpoch epoch) {
    claim::Worker worker;
    EXPECT_TRUE(store_here_
                    ->view(store::Freshness::latest,
                           [&](const claim::Reader& reader) -> Result<void> {
                             worker = claim::read_worker(reader, epoch).value_or(claim::Worker{});
                             return {};
                           })
                    .ok());
    return worker;
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

}  // namespace torc::worker
