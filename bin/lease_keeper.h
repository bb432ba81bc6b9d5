// Keeps this worker's lease alive and ends those of dead ones: heartbeats, the ring of watchers,
// the faster ways to learn of a death. Runs in the thread that owns the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bin/app.h"
#include "lib/claim/claimer.h"
#include "lib/claim/lease.h"
#include "lib/slurm/query.h"

namespace torc::cli {

// A job that lost this many workers fails instead of being handed to the next one.
inline constexpr std::uint32_t kCrashLimit = 5;
// Living successors in the ring of epochs that each worker watches.
inline constexpr std::size_t kWatched = 3;

class LeaseKeeper {
 public:
  LeaseKeeper(store::World world, store::Store& store, claim::WorkerEpoch self,
              claim::WorkerInfo info, slurm::RunProgram run_program);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  [[nodiscard]] BootTime next_tick() const { return next_tick_; }
  // Beats (unless a commit at `last_commit` did), looks at the successors, expires those that are
  // dead. Error fenced: this worker itself was expired.
  enum class Beat : std::uint8_t { no, yes };
  Result<void> tick(BootTime last_commit, Beat beat);

  // Newest moment at which a beat of ours was surely written and the lease was seen to stand.
  [[nodiscard]] BootTime last_confirmed() const { return last_confirmed_; }
  // Distinct hosts with a living worker at the last tick, this one included.
  [[nodiscard]] std::uint64_t hosts() const { return hosts_; }

  // Workers of this node: a descriptor each that becomes readable when the process is gone (pidfd).
  [[nodiscard]] std::vector<int> neighbour_fds() const;
  // Expires the neighbour behind `fd` at once.
  Result<void> neighbour_died(int fd);

 private:
  struct Neighbour {
    claim::WorkerEpoch epoch{};
    int fd = -1;
  };

  Result<std::vector<claim::Worker>> look_around();
  void watch_neighbours(const std::vector<claim::Worker>& living);
  Result<void> observe_successors(const std::vector<claim::Worker>& living);
  Result<bool> expire(const claim::Worker& worker, std::uint64_t beats);
  bool allocation_ended(const std::string& allocation);

  store::World world_;
  store::Store& store_;
  claim::WorkerEpoch self_;
  claim::WorkerInfo info_;
  slurm::RunProgram run_program_;
  BootTime next_tick_{};
  BootTime last_confirmed_{};
  BootTime next_slurm_query_{};
  std::uint64_t beat_counter_ = 0;
  std::uint64_t hosts_ = 1;
  std::map<claim::WorkerEpoch, claim::Observation> observations_;
  std::vector<Neighbour> neighbours_;
};

}  // namespace torc::cli
