#include "lib/worker/lease/lease_keeper.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "lib/claim/queries/allocations.h"
#include "lib/claim/queries/gangs.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/asking.h"
#include "lib/claim/transactions/membership.h"
#include "lib/exec/end/kill_tree.h"
#include "lib/worker/jobs/gang_tag.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/workflow/context/live_workers.h"

namespace torc::worker {
namespace {

// 0: not known.
WallTime written_at(const Path& file) {
  struct stat s {};
  if (stat(file.c_str(), &s) != 0) return {};
  return std::chrono::seconds(s.st_mtim.tv_sec) +
         std::chrono::duration_cast<WallTime>(std::chrono::nanoseconds(s.st_mtim.tv_nsec));
}

// How a worker ends of which Slurm said that it has it no longer, whatever else is known.
struct End {
  claim::EndCause why = claim::EndCause::lease_lost;
  claim::Charge charge = claim::Charge::yes;
};

// What Slurm hears nothing of says no more against its jobs than a lease that ran out. Whoever
// ended an allocation, and it was not a job, ended all of its jobs.
End end_by(claim::Gone word) {
  switch (word) {
    case claim::Gone::ended:
      return {claim::EndCause::allocation_ended, claim::Charge::yes};
    case claim::Gone::cut_off:
      return {claim::EndCause::allocation_ended, claim::Charge::stop};
    case claim::Gone::given_up:
      break;
  }
  return {};
}

}  // namespace

LeaseKeeper::LeaseKeeper(store::World world, store::Store& store, claim::WorkerEpoch self,
                         claim::WorkerInfo info, BootTime registered,
                         std::unique_ptr<NodeProcesses> processes,
                         std::unique_ptr<SlurmInquiry> inquiry, store::MountFacts facts,
                         const SlurmTerms& slurm)
    : world_(std::move(world)),
      store_(store),
      self_(self),
      info_(std::move(info)),
      facts_(facts),
      own_heartbeats_(claim::heartbeat_place(claim::Worker{self, info_})),
      processes_(std::move(processes)),
      slurm_(world_, store_, self_, info_, std::move(inquiry), slurm),
      passes_(world_, store_, self_, slurm.start_pass,
              static_cast<double>(world_.entropy.next() >> 11) * 0x1p-53),
      node_timeout_(slurm.node_timeout),
      next_tick_(world_.clock.boot_now()),
      fenced_at_(registered + claim::fencing_limit(info_.lease_ttl)),
      said_(info_.lease_ttl) {}

LeaseKeeper::LeaseKeeper(store::World world, store::Store& store, claim::WorkerEpoch self,
                         claim::WorkerInfo info, BootTime registered, slurm::RunProgram run_program,
                         store::MountFacts facts)
    : LeaseKeeper(std::move(world), store, self, std::move(info), registered,
                  std::make_unique<SystemProcesses>(),
                  std::make_unique<AllocationInquiry>(std::move(run_program)), facts) {}

LeaseKeeper::~LeaseKeeper() {
  for (const Neighbour& n : neighbours_) processes_->close(n.fd);
}

std::chrono::nanoseconds LeaseKeeper::interval() const {
  return claim::heartbeat_of(said_, info_.lease_ttl, info_.lease_heartbeat, live_workers_);
}

std::chrono::seconds LeaseKeeper::ttl(BootTime now) const {
  return claim::promised_ttl(
      claim::lease_ttl(info_.lease_ttl, live_workers_, info_.lease_heartbeat), fenced_at_, now);
}

void LeaseKeeper::renewed(BootTime at, std::uint64_t live_workers) {
  said_ = ttl(at);
  fenced_at_ = std::max(fenced_at_, at + claim::fencing_limit(said_));
  live_workers_ = live_workers;
}

std::chrono::nanoseconds LeaseKeeper::pause_lead() const {
  return claim::fencing_limit(said_) - claim::pause_limit(said_, interval(), node_timeout_);
}

// +-20 %: a thousand workers started together must not write heartbeats together.
BootTime LeaseKeeper::in_about(std::chrono::nanoseconds time, BootTime now) {
  const double jitter = 0.8 + 0.4 * static_cast<double>(world_.entropy.next() >> 11) * 0x1p-53;
  return now + std::chrono::nanoseconds(
                   static_cast<std::int64_t>(static_cast<double>(time.count()) * jitter));
}

Result<void> LeaseKeeper::tick(BootTime last_commit, Heartbeat heartbeat_now) {
  const BootTime now = world_.clock.boot_now();
  const BootTime before = std::exchange(ticked_at_, now);
  if (before.count() != 0 && now - before > 3 * interval()) slurm_.stood_still(now);
  next_tick_ = in_about(claim::look_interval(interval(), live_workers_), now);
  // One that must not be written now is due again at the next look.
  const bool is_due = now >= next_heartbeat_ && heartbeat_now == Heartbeat::yes;
  bool heartbeat_written = false;
  if (is_due) {
    next_heartbeat_ = in_about(interval(), now);
    heartbeat_before_ =
        written_at(store::heartbeat_path(store_.state_directory(), own_heartbeats_));
    TORC_ASSIGN(heartbeat_written, heartbeat(last_commit, now));
  }
  if (next_heartbeat_ > now) next_tick_ = std::min(next_tick_, next_heartbeat_);
  const BootTime asked = world_.clock.boot_now();
  const Result<Surroundings> seen = look_around();
  if (!seen.ok()) {
    // Whoever ended this worker's lease took its file away; a late heartbeat made it anew.
    if (seen.error().kind == ErrorKind::fenced)
      (void)store::remove_heartbeats(world_, store_.state_directory(), own_heartbeats_, false);
    return seen.error();
  }
  const Surroundings& around = *seen;
  if (is_due) known_ = around.newest;
  // Whatever goes wrong with the others from here on, this worker's own lease stands.
  if (heartbeat_written) renewed(now, around.load.workers);
  live_workers_ = around.load.workers;
  slurm_.saw(around.inquiry, asked);
  passes_.saw(around.passes, around.has_allocations, asked);
  // What cannot be read or ended of one keeps no other that is dead from being found.
  watch_neighbours(around.neighbours);
  Result<void> watched = observe(around.successors, asked);
  passes_.begin(world_.clock.boot_now());
  TORC_TRY(around.others);
  return watched;
}

// Not when a commit said the same lately.
Result<bool> LeaseKeeper::heartbeat(BootTime last_commit, BootTime now) {
  const std::chrono::seconds asked = ttl(now);
  if (last_commit + claim::counts_as_heartbeat(interval()) >= now) return false;
  TORC_TRY(store::write_heartbeat(world_, store_.state_directory(), own_heartbeats_,
                                  {++heartbeat_counter_, asked, known_, world_.clock.wall_now()}));
  return true;
}

// What cannot be read of them takes nothing from this worker's own lease.
Result<void> LeaseKeeper::look_at_others(const claim::Reader& reader, std::size_t watched,
                                         Surroundings& around) const {
  Result<void> unread;
  const auto add = [&](std::vector<claim::Worker>& to, claim::WorkerEpoch epoch) {
    auto worker = claim::find_worker(reader, epoch);
    if (!worker) {
      unread = std::move(worker).error();
    } else if (*worker) {
      to.push_back(**std::move(worker));
    }
  };
  TORC_ASSIGN(const auto here, claim::workers_on(reader, info_.host));
  for (const auto epoch : here) add(around.neighbours, epoch);
  TORC_ASSIGN(const auto next, claim::successors(reader, self_, watched));
  for (const auto epoch : next) add(around.successors, epoch);
  return unread;
}

// Read from the newest state; fenced when this worker is not among the live workers.
Result<LeaseKeeper::Surroundings> LeaseKeeper::look_around() {
  Surroundings around;
  bool alive = false;
  const std::size_t watched = watch_.wanted(interval());
  TORC_TRY(store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    around = {};
    around.newest = reader.sequence();
    TORC_ASSIGN(around.load, claim::read_load(reader));
    TORC_ASSIGN(const auto self, claim::find_worker(reader, self_));
    alive = self && self->status == claim::WorkerStatus::registered && !self->barred;
    around.inquiry = claim::read_inquiry(reader);
    // What cannot be read of the ledger takes nothing from the lease.
    const auto ledger = claim::read_pass_state(reader);
    around.has_allocations = ledger.ok() && ledger->has_work;
    around.passes = ledger.ok() ? ledger->passes : 0;
    around.others = look_at_others(reader, watched, around);
    return {};
  }));
  if (!alive) {
    return Error{ErrorKind::fenced,
                 fmt::format("the lease of this worker ({}) was ended by another one", raw(self_)),
                 "its jobs were handed on; it must stop what it runs"};
  }
  return around;
}

