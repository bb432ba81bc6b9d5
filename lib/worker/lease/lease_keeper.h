// Keeps this worker's lease alive and ends those of dead ones: heartbeats, the ring of watchers,
// the faster ways to learn of a death. Runs in the thread that owns the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/lease.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/rules/watch.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/slurm/query.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/store/mount/mount_facts.h"
#include "lib/worker/bell/ringer.h"
#include "lib/worker/lease/allocation_inquiry.h"
#include "lib/worker/lease/node_processes.h"
#include "lib/worker/lease/pass_turn.h"
#include "lib/worker/lease/slurm_side.h"
#include "lib/worker/lease/slurm_terms.h"
#include "lib/workflow/context/context.h"

namespace torc::worker {

class LeaseKeeper {
 public:
  // `self` was registered by a commit that began at `registered`.
  // `facts`: of the mount that the store is on.
  LeaseKeeper(store::World world, store::Store& store, claim::WorkerEpoch self,
              claim::WorkerInfo info, BootTime registered, std::unique_ptr<NodeProcesses> processes,
              std::unique_ptr<SlurmInquiry> inquiry, store::MountFacts facts,
              const SlurmTerms& slurm = {});
  // With the processes of this system, and Slurm if `run_program` is not empty.
  LeaseKeeper(store::World world, store::Store& store, claim::WorkerEpoch self,
              claim::WorkerInfo info, BootTime registered, slurm::RunProgram run_program,
              store::MountFacts facts);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  [[nodiscard]] BootTime next_tick() const { return next_tick_; }
  // Writes a heartbeat when one is due (unless a commit at `last_commit` did), looks at the
  // successors, expires those that are dead, asks Slurm. Error fenced: this worker itself was
  // expired.
  enum class Heartbeat : std::uint8_t { no, yes };
  Result<void> tick(BootTime last_commit, Heartbeat heartbeat);

  // A commit of this worker that was begun at `at` said ttl(at); `live_workers` are left.
  void renewed(BootTime at, std::uint64_t live_workers);
  // The silence to ask for in a renewal at `now`.
  [[nodiscard]] std::chrono::seconds ttl(BootTime now) const;
  // Until when jobs may run in the name of the renewals so far.
  [[nodiscard]] BootTime fenced_at() const { return fenced_at_; }

  // So long before that they are paused: lest they run beside others where Slurm gives this node up
  // (claim::pause_limit()).
  [[nodiscard]] std::chrono::nanoseconds pause_lead() const;

  // Readable when Slurm has answered; then answered() makes the next tick due.
  [[nodiscard]] int answer_fd() const { return slurm_.fd(); }
  void answered();
  // How many others this worker has expired: what they had may be claimed.
  [[nodiscard]] std::uint64_t expired() const { return expired_; }
  // By when this worker's jobs must have ended, once, when Slurm has moved that.
  [[nodiscard]] std::optional<WallTime> take_moved_end() { return slurm_.take_moved_end(); }

  // The counter of its heartbeats, as it is now; nothing: none can be read.
  [[nodiscard]] std::optional<std::uint64_t> heartbeats_of(const claim::Worker& worker);

  // Rings idle workers for the jobs of those whose leases it ends. It outlives this.
  void ring_by(Ringer* ringer) { ringer_ = ringer; }
  // Workers of this user on this node: a descriptor each that becomes readable when the process is
  // gone (pidfd). Not of all where descriptors are scarce.
  [[nodiscard]] std::vector<int> neighbour_fds() const;
  // Expires the neighbour behind `fd` at once.
  Result<void> neighbour_died(int fd);

 private:
  struct Neighbour {
    claim::WorkerEpoch epoch{};
    int fd = -1;
  };

  // What one look at the newest state tells; its cost does not depend on the number of workers.
  struct Surroundings {
    std::uint64_t newest = 0;  // commit
    claim::WorkflowLoad load;
    std::vector<claim::Worker> neighbours;  // of this node
    std::vector<claim::Worker> successors;
    claim::Inquiry inquiry;
    std::uint64_t passes = 0;      // over the ledger of allocations
    bool has_allocations = false;  // there is something to see to in it
    Result<void> others;           // whether all of them could be read
  };
  // By what was said, not by the number of workers: it has grown for others only when it was said
  // to them.
  [[nodiscard]] std::chrono::nanoseconds interval() const;
  Result<bool> heartbeat(BootTime last_commit, BootTime now);
  Result<void> look_at_others(const claim::Reader& reader, std::size_t watched,
                              Surroundings& around) const;
  Result<Surroundings> look_around();
  void watch_neighbours(const std::vector<claim::Worker>& neighbours);
  Result<void> observe(const std::vector<claim::Worker>& successors, BootTime asked);
  // When it gave a sign of life last, by the clocks of those who wrote it; no more than `at_most`.
  [[nodiscard]] WallTime last_sign(const claim::Worker& worker, WallTime at_most) const;
  // Whether its processes are this worker's to look at and to end.
  [[nodiscard]] bool is_neighbour(const claim::WorkerInfo& info) const;
  // Of this very process, which lost its lease and came back.
  [[nodiscard]] bool is_earlier_life(const claim::WorkerInfo& info) const;
  Result<void> expire_dead(const claim::Worker& worker, WallTime alive_at);
  Result<bool> bar(const claim::Worker& worker);
  // Ends what its jobs left on this node. False: something may be left all the same.
  [[nodiscard]] bool nothing_is_left_of(const claim::Worker& worker) const;
  Result<bool> expire(const claim::Worker& worker, std::optional<std::uint64_t> heartbeats,
                      claim::EndCause why, WallTime alive_at,
                      claim::Charge charge = claim::Charge::yes);
  [[nodiscard]] Result<std::optional<store::Heartbeat>> read_heartbeat(const claim::Worker& worker);
  [[nodiscard]] Path heartbeat_file(const claim::Worker& worker) const;
  // A moment about so long from now.
  [[nodiscard]] BootTime in_about(std::chrono::nanoseconds time, BootTime now);

  store::World world_;
  store::Store& store_;
  claim::WorkerEpoch self_;
  claim::WorkerInfo info_;
  store::MountFacts facts_;
  store::HeartbeatPlace own_heartbeats_;
  std::unique_ptr<NodeProcesses> processes_;
  SlurmSide slurm_;
  PassTurn passes_;
  std::chrono::seconds node_timeout_;
  BootTime next_tick_{};
  BootTime next_heartbeat_{};
  BootTime ticked_at_{};
  BootTime fenced_at_;
  std::uint64_t expired_ = 0;
  std::uint64_t heartbeat_counter_ = 0;
  std::uint64_t known_ = 0;  // the newest commit at the look that came with the last heartbeat
  WallTime
      heartbeat_before_{};  // when anybody wrote last into the file of this worker's heartbeats
  std::uint64_t live_workers_ = 1;
  std::chrono::seconds said_;  // in the newest renewal
  claim::Watch watch_;
  Ringer* ringer_ = nullptr;
  std::vector<Neighbour> neighbours_;
};

}  // namespace torc::worker
