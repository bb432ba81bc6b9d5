#include "lib/worker/loop/last_worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/number.h"
#include "lib/claim/queries/workers.h"
#include "lib/slurm/own_allocation.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/store/engine/store.h"
#include "lib/store/mount/mount_facts.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::worker {

using std::chrono::nanoseconds;

LastWorker::Verdict LastWorker::look(const std::vector<Other>& others, std::uint64_t to_come,
                                     BootTime now) {
  using claim::WorkerStatus;
  const auto lives = [](const Other& o) { return o.status == WorkerStatus::registered; };
  const nanoseconds gap = now - std::exchange(looked_at_, now);
  if (!seen_) {
    seen_.emplace();
    for (const Other& other : others) {
      if (lives(other)) seen_->emplace(other.epoch, Seen{other, {}});
    }
    if (seen_->size() > kFew) return Verdict::another;
    return seen_->empty() && to_come == 0 ? Verdict::last : Verdict::unclear;
  }
  bool silent = to_come == 0;
  for (const Other& other : others) {
    const auto known = seen_->find(other.epoch);
    if (known == seen_->end()) {
      if (lives(other)) return Verdict::another;
      continue;
    }
    Other& first = known->second.first;
    if (other.status == WorkerStatus::released || other.renewals != first.renewals)
      return Verdict::another;
    if (!lives(other)) continue;
    // The first that is read says nothing of when it was written.
    if (first.heartbeats && other.heartbeats && *first.heartbeats != *other.heartbeats)
      return Verdict::another;
    if (!first.heartbeats) first.heartbeats = other.heartbeats;
    nanoseconds& for_so_long = known->second.silent;
    for_so_long = gap > kHealthyGap || !other.is_seen ? nanoseconds(0) : for_so_long + gap;
    silent = silent && for_so_long >= std::max(first.ttl, other.ttl);
  }
  return silent ? Verdict::last : Verdict::unclear;
}

std::uint64_t still_to_come(std::uint64_t started, std::uint64_t came, WallTime since,
                            WallTime now) {
  return now >= since + kToCome ? 0 : started - std::min(started, came);
}

namespace {

using namespace std::chrono_literals;

constexpr WallTime kSkew = 2s;  // between the clocks of an allocation's nodes
constexpr nanoseconds kFirstLook = 500ms;
constexpr nanoseconds kLastLook = 5s;
constexpr nanoseconds kAskSlurmAfter = 2s;  // of silence
// For the batch script to answer; more than `torc supervise` waits for srun.
constexpr nanoseconds kForAnswer = 8s;
constexpr nanoseconds kForQuestions = 1min;  // that fail, one after the other
constexpr nanoseconds kFresh = 10s;          // what was seen

// Until a signal that asks this process to leave, or SIGUSR2, which is blocked: true.
bool is_told_within(nanoseconds time) {
  sigset_t set = worker_signals();
  sigdelset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  const timespec limit{static_cast<time_t>(time / 1s), static_cast<long>((time % 1s).count())};
  return sigtimedwait(&set, nullptr, &limit) > 0;
}

// It was ignored; blocked it waits for the call above.
void listen_to_batch_script() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
  // Another thread does not block it, and is not to die of it.
  signal(SIGUSR2, [](int) {});
}

// With a store and a Slurm that do not answer: a restart of slurmctld is no reason to leave an
// allocation of which nobody else will take care.
class Patience {
 public:
  Patience(Clock& clock, std::string allocation, std::function<void(const std::string&)> notice)
      : clock_(clock), allocation_(std::move(allocation)), notice_(std::move(notice)) {}
  // After a pause, to ask again. False: it was in vain, or this worker is told to leave.
  bool allows_again(const std::string& failure) {
    const BootTime now = clock_.boot_now();
    const bool first = !since_;
    if (first) {
      since_ = now;
      pause_ = kFirstLook;
    }
    if (now - *since_ > kForQuestions) {
      notice_(fmt::format("allocation {} is left as it is: {}", allocation_, failure));
      return false;
    }
    // An scancel that ended this step has ended with it: that is no failure.
    if (is_told_within(std::exchange(pause_, std::min(2 * pause_, kLastLook)))) return false;
    if (first) {
      notice_(fmt::format("this may be the last worker of allocation {}, and {}: asking again",
                          allocation_, failure));
    }
    return true;
  }
  void answered() { since_.reset(); }

 private:
  Clock& clock_;
  std::string allocation_;
  std::function<void(const std::string&)> notice_;
  std::optional<BootTime> since_;
  nanoseconds pause_{};
};

class Allocation {
 public:
  Allocation(const workflow::Context& context, store::Store& store, claim::WorkerEpoch self,
             WallTime since)
      : context_(context),
        store_(store),
        self_(self),
        since_(since - kSkew),
        started_(whole_number<std::uint64_t>(context.env("SLURM_NTASKS").value_or("")).value_or(1)),
        facts_(store::facts_of(context.world.disk, store.directory())) {}

