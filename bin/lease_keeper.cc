#include "bin/lease_keeper.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "bin/job_command.h"
#include "lib/exec/kill_tree.h"

namespace torc::cli {
namespace {

// One squeue a minute for each worker that has a suspect, at most: slurmctld serves the whole site.
constexpr auto kSlurmInterval = std::chrono::seconds(60);

Path beat_file(const store::Store& store, std::uint64_t epoch) {
  const store::EpochRange beside = store::epochs_beside(epoch);
  return store.state_directory() / "beats" /
         std::to_string(beside.first / (beside.last - beside.first + 1));
}

// 0: not known.
WallTime written_at(const Path& file) {
  struct stat s {};
  if (stat(file.c_str(), &s) != 0) return {};
  return std::chrono::seconds(s.st_mtim.tv_sec) +
         std::chrono::duration_cast<WallTime>(std::chrono::nanoseconds(s.st_mtim.tv_nsec));
}

int open_pidfd(std::uint64_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0U));
}

}  // namespace

LeaseKeeper::LeaseKeeper(store::World world, store::Store& store, claim::WorkerEpoch self,
                         claim::WorkerInfo info, BootTime registered, slurm::RunProgram run_program)
    : world_(std::move(world)),
      store_(store),
      self_(self),
      info_(std::move(info)),
      inquiry_(std::move(run_program)),
      next_tick_(world_.clock.boot_now()),
      fenced_at_(registered + claim::fencing_limit(info_.lease_ttl)),
      said_(info_.lease_ttl) {}

LeaseKeeper::~LeaseKeeper() {
  for (const Neighbour& n : neighbours_) close(n.fd);
}

std::chrono::nanoseconds LeaseKeeper::interval() const {
  return claim::beat_of(said_, info_.lease_ttl, info_.lease_beat);
}

std::chrono::seconds LeaseKeeper::ttl(BootTime now) const {
  return claim::promised_ttl(claim::lease_ttl(info_.lease_ttl, living_, info_.lease_beat),
                             fenced_at_, now);
}

void LeaseKeeper::renewed(BootTime at, std::uint64_t living) {
  said_ = ttl(at);
  fenced_at_ = std::max(fenced_at_, at + claim::fencing_limit(said_));
  living_ = living;
}

Result<void> LeaseKeeper::tick(BootTime last_commit, Beat beat_now) {
  const BootTime now = world_.clock.boot_now();
  // +-20 %: a thousand workers started together must not beat together.
  const double jitter = 0.8 + 0.4 * static_cast<double>(world_.entropy.next() >> 11) * 0x1p-53;
  const auto tick_in = [&] {
    return std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(interval().count()) * jitter));
  };
  next_tick_ = now + tick_in();
  beaten_before_ = written_at(beat_file(store_, raw(self_)));
  bool beaten = false;
  if (beat_now == Beat::yes) {
    TORC_ASSIGN(beaten, beat(last_commit, now));
  }
  const BootTime asked = world_.clock.boot_now();
  TORC_ASSIGN(const Surroundings around, look_around());
  // Whatever goes wrong with the others from here on, this worker's own lease stands.
  if (beaten) renewed(now, around.crowd.workers);
  living_ = around.crowd.workers;
  watch_neighbours(around.neighbours);
  return observe(around.successors, asked);
}

// Not when a commit said the same lately.
Result<bool> LeaseKeeper::beat(BootTime last_commit, BootTime now) {
  const std::chrono::seconds asked = ttl(now);
  if (last_commit + interval() >= now) return false;
  TORC_TRY(
      store::write_beat(world_, store_.state_directory(), raw(self_), {++beat_counter_, asked}));
  return true;
}

// Read from the newest state; fenced when this worker is not among the living.
Result<LeaseKeeper::Surroundings> LeaseKeeper::look_around() {
  Surroundings around;
  bool alive = false;
  const std::size_t watched = watch_.wanted(interval());
  TORC_TRY(store_.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    around = {};
    TORC_ASSIGN(around.crowd, claim::read_crowd(reader));
    const auto self = claim::read_worker(reader, self_);
    alive = self && self->status == claim::WorkerStatus::living;
    const auto add = [&](std::vector<claim::Worker>& to, claim::WorkerEpoch epoch) {
      if (auto worker = claim::read_worker(reader, epoch)) to.push_back(*std::move(worker));
    };
    for (const auto epoch : claim::workers_on(reader, info_.host)) add(around.neighbours, epoch);
    for (const auto epoch : claim::successors(reader, self_, watched)) {
      add(around.successors, epoch);
    }
    return {};
  }));
  if (!alive) {
    return Error{ErrorKind::fenced,
                 fmt::format("the lease of this worker ({}) was ended by another one", raw(self_)),
                 "its jobs were handed on; it must stop what it runs"};
  }
  return around;
}

