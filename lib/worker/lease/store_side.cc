#include "lib/worker/lease/store_side.h"

#include <utility>

#include "lib/claim/queries/gangs.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/exchange.h"

namespace torc::worker {
namespace {

bool says_something(const claim::Exchange& e) {
  return !e.starts.empty() || !e.finishes.empty() || !e.returns.empty() || !e.actions.empty() ||
         !e.gang.empty();
}

// A failed heartbeat or look is not yet a lost lease: the worker fences itself when none succeeds
// for long enough.
std::optional<Error> loss_in(Result<void> outcome) {
  if (outcome || outcome.error().kind != ErrorKind::fenced) return std::nullopt;
  return std::move(outcome).error();
}

}  // namespace

StoreSide::StoreSide(store::World world, std::unique_ptr<store::Store> store,
                     claim::WorkerEpoch self, claim::WorkerInfo info, BootTime registered,
                     Prepare prepare, std::unique_ptr<NodeProcesses> processes,
                     std::unique_ptr<SlurmInquiry> inquiry, const store::MountFacts& facts,
                     exec::WatchedLease& lease, const SlurmTerms& slurm, Datagrams* datagrams)
    : world_(std::move(world)),
      store_(std::move(store)),
      self_(self),
      prepare_(std::move(prepare)),
      lease_(lease),
      fencing_limit_(claim::fencing_limit(info.lease_ttl)),
      ringer_(datagrams, self, info.boot_id),
      keeper_(world_, *store_, self, std::move(info), registered, std::move(processes),
              std::move(inquiry), facts, slurm),
      allocation_(self) {
  keeper_.ring_by(&ringer_);
  confirm();
}

CommitReply StoreSide::exchange(claim::Exchange words) {
  return commit(std::move(words), Purpose::exchange);
}

CommitReply StoreSide::renew_paused() {
  claim::Exchange words;
  words.worker = self_;
  words.now = world_.clock.wall_now();
  return commit(std::move(words), Purpose::renewal);
}

CommitReply StoreSide::commit(claim::Exchange words, Purpose purpose) {
  CommitReply reply;
  const std::optional<exec::Pause> pause = lease_.pause();  // before it is asked
  bool nothing_to_do = false;  // says the body that ran last: its Error is none
  const BootTime begun = world_.clock.boot_now();
  words.ttl = keeper_.ttl(begun);
  store_->clear_changes();
  auto committed = store_->commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    nothing_to_do = false;
    reply.jobs.clear();
    reply.gang_job.reset();
    // The last look before it counts. An end that this worker itself brings about is not told.
    if (!lease_.stands()) {
      return Error{ErrorKind::fenced, "this worker lost its lease, or its watchdog died",
                   "its jobs are ended, and others take them over"};
    }
    reply.newest = tx.sequence() - 1;
    ringer_.before(tx);
    TORC_ASSIGN(reply.answer, claim::exchange(tx, words));
    ringer_.after(tx, reply.answer.grants.empty() ? 0 : 1, words.now);
    for (const claim::Grant& grant : reply.answer.grants) {
      auto job = prepare_(tx, grant);
      if (!job) {
        return Error{ErrorKind::corrupt, "a job's recipe in the store cannot be read",
                     "run `torc verify` on the store"};
      }
      reply.jobs.push_back(*std::move(job));
    }
    ringer_.concern(tx, reply.answer.concerned);
    if (purpose == Purpose::exchange) {
      TORC_ASSIGN(reply.gang_job, gang_job(tx, reply.answer.gang));
    }
    if (reply.answer.grants.empty() && reply.answer.actions.empty() && !says_something(words) &&
        !reply.answer.took_spares && !reply.answer.promoted && !reply.answer.to_be_known &&
        purpose == Purpose::exchange) {
      // An idle worker that finds nothing must not write a commit to say so.
      nothing_to_do = true;
      return Error{ErrorKind::busy, "nothing to do", ""};
    }
    return {};
  });
  if (committed) {
    reply.commit = *committed;
    reply.newest = committed->sequence;
    last_commit_ = begun;
    keeper_.renewed(begun, reply.answer.live_workers);
    confirm();
    reply.ended_pause = pause && lease_.confirm(*pause);
    ringer_.ring(committed->sequence, store_->identity().instance);
    (void)store_->maintain();  // a checkpoint that fails is tried again after the next commit
  } else if (!nothing_to_do) {
    reply.error = std::move(committed).error();
    reply.jobs.clear();
    reply.gang_job.reset();
  }
  // The answer to a renewal is nobody's.
  if (!reply.error && purpose == Purpose::exchange) told(reply.answer.gang, true);
  return reply;
}

StoreSide::News StoreSide::tick(bool lives) {
  News news;
  const std::uint64_t expired = keeper_.expired();
  news.lost = loss_in(
      keeper_.tick(last_commit_, lives ? LeaseKeeper::Heartbeat::yes : LeaseKeeper::Heartbeat::no));
  confirm();
  news.freed = keeper_.expired() != expired;
  news.ends_at = keeper_.take_moved_end();
  news.orders = look_for_orders();
  (void)store_->maintain();  // what failed is due again at the next tick
  return news;
}

std::optional<Error> StoreSide::neighbour_died(int fd) {
  return loss_in(keeper_.neighbour_died(fd));
}

std::optional<AllocationUse> StoreSide::look_at_allocation() {
  std::optional<AllocationUse> use;
  const Result<void> seen =
      store_->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
        TORC_ASSIGN(use, allocation_.look(reader));
        return {};
      });
  if (!seen) return std::nullopt;
  use->others_live = allocation_.others_live(
      [&](const claim::Worker& worker) { return keeper_.heartbeats_of(worker); });
  return use;
}

StoreSide::Orders StoreSide::look_for_orders() {
  Orders found;
  const Result<void> seen =
      store_->view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
        found.revoked = claim::read_revoked(reader, self_);
        TORC_ASSIGN(auto part, claim::read_gang(reader, self_));
        const bool same = part ? told_ == part->gang : !told_;
        if (same) return {};
        found.gang = Orders::Gang{reader.sequence(), std::move(part), {}};
        auto job = gang_job(reader, found.gang->part);
        told(found.gang->part, job.ok());
        if (job) found.gang->job = *std::move(job);
        return {};
      });
  // What cannot be read hides nothing that was: it is an error of the next exchange.
  (void)seen;
  return found;
}

Result<std::optional<ClaimedJob>> StoreSide::gang_job(const claim::Reader& reader,
                                                      const std::optional<claim::GangPart>& part) {
  if (!part || part->rank == 0 || part->gang.token.claim == prepared_)
    return std::optional<ClaimedJob>();
  claim::Grant grant;
  grant.token = part->gang.token;
  grant.job_class = part->gang.job_class;
  grant.gang = true;
  auto job = prepare_(reader, grant);
  if (!job) {
    return Error{ErrorKind::corrupt, "a job's recipe in the store cannot be read",
                 "run `torc verify` on the store"};
  }
  return job;
}

void StoreSide::told(const std::optional<claim::GangPart>& part, bool with_job) {
  told_.reset();
  if (!part) return;
  told_ = part->gang;
  if (with_job) prepared_ = part->gang.token.claim;
}

// A poll of this or another process of the node that only applied what was known already, or a
// commit of our own, wakes nobody.
bool StoreSide::others_committed() {
  std::uint64_t newest = 0;
  const Result<void> seen =
      store_->view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
        newest = reader.sequence();
        return {};
      });
  if (!seen || newest <= seen_sequence_) return false;
  seen_sequence_ = newest;
  return true;
}

}  // namespace torc::worker