  // Other workers of it that are registered, and what became of those of earlier looks.
  Result<std::vector<LastWorker::Other>> others() {
    std::vector<claim::Worker> found;
    const auto look = [&](const claim::Reader& reader) { return find(reader, found); };
    TORC_TRY(store_.view(store::Freshness::latest, look));
    std::vector<LastWorker::Other> others;
    hosts_.clear();
    known_.clear();
    for (const claim::Worker& worker : found) {
      known_.push_back(worker.epoch);
      LastWorker::Other other{worker.epoch, worker.status, worker.renewals, {}, worker.ttl, true};
      if (worker.status == claim::WorkerStatus::registered) {
        hosts_.push_back(worker.info.host);
        read_heartbeat(worker, other);
      }
      others.push_back(other);
    }
    return others;
  }
  [[nodiscard]] std::uint64_t to_come() const {
    return still_to_come(started_, came_, since_, context_.clock.wall_now());
  }
  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }

 private:
  Result<void> find(const claim::Reader& reader, std::vector<claim::Worker>& found) {
    found.clear();
    TORC_ASSIGN(const auto own, claim::find_worker(reader, self_));
    if (!own) return {};
    host_ = own->info.host;
    std::set<std::string> came;
    TORC_TRY(claim::scan_workers(reader, false, [&](const claim::Worker& worker) {
      if (!claim::are_of_one_allocation(worker.info, own->info)) return true;
      if (worker.info.registered_at >= since_) came.insert(worker.info.host);
      const bool lives = worker.status == claim::WorkerStatus::registered;
      if (lives && worker.epoch != self_) found.push_back(worker);
      return found.size() <= LastWorker::kFew;
    }));
    came_ = came.size();
    for (const auto epoch : known_) {
      if (std::ranges::find(found, epoch, &claim::Worker::epoch) != found.end()) continue;
      TORC_ASSIGN(auto gone, claim::find_worker(reader, epoch));
      if (gone) found.push_back(*std::move(gone));
    }
    return {};
  }
  void read_heartbeat(const claim::Worker& worker, LastWorker::Other& other) {
    const auto heartbeat =
        store::read_heartbeat(context_.world, store_.state_directory(),
                              claim::heartbeat_place(worker), store::heartbeat_caches(facts_.kind));
    other.is_seen = heartbeat.ok();
    if (heartbeat && *heartbeat) {
      other.heartbeats = (*heartbeat)->counter;
      other.ttl = std::max<nanoseconds>(other.ttl, (*heartbeat)->ttl);
    }
    other.ttl += facts_.heartbeat_age;
  }

  const workflow::Context& context_;
  store::Store& store_;
  claim::WorkerEpoch self_;
  WallTime since_;
  std::uint64_t started_;   // tasks of the step, one a node
  std::uint64_t came_ = 0;  // hosts of which one has registered since
  store::MountFacts facts_;
  std::vector<claim::WorkerEpoch> known_;
  std::vector<std::string> hosts_;  // of those that are registered
  std::string host_;
};

// False: another one sees to the end, or nothing can be known.
bool is_last(const workflow::Context& context, const Path& directory, claim::WorkerEpoch self,
             WallTime started, const std::string& id, const slurm::RunProgram& run,
             Patience patience) {
  const auto unread = [](const Error& error) {
    return "the store cannot be read: " + error.text();
  };
  auto store = store::Store::open(context.world, directory, workflow::worker_tuning());
  while (!store) {
    if (!patience.allows_again(unread(store.error()))) return false;
    store = store::Store::open(context.world, directory, workflow::worker_tuning());
  }
  Allocation allocation(context, **store, self, started);
  LastWorker last;
  const BootTime begin = context.clock.boot_now();
  BootTime ask_at = begin + kAskSlurmAfter;
  for (nanoseconds pause = kFirstLook;; pause = std::min(2 * pause, kLastLook)) {
    const BootTime now = context.clock.boot_now();
    const auto others = allocation.others();
    if (!others) {
      if (!patience.allows_again(unread(others.error()))) return false;
      continue;
    }
    patience.answered();
    const auto verdict = last.look(*others, allocation.to_come(), now);
    if (verdict != LastWorker::Verdict::unclear) return verdict == LastWorker::Verdict::last;
    if (now >= ask_at && allocation.to_come() == 0) {
      if (slurm::has_lost(run, id, allocation.host(), allocation.hosts())) return true;
      ask_at = now + kLastLook;
    }
    if (is_told_within(pause)) return false;
  }
}

}  // namespace

void see_to_end_of_allocation(const workflow::Context& context, const Path& store,
                              claim::WorkerEpoch self, WallTime started,
                              const slurm::RunProgram& run,
                              const std::function<void(const std::string&)>& notice) {
  const auto id = slurm::own_allocation(context.env);
  if (!id) return;
  listen_to_batch_script();
  const Patience fresh(context.clock, *id, notice);
  // Nobody else lives in it, and it is told; after each pause all of that is looked at again, since
  // somebody may have come.
  const auto tell_as_last = [&](const std::function<bool(const std::string& name)>& tell) {
    for (Patience patience = fresh;;) {
      if (!is_last(context, store, self, started, *id, run, fresh)) return false;
      const BootTime looked = context.clock.boot_now();
      const auto steps = slurm::steps_of(run, *id);
      if (steps && !slurm::are_of_workers(*steps)) return false;
      if (context.clock.boot_now() - looked > kFresh) continue;  // this process stood still
      const auto name = slurm::allocation_of(steps.value_or(std::vector<slurm::Step>()));
      if (name && tell(*name)) return true;
      const auto failure = name ? "scancel has failed" : "Slurm does not say what runs in it";
      if (!patience.allows_again(failure)) return false;
    }
  };
  if (!tell_as_last(
          [&](const std::string& name) { return slurm::signal_batch_script(run, name, "URG"); }))
    return;
  // Where the batch script is there it answers, and all end as they do without this.
  if (is_told_within(kForAnswer)) return;
  bool told = false;
  (void)tell_as_last([&](const std::string& name) {
    if (!std::exchange(told, true))
      notice(fmt::format(
          "the last worker of allocation {}, whose batch script does not answer: ending it", *id));
    return slurm::cancel(run, name);
  });
}

}  // namespace torc::worker
