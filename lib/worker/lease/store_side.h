// What a worker does with its store, but for the thread in which it does so (committer.h): it
// commits what the worker has to say, and keeps the lease. Every call may take as long as the
// filesystem does.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/request.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/store/engine/store.h"
#include "lib/worker/bell/ringer.h"
#include "lib/worker/lease/allocation_watch.h"
#include "lib/worker/lease/lease_keeper.h"
#include "lib/worker/lease/slurm_terms.h"
#include "lib/worker/machine/claimed_job.h"

namespace torc::worker {

struct CommitReply {
  // fenced, unknown: the lease is lost, nothing of this worker counts any more. no_space, busy, io:
  // surely not committed; the exchange is to be sent again.
  std::optional<Error> error;
  claim::Answer answer;
  std::vector<ClaimedJob> jobs;  // the grants, in the order in which they should start
  // The job of the gang that this worker is a member of, once for each.
  std::optional<ClaimedJob> gang_job;
  store::Commit commit;
  std::uint64_t newest = 0;  // commit of anybody that was seen
  bool ended_pause = false;  // the lease was paused, and is held again for this commit
};

class StoreSide {
 public:
  // From a grant to the job; nullopt: its recipe cannot be read (a damaged store).
  using Prepare =
      std::function<std::optional<ClaimedJob>(const claim::Reader&, const claim::Grant&)>;

  // Takes the store over; `self` was registered in it by a commit that began at `registered`. Says
  // every renewal to `lease` too. `facts`: of the mount that the store is on. `datagrams`: by which
  // it rings idle workers; null: it rings nobody.
  StoreSide(store::World world, std::unique_ptr<store::Store> store, claim::WorkerEpoch self,
            claim::WorkerInfo info, BootTime registered, Prepare prepare,
            std::unique_ptr<NodeProcesses> processes, std::unique_ptr<SlurmInquiry> inquiry,
            const store::MountFacts& facts, exec::WatchedLease& lease, const SlurmTerms& slurm = {},
            Datagrams* datagrams = nullptr);

  CommitReply exchange(claim::Exchange words);
  // Asks whether a paused lease still stands, by a commit that renews it; when it does, it is held
  // again.
  CommitReply renew_paused();

  // What others have decided of what this worker has.
  struct Orders {
    std::vector<claim::ClaimToken> revoked;  // canceled while this worker held it
    // Of the gang that it is part of, when that is other than it was told last.
    struct Gang {
      std::uint64_t commit = 0;
      std::optional<claim::GangPart> part;
      std::optional<ClaimedJob> job;  // as CommitReply::gang_job
    };
    std::optional<Gang> gang;
    [[nodiscard]] bool empty() const { return revoked.empty() && !gang; }
  };

  // A look at everything that the lease needs. `lives`: the rest of the worker does, so that a
  // heartbeat may say so.
  struct News {
    std::optional<Error> lost;  // the lease was
    Orders orders;
    bool freed = false;               // others were expired: what they had may be claimed
    std::optional<WallTime> ends_at;  // its jobs must have ended by then: that has moved
  };
  News tick(bool lives);
  // A neighbour's process has ended, see LeaseKeeper::neighbour_fds().
  std::optional<Error> neighbour_died(int fd);
  // What the workers of its allocation have to do, in the newest state. Nothing: it cannot be known
  // now.
  [[nodiscard]] std::optional<AllocationUse> look_at_allocation();
  // In what this node knows already; empty where it cannot be read now.
  [[nodiscard]] Orders look_for_orders();
  // What this node knows has a commit that was not there at the last call and is not this worker's.
  bool others_committed();

  // The moment from which the lease that was asked for counts: the newest sure renewal, later where
  // that said more, as among many workers.
  [[nodiscard]] BootTime confirmed() const { return keeper_.fenced_at() - fencing_limit_; }
  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] LeaseKeeper& keeper() { return keeper_; }
  std::unique_ptr<store::Store> give_back() { return std::move(store_); }

 private:
  enum class Purpose : std::uint8_t { exchange, renewal };
  CommitReply commit(claim::Exchange words, Purpose purpose);
  // As a member: what the gang is about, unless that was told before. nullopt in the Result: so it
  // was, or there is nothing. Error corrupt: a job's recipe cannot be read.
  Result<std::optional<ClaimedJob>> gang_job(const claim::Reader& reader,
                                             const std::optional<claim::GangPart>& part);
  // The machine was told so; `with_job`: and what gang_job() had of it.
  void told(const std::optional<claim::GangPart>& part, bool with_job);
  void confirm() {
    lease_.pause_early(keeper_.pause_lead());
    lease_.renew(confirmed());
  }

  store::World world_;
  std::unique_ptr<store::Store> store_;
  claim::WorkerEpoch self_;
  Prepare prepare_;
  exec::WatchedLease& lease_;
  std::chrono::nanoseconds fencing_limit_;
  Ringer ringer_;
  LeaseKeeper keeper_;
  AllocationWatch allocation_;
  BootTime last_commit_{};
  std::uint64_t seen_sequence_ = 0;
  std::optional<claim::Gang> told_;  // of the gang that this worker is part of
  std::uint64_t prepared_ = 0;       // claim of the gang whose job was told
};

}  // namespace torc::worker