bool LeaseKeeper::is_neighbour(const claim::WorkerInfo& info) const {
  return workflow::is_here(info, info_.host, {info_.boot_id, info_.pid_namespace}) &&
         !info.user.empty() && info.user == info_.user;
}

bool LeaseKeeper::is_earlier_life(const claim::WorkerInfo& info) const {
  return is_neighbour(info) && info.pid == info_.pid && info.pid_start == info_.pid_start &&
         info.pid_start != 0;
}

void LeaseKeeper::watch_neighbours(const std::vector<claim::Worker>& neighbours) {
  std::erase_if(neighbours_, [&](const Neighbour& n) {
    const bool gone = std::none_of(neighbours.begin(), neighbours.end(),
                                   [&](const claim::Worker& w) { return w.epoch == n.epoch; });
    if (gone) processes_->close(n.fd);
    return gone;
  });
  const WallTime now = world_.clock.wall_now();
  for (const claim::Worker& worker : neighbours) {
    const claim::WorkerInfo& info = worker.info;
    if (worker.epoch == self_ || !is_neighbour(info)) continue;
    if (std::any_of(neighbours_.begin(), neighbours_.end(),
                    [&](const Neighbour& n) { return n.epoch == worker.epoch; })) {
      continue;
    }
    if (is_earlier_life(info)) {
      // An earlier life of this very process: its jobs were killed when it lost its lease. They
      // have not taken it with them, so that does not count against them. What left their sessions
      // or waits for a disk may not have ended with them.
      if (nothing_is_left_of(worker)) {
        (void)expire(worker, std::nullopt, claim::EndCause::lease_lost, last_sign(worker, now),
                     claim::Charge::no);
      }
      continue;
    }
    const int fd = processes_->watch(info.pid);
    // The pid may be another process by now: only the start time proves who it is.
    const exec::Presence presence = processes_->presence_of({info.pid, info.pid_start});
    if (presence == exec::Presence::here && fd >= 0) {
      neighbours_.push_back({worker.epoch, fd});
      continue;
    }
    if (fd >= 0) processes_->close(fd);
    // A failure is repeated at the next tick. Of whom nothing is known the lease decides.
    if (presence == exec::Presence::gone) (void)expire_dead(worker, last_sign(worker, now));
  }
}