void LeaseKeeper::watch_neighbours(const std::vector<claim::Worker>& neighbours) {
  std::erase_if(neighbours_, [&](const Neighbour& n) {
    const bool gone = std::none_of(neighbours.begin(), neighbours.end(),
                                   [&](const claim::Worker& w) { return w.epoch == n.epoch; });
    if (gone) close(n.fd);
    return gone;
  });
  const WallTime now = world_.clock.wall_now();
  for (const claim::Worker& worker : neighbours) {
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
      (void)expire(worker, 0, claim::EndCause::lease_lost, last_sign(worker, now));
      continue;
    }
    const int fd = open_pidfd(info.pid);
    // The pid may be another process by now: only the start time proves who it is.
    if (!exec::exists({info.pid, info.pid_start})) {
      if (fd >= 0) close(fd);
      // A failure is repeated at the next tick.
      (void)expire_dead(worker, last_sign(worker, now));
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
  // Its process was there until just now.
  return expire_dead(*worker, world_.clock.wall_now());
}

// Its process on this node has gone. Its watchdog ends what it leaves, unless both were killed:
// what they left then must not run beside the next attempt. What cannot be ended here keeps its
// jobs until the lease has run out.
Result<void> LeaseKeeper::expire_dead(const claim::Worker& worker, WallTime alive_at) {
  if (exec::kill_marked(worker_marks(store_.identity().id_hex(), worker.epoch)) > 0) return {};
  TORC_TRY(expire(worker, 0, claim::EndCause::worker_lost, alive_at));
  return {};
}

Result<void> LeaseKeeper::observe(const std::vector<claim::Worker>& successors, BootTime asked) {
  std::vector<claim::WorkerEpoch> kept;
  for (const claim::Worker& worker : successors) kept.push_back(worker.epoch);
  watch_.keep_only(kept);
  std::vector<std::string> suspects;
  for (const claim::Worker& worker : successors) {
    const auto beat = store::read_beat(world_, store_.state_directory(), raw(worker.epoch));
    if (!beat) continue;  // nothing is known of it this time
    const claim::Watch::Look look{
        worker.epoch, worker.renewals, *beat ? std::optional((*beat)->counter) : std::nullopt,
        std::max(worker.ttl, *beat ? (*beat)->ttl : std::chrono::seconds(0))};
    const auto verdict = watch_.look(look, asked, interval());
    const bool silent = verdict == claim::Watch::Verdict::silent;
    const auto state = allocations_.find(worker.info.allocation);
    const bool ended =
        state != allocations_.end() && state->second == slurm::AllocationState::ended;
    if (verdict == claim::Watch::Verdict::expired || (silent && ended)) {
      const WallTime heard = world_.clock.wall_now() -
                             std::chrono::duration_cast<WallTime>(watch_.silence_of(worker.epoch));
      TORC_TRY(expire(worker, watch_.beats_of(worker.epoch),
                      ended ? claim::EndCause::allocation_ended : claim::EndCause::lease_lost,
                      last_sign(worker, heard)));
    } else if (silent && !worker.info.allocation.empty()) {
      suspects.push_back(worker.info.allocation);
    }
  }
  allocations_.clear();
  ask_slurm(std::move(suspects));
  return {};
}

// Its newest commit, or its newest beat, of which nothing is known but when somebody wrote last
// into the file that it shares: before this worker's own beat of this tick. A time stamp decides
// nothing here but what is counted as used.
WallTime LeaseKeeper::last_sign(const claim::Worker& worker, WallTime at_most) const {
  const Path file = beat_file(store_, raw(worker.epoch));
  const WallTime beat = file == beat_file(store_, raw(self_)) ? beaten_before_ : written_at(file);
  return std::max(worker.last_seen, std::min(beat, at_most));
}

// Ends the lease of `worker` unless it renewed since it was read. `beats` is compared once more
// when not 0.
Result<bool> LeaseKeeper::expire(const claim::Worker& worker, std::uint64_t beats,
                                 claim::EndCause why, WallTime alive_at) {
  bool expired = false;
  bool last = false;  // nobody else beats in its file
  TORC_TRY(store_.commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    expired = false;
    if (beats != 0) {
      TORC_ASSIGN(const auto newest,
                  store::read_beat(world_, store_.state_directory(), raw(worker.epoch)));
      if (newest && newest->counter != beats) return {};
    }
    TORC_ASSIGN(expired, claim::expire_worker(tx, worker.epoch, worker.renewals,
                                              world_.clock.wall_now(), kCrashLimit, why, alive_at));
    const store::EpochRange beside = store::epochs_beside(raw(worker.epoch));
    last = !claim::is_anybody_of(tx, beside.first, beside.last);
    return {};
  }));
  if (expired && last)
    (void)store::remove_beats(world_, store_.state_directory(), raw(worker.epoch));
  return expired;
}

void LeaseKeeper::ask_slurm(std::vector<std::string> suspects) {
  const BootTime now = world_.clock.boot_now();
  if (suspects.empty() || !inquiry_.possible() || now < next_slurm_query_) return;
  next_slurm_query_ = now + std::min<std::chrono::nanoseconds>(kSlurmInterval, info_.lease_ttl);
  inquiry_.ask(std::move(suspects));
}

void LeaseKeeper::answered() {
  allocations_ = inquiry_.take();
  if (!allocations_.empty()) next_tick_ = world_.clock.boot_now();
}

}  // namespace torc::cli
