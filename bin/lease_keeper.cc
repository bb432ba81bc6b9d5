#include "bin/lease_keeper.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

namespace torc::cli {
namespace {

// One squeue a minute for each worker that has a suspect, at most: slurmctld serves the whole site.
constexpr auto kSlurmInterval = std::chrono::seconds(60);

int open_pidfd(std::uint64_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0U));
}

}  // namespace

LeaseKeeper::LeaseKeeper(store::World world, store::Store& store, claim::WorkerEpoch self,
                         claim::WorkerInfo info, slurm::RunProgram run_program)
    : world_(std::move(world)),
      store_(store),
      self_(self),
      info_(std::move(info)),
      run_program_(std::move(run_program)),
      next_tick_(world_.clock.boot_now()),
      last_confirmed_(world_.clock.boot_now()) {}

LeaseKeeper::~LeaseKeeper() {
  for (const Neighbour& n : neighbours_) close(n.fd);
}

Result<void> LeaseKeeper::tick(BootTime last_commit, Beat beat) {
  const BootTime now = world_.clock.boot_now();
  const auto interval = claim::beat_interval(info_.lease_ttl, 1);
  // +-20 %: a thousand workers started together must not beat together.
  const double jitter = 0.8 + 0.4 * static_cast<double>(world_.entropy.next() >> 11) * 0x1p-53;
  next_tick_ = now + std::chrono::nanoseconds(
                         static_cast<std::int64_t>(static_cast<double>(interval.count()) * jitter));
  bool beaten = false;
  if (beat == Beat::yes && (last_commit + interval < now || beat_counter_ == 0)) {
    TORC_TRY(store::write_beat(world_, store_.state_directory(), raw(self_), ++beat_counter_));
    beaten = true;
  }
  TORC_ASSIGN(const std::vector<claim::Worker> living, look_around());
  // Whatever goes wrong with the others from here on, this worker's own lease stands.
  if (beaten) last_confirmed_ = now;
  watch_neighbours(living);
  return observe_successors(living);
}

// All living workers, read from the newest state; fenced when this worker is not among them.
Result<std::vector<claim::Worker>> LeaseKeeper::look_around() {
  std::vector<claim::Worker> living;
  bool alive = false;
  TORC_TRY(store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    living.clear();
    alive = false;
    claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
      alive = alive || worker.epoch == self_;
      living.push_back(worker);
      return true;
    });
    return {};
  }));
  if (!alive) {
    return Error{ErrorKind::fenced,
                 fmt::format("the lease of this worker ({}) was ended by another one", raw(self_)),
                 "its jobs were handed on; it must stop what it runs"};
  }
  std::set<std::string> hosts;
  for (const claim::Worker& worker : living) hosts.insert(worker.info.host);
  hosts_ = hosts.size();
  return living;
}

void LeaseKeeper::watch_neighbours(const std::vector<claim::Worker>& living) {
  std::erase_if(neighbours_, [&](const Neighbour& n) {
    const bool gone = std::none_of(living.begin(), living.end(),
                                   [&](const claim::Worker& w) { return w.epoch == n.epoch; });
    if (gone) close(n.fd);
    return gone;
  });
  for (const claim::Worker& worker : living) {
    const claim::WorkerInfo& info = worker.info;
    if (worker.epoch == self_ || info.host != info_.host || info.boot_id != info_.boot_id ||
        info.pid_namespace != info_.pid_namespace) {
      continue;
    }
    if (std::any_of(neighbours_.begin(), neighbours_.end(),
                    [&](const Neighbour& n) { return n.epoch == worker.epoch; })) {
      continue;
    }
    if (info.pid == info_.pid && info.pid_start == info_.pid_start) {
      // An earlier life of this very process: its jobs were killed when it lost its lease.
      (void)expire(worker, 0);
      continue;
    }
    const int fd = open_pidfd(info.pid);
    // The pid may be another process by now: only the start time proves who it is.
    if (!exec::exists({info.pid, info.pid_start})) {
      if (fd >= 0) close(fd);
      (void)expire(worker, 0);  // a failure is repeated at the next tick
      continue;
    }
    if (fd >= 0) neighbours_.push_back({worker.epoch, fd});
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
  close(it->fd);
  neighbours_.erase(it);
  std::optional<claim::Worker> worker;
  TORC_TRY(store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    worker = claim::read_worker(reader, epoch);
    return {};
  }));
  if (!worker || worker->status != claim::WorkerStatus::living) return {};
  TORC_TRY(expire(*worker, 0));
  return {};
}

// The next few living successors in the ring of epochs; beyond them more, the more of them are
// silent, so that one survivor finds all the dead of a large allocation within a few leases.
Result<void> LeaseKeeper::observe_successors(const std::vector<claim::Worker>& living) {
  const BootTime now = world_.clock.boot_now();
  const auto interval = claim::beat_interval(info_.lease_ttl, 1);
  std::size_t watched = kWatched;
  for (const auto& [epoch, seen] : observations_) watched += seen.silent >= interval ? 2 : 0;
  std::vector<claim::WorkerEpoch> ring;
  TORC_TRY(store_.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    ring = claim::successors(reader, self_, watched);
    return {};
  }));
  std::map<claim::WorkerEpoch, claim::Observation> kept;
  for (const claim::Worker& worker : living) {
    if (std::find(ring.begin(), ring.end(), worker.epoch) == ring.end()) continue;
    const auto beats = store::read_beat(world_, store_.state_directory(), raw(worker.epoch));
    if (!beats) continue;  // nothing is known of it this time
    const auto before = observations_.find(worker.epoch);
    const std::uint64_t counter =
        *beats ? **beats : (before == observations_.end() ? 0 : before->second.beats);
    const claim::Observation seen =
        before == observations_.end()
            ? claim::first_look(worker.renewals, counter, now)
            : claim::observe(before->second, worker.renewals, counter, now, 3 * interval);
    const bool silent = seen.silent >= 2 * interval;
    if (claim::is_expired(seen, worker.info.lease_ttl) ||
        (silent && allocation_ended(worker.info.allocation))) {
      TORC_ASSIGN(const bool expired, expire(worker, counter));
      if (expired) continue;
    }
    kept.emplace(worker.epoch, seen);
  }
  observations_ = std::move(kept);
  return {};
}

// Ends the lease of `worker` unless it renewed since it was read. `beats` is compared once more
// when not 0.
Result<bool> LeaseKeeper::expire(const claim::Worker& worker, std::uint64_t beats) {
  bool expired = false;
  TORC_TRY(store_.commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    expired = false;
    if (beats != 0) {
      TORC_ASSIGN(const auto newest,
                  store::read_beat(world_, store_.state_directory(), raw(worker.epoch)));
      if (newest && *newest != beats) return {};
    }
    TORC_ASSIGN(expired, claim::expire_worker(tx, worker.epoch, worker.renewals,
                                              world_.clock.wall_now(), kCrashLimit));
    return {};
  }));
  if (expired) (void)store::remove_beat(world_, store_.state_directory(), raw(worker.epoch));
  return expired;
}

bool LeaseKeeper::allocation_ended(const std::string& allocation) {
  if (allocation.empty() || !run_program_) return false;
  const BootTime now = world_.clock.boot_now();
  if (now < next_slurm_query_) return false;
  next_slurm_query_ = now + std::min<std::chrono::nanoseconds>(kSlurmInterval, info_.lease_ttl);
  const auto states = slurm::allocation_states(run_program_, {allocation});
  const auto it = states.find(allocation);
  return it != states.end() && it->second == slurm::AllocationState::ended;
}

}  // namespace torc::cli