std::vector<int> LeaseKeeper::neighbour_fds() const {
  std::vector<int> fds;
  for (const Neighbour& n : neighbours_) fds.push_back(n.fd);
  return fds;
}

Result<void> LeaseKeeper::neighbour_died(int fd) {
  const auto it = std::find_if(neighbours_.begin(), neighbours_.end(),
                               [&](const Neighbour& n) { return n.fd == fd; });
  if (it == neighbours_.end()) return {};
  const claim::WorkerEpoch epoch = it->epoch;
  processes_->close(it->fd);
  neighbours_.erase(it);
  std::optional<claim::Worker> worker;
  TORC_TRY(store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(worker, claim::find_worker(reader, epoch));
    return {};
  }));
  if (!worker || worker->status != claim::WorkerStatus::registered) return {};
  // Its process was there until just now.
  return expire_dead(*worker, world_.clock.wall_now());
}

// Its process on this node has gone. Its watchdog ends what it leaves, unless both were killed:
// what they left then must not run beside the next attempt. What cannot be ended here, or not be
// looked for, keeps its jobs until the lease has run out. Three steps, each of which another worker
// may go on with: it is barred, so that nothing it says counts from here on; then what it left is
// ended; only then are its jobs given to others.
Result<void> LeaseKeeper::expire_dead(const claim::Worker& worker, WallTime alive_at) {
  TORC_ASSIGN(const bool barred, bar(worker));
  if (!barred) return {};
  if (!nothing_is_left_of(worker)) return {};
  TORC_TRY(expire(worker, std::nullopt, claim::EndCause::worker_lost, alive_at));
  return {};
}

bool LeaseKeeper::nothing_is_left_of(const claim::Worker& worker) const {
  const std::string store = store_.identity().instance_hex();
  const claim::WorkerInfo& info = worker.info;
  const exec::Origin origin{info.pid_start, info.above, info.allocation};
  if (processes_->kill_tagged(worker_tags(store, worker.epoch), origin) != exec::Leftovers::none)
    return false;
  // Of a gang that it was part of, what others started here has another worker's tag, or none.
  std::optional<claim::GangPart> part;
  const Result<void> read =
      store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
        TORC_ASSIGN(part, claim::read_gang(reader, worker.epoch));
        return {};
      });
  if (!read) return false;
  return !part || processes_->kill_tagged(gang_tags(store, part->gang.token), origin) ==
                      exec::Leftovers::none;
}

Result<void> LeaseKeeper::observe(const std::vector<claim::Worker>& successors, BootTime asked) {
  std::vector<claim::WorkerEpoch> kept;
  kept.reserve(successors.size());
  for (const claim::Worker& worker : successors) kept.push_back(worker.epoch);
  watch_.keep_only(kept);
  bool has_suspects = false;
  bool is_close = false;
  Result<void> ended;
  for (const claim::Worker& worker : successors) {
    const auto heartbeat = read_heartbeat(worker);
    if (!heartbeat) continue;  // nothing is known of it this time
    const std::chrono::seconds may =
        std::max(worker.ttl, *heartbeat ? (*heartbeat)->ttl : std::chrono::seconds(0));
    const claim::Watch::Look look{worker.epoch,
                                  worker.renewals,
                                  *heartbeat ? std::optional((*heartbeat)->counter) : std::nullopt,
                                  may,
                                  facts_.heartbeat_age,
                                  claim::heartbeat_of(may, worker.info.lease_ttl,
                                                      worker.info.lease_heartbeat, live_workers_)};
    const auto verdict = watch_.look(look, asked, interval());
    is_close = is_close || verdict != claim::Watch::Verdict::lives;
    // A worker that renews is never ended by what Slurm says; nor one that may still run its jobs,
    // cut off from Slurm and the store.
    const std::chrono::nanoseconds paused =
        claim::pause_limit(watch_.ttl_of(worker.epoch), watch_.longest_heartbeat_of(worker.epoch),
                           worker.info.node_timeout) +
        look.age;
    const auto word =
        watch_.silence_of(worker.epoch) >= paused ? slurm_.word_of(worker.epoch) : std::nullopt;
    if (verdict == claim::Watch::Verdict::expired || word) {
      const WallTime heard = world_.clock.wall_now() -
                             std::chrono::duration_cast<WallTime>(watch_.silence_of(worker.epoch));
      End end = word ? end_by(*word) : End{};
      // Who barred it had found its process gone, and could not end what it left.
      if (worker.barred && end.charge != claim::Charge::stop)
        end.why = claim::EndCause::worker_lost;
      if (is_earlier_life(worker.info) && end.charge == claim::Charge::yes)
        end.charge = claim::Charge::no;
      auto done = expire(worker, watch_.heartbeats_of(worker.epoch), end.why,
                         last_sign(worker, heard), end.charge);
      if (!done) ended = std::move(done).error();
    } else if (verdict == claim::Watch::Verdict::silent) {
      has_suspects = has_suspects || slurm_.may_know(worker);
    }
  }
  const BootTime now = world_.clock.boot_now();
  slurm_.ask(has_suspects, now);
  if (is_close) next_tick_ = std::min(next_tick_, now + claim::closer_look(interval()));
  return ended;
}

// Its newest commit, or its newest heartbeat, of which nothing is known but when somebody wrote
// last into the file that it shares: before this worker's own heartbeat of this tick. A time stamp
// decides nothing here but what is counted as used.
WallTime LeaseKeeper::last_sign(const claim::Worker& worker, WallTime at_most) const {
  const Path file = heartbeat_file(worker);
  const bool shared = file == store::heartbeat_path(store_.state_directory(), own_heartbeats_);
  const WallTime heartbeat = shared ? heartbeat_before_ : written_at(file);
  return std::max(worker.last_seen, std::min(heartbeat, at_most));
}

Path LeaseKeeper::heartbeat_file(const claim::Worker& worker) const {
  return store::heartbeat_path(store_.state_directory(), claim::heartbeat_place(worker));
}

Result<std::optional<store::Heartbeat>> LeaseKeeper::read_heartbeat(const claim::Worker& worker) {
  return store::read_heartbeat(world_, store_.state_directory(), claim::heartbeat_place(worker),
                               store::heartbeat_caches(facts_.kind));
}

std::optional<std::uint64_t> LeaseKeeper::heartbeats_of(const claim::Worker& worker) {
  const auto heartbeat = read_heartbeat(worker);
  return heartbeat.ok() && *heartbeat ? std::optional((*heartbeat)->counter) : std::nullopt;
}

// Nothing counts any more that `worker` says, unless it renewed since it was read.
Result<bool> LeaseKeeper::bar(const claim::Worker& worker) {
  bool barred = false;
  TORC_TRY(store_.commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(barred, claim::bar_worker(tx, worker.epoch, worker.renewals));
    return {};
  }));
  return barred;
}

// Ends the lease of `worker` unless it renewed since it was read. `heartbeats`, with which it fell
// silent, is compared once more; nullopt: its process is known to be gone.
Result<bool> LeaseKeeper::expire(const claim::Worker& worker,
                                 std::optional<std::uint64_t> heartbeats, claim::EndCause why,
                                 WallTime alive_at, claim::Charge charge) {
  bool expired = false;
  bool nobody_beside = false;
  TORC_ASSIGN(
      const store::Commit done,
      store_.commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
        expired = false;
        if (ringer_ != nullptr) ringer_->before(tx);
        if (heartbeats) {
          TORC_ASSIGN(const auto newest, read_heartbeat(worker));
          if (newest && newest->counter != *heartbeats) return {};
        }
        TORC_ASSIGN(expired,
                    claim::expire_worker(tx, worker.epoch, worker.renewals, world_.clock.wall_now(),
                                         kCrashLimit, why, alive_at, charge));
        if (ringer_ != nullptr) {
          ringer_->after(tx, 0, world_.clock.wall_now());
          ringer_->concern_changed(tx);
        }
        const store::EpochRange beside = store::epochs_beside(raw(worker.epoch));
        TORC_ASSIGN(const bool anybody, claim::is_anybody_of(tx, beside.first, beside.last));
        nobody_beside = !anybody;
        return {};
      }));
  if (expired) {
    ++expired_;
    if (ringer_ != nullptr) ringer_->ring(done.sequence, store_.identity().instance);
    (void)store::remove_heartbeats(world_, store_.state_directory(), claim::heartbeat_place(worker),
                                   nobody_beside);
  }
  return expired;
}

void LeaseKeeper::answered() {
  slurm_.answered();
  next_tick_ = world_.clock.boot_now();
}

}  // namespace torc::worker
