// In one file, longer than others: a history is one life, whose parts share what they have.
#include "tests/property/nfs_simulation.h"

#include <algorithm>
#include <cerrno>

#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/request.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/claim/transactions/plan_writing.h"

namespace torc::store::testing {
namespace {

using namespace std::chrono_literals;

const Path kStore = "/shared/wf.torc";
constexpr int kTicks = 900;
constexpr int kTicksToEnd = 400'000;  // a bound, far beyond what is needed
constexpr std::chrono::nanoseconds kRetention = 20s;

claim::Plan plan() {
  claim::Plan p;
  p.name = "simulated";
  p.classes = {claim::JobClass{}};
  claim::Template first;
  first.first = JobId{1};
  first.count = 12;
  claim::Template second;
  second.first = JobId{13};
  second.count = 12;
  p.templates = {first, second};
  p.dependencies = {{{{JobId{1}, 6}}, {{JobId{13}, 12}}}};
  return p;
}

Tuning hasty() {
  Tuning t = quick();
  t.sync = true;
  t.checkpoint_commits = 8;
  t.retention = kRetention;
  t.replica_wait = 1us;  // real time: who is in the gate is a fiber that stands still
  t.lock_wait = 5ms;
  return t;
}

NfsOptions options_of(Flavour flavour) {
  NfsOptions o;
  if (flavour == Flavour::write_back) {
    o.magic = 0x0bd00bd0;
    o.close_sends = false;
  }
  if (flavour == Flavour::rename_only) {
    o.magic = 0x65735546;
    o.hard_links = false;
  }
  return o;
}

// Everything goes well.
class CalmNetwork final : public Network {
 public:
  RequestFate fate(const Request&) override { return RequestFate::carried; }
  void answered() override {}
  int error() override { return EIO; }
  void later(std::function<void()>) override {}
  [[nodiscard]] bool alive() override { return true; }
  [[nodiscard]] int process() override { return 0; }
  bool coin() override { return true; }
};

void watch(NfsServer& server, History& history) {
  server.named = [&](FileServer::Inode directory, const std::string& name,
                     FileServer::Inode inode) {
    const auto inside = server.files.lookup(inode, "c");  // primitive rename-dir
    history.named(server.files, directory, name, server.content(inside.ok() ? *inside : inode));
  };
  server.unnamed = [&](FileServer::Inode directory, const std::string& name) {
    history.unnamed(server.files, directory, name);
  };
}

Result<void> write_trail(Transaction& tx, const std::string& tag, const std::string& key,
                         const std::string& victim) {
  const auto before = tx.get(key);
  const std::string next = longer_trail(before ? *before : std::string_view(), tag);
  tx.put(key, next);
  tx.put(kTagKey, tag);
  if (!victim.empty()) tx.erase(victim);
  return {};
}

Beginning make_beginning(Flavour flavour, int commits) {
  const ScratchDirectory scratch;
  ManualClock clock;
  CalmNetwork network;
  const NfsOptions options = options_of(flavour);
  NfsServer server(FileServer(NamesLast::at_once), clock);
  NfsDisk disk(server, clock, network, options);
  Node maker(scratch.path(), "maker", 4711, &disk);
  (void)disk.make_directory("/shared");
  auto made = Store::create(maker.world(), kStore, Engine::journal, hasty(), nothing);
  if (!made.ok()) std::abort();
  History history((*made)->identity().id, (*made)->state_directory());
  watch(server, history);
  for (int i = 0; i < commits; ++i) {
    const auto done = (*made)->commit(1, [&](Transaction& tx) -> Result<void> {
      if (i == 0) TORC_TRY(claim::write_plan(tx, plan()));
      return write_trail(tx, "before" + std::to_string(i), std::string(kTrailPrefix) + "0", {});
    });
    if (!done.ok() || !(*made)->maintain().ok()) std::abort();
    maker.clock.advance(1s);
  }
  made->reset();
  return {server.files, history, options};
}

std::uint64_t state_hash(const Reader& reader) {
  std::uint64_t hash = 0;
  reader.scan("\1", [&](const Entry& e) {
    hash += History::entry_hash(e.key, e.value);
    return true;
  });
  return hash;
}

}  // namespace

const Beginning& beginning(Flavour flavour, int commits) {
  static std::map<std::pair<Flavour, int>, Beginning> made;
  const auto key = std::pair(flavour, commits);
  const auto found = made.find(key);
  if (found != made.end()) return found->second;
  return made.emplace(key, make_beginning(flavour, commits)).first->second;
}

Choices choices_of(std::uint64_t seed) {
  SeededEntropy random(seed ^ 0x5eed);
  const auto pick = [&](std::uint64_t n) { return random.next() % n; };
  Choices c;
  c.flavour =
      std::array{Flavour::nfs, Flavour::nfs, Flavour::write_back, Flavour::rename_only}[pick(4)];
  c.locks = std::array{NfsLocks::real, NfsLocks::always_fail, NfsLocks::always_succeed,
                       NfsLocks::never_released}[pick(4)];
  c.commits_before = std::array{1, 40, 58, 122, 180}[pick(5)];
  c.hosts = 2 + static_cast<int>(pick(3));
  c.processes = 1 + static_cast<int>(pick(2));
  c.faults = std::array<std::uint64_t, 4>{0, 5, 20, 60}[pick(4)];
  c.troubles = std::array<std::uint64_t, 4>{0, 5, 15, 40}[pick(4)];
  // Less than the retention, as the store assumes of a listing.
  if (pick(4) == 0) c.listing_lag = std::chrono::milliseconds(pick(8000));
  c.retries_stale = pick(4) != 0;
  return c;
}

std::string Choices::text() const {
  constexpr const char* kFlavours[] = {"nfs", "write-back", "rename-only"};
  constexpr const char* kLocks[] = {"real", "always fail", "always succeed", "never released"};
  return std::string(kFlavours[static_cast<int>(flavour)]) + ", locks " +
         kLocks[static_cast<int>(locks)] + ", " + std::to_string(hosts) + " hosts with " +
         std::to_string(processes) + " processes, after " + std::to_string(commits_before) +
         " commits, faults " + std::to_string(faults) + ", troubles " + std::to_string(troubles) +
         ", listings lag " + std::to_string(listing_lag / 1ms) + " ms" +
         (retries_stale ? "" : ", stale handles shown");
}

class Simulation::HostClock final : public Clock {
 public:
  explicit HostClock(Simulation& simulation) : simulation_(simulation) {}
  [[nodiscard]] BootTime boot_now() const override { return simulation_.time_.boot_now() - stood; }
  [[nodiscard]] WallTime wall_now() const override { return simulation_.time_.wall_now(); }
  void sleep_for(std::chrono::nanoseconds duration) override { simulation_.pause(duration); }
  std::chrono::nanoseconds stood{0};

 private:
  Simulation& simulation_;
};

struct Simulation::Host {
  Host(Simulation& simulation, int number, const NfsOptions& options)
      : name("h" + std::to_string(number)),
        clock(simulation),
        disk(simulation.server_, clock, simulation, options),
        entropy(simulation.random_.next()),
        replicas(simulation.scratch_.path() / name) {
    std::filesystem::create_directory(replicas);
  }
  std::string name;
  HostClock clock;
  NfsDisk disk;
  SeededEntropy entropy;
  Path replicas;
  int boots = 0;
  BootTime paused_until{0};
};

struct Simulation::Process {
  Host* host = nullptr;
  int number = 0;
  bool alive = true;
  BootTime wakes{0};  // true time
  std::unique_ptr<Fiber> fiber;
  std::unique_ptr<Store> store;
  // As a worker.
  std::optional<claim::WorkerEpoch> epoch;
  std::vector<claim::ClaimToken> held;
};

Simulation::Simulation(std::uint64_t seed)
    : choices_(choices_of(seed)),
      random_(seed),
      beginning_(beginning(choices_.flavour, choices_.commits_before)),
      server_(beginning_.files, time_),
      history_(beginning_.history),
      tuning_(hasty()) {
  watch(server_, history_);
  NfsOptions options = beginning_.options;
  options.locks = choices_.locks;
  options.listing_lag = choices_.listing_lag;
  options.retries_stale = choices_.retries_stale;
  for (int i = 0; i < choices_.hosts; ++i) {
    hosts_.push_back(std::make_unique<Host>(*this, i, options));
    for (int p = 0; p < choices_.processes; ++p) start_process(*hosts_.back());
  }
}

Simulation::~Simulation() = default;

World Simulation::world_of(Host& host) {
  return {host.disk,
          host.clock,
          host.entropy,
          host.name,
          "boot" + std::to_string(host.boots) + host.name,
          "pid:[1]",
          static_cast<std::uint32_t>(::geteuid()),
          {host.replicas}};
}

// --- the network ---

RequestFate Simulation::fate(const Request& request) {
  switch_out();
  if (!alive()) return RequestFate::gone;
  if (calm_ || pick(1000) >= choices_.faults) return RequestFate::carried;
  if (!request.changes) return RequestFate::lost;
  constexpr RequestFate kFates[] = {RequestFate::lost, RequestFate::reply_lost,
                                    RequestFate::repeated, RequestFate::late};
  const RequestFate fate = kFates[pick(4)];
  // An exclusive creation is known again by its verifier, a write by its offset.
  const std::string_view name = request.name;
  const bool harmless = name == "CREATE" || name == "WRITE";
  return fate == RequestFate::repeated && harmless ? RequestFate::carried : fate;
}

void Simulation::answered() {
  if (current_ != nullptr && one_in(3)) switch_out();
}

int Simulation::error() {
  return one_in(2) ? EIO : ETIMEDOUT;
}

void Simulation::later(std::function<void()> act) {
  late_.emplace(time_.boot_now() + std::chrono::milliseconds(pick(one_in(4) ? 300'000 : 500)),
                std::move(act));
}

bool Simulation::alive() {
  return current_ == nullptr || current_->alive;
}

int Simulation::process() {
  return current_ == nullptr ? 0 : current_->number;
}

// --- the course of events ---

void Simulation::switch_out() {
  if (current_ != nullptr) current_->fiber->yield();
}

void Simulation::pause(std::chrono::nanoseconds duration) {
  if (current_ == nullptr) return time_.advance(duration);
  current_->wakes = time_.boot_now() + duration;
  switch_out();
}

void Simulation::start_process(Host& host) {
  auto made = std::make_unique<Process>();
  Process& self = *made;
  self.host = &host;
  self.number = ++processes_made_;
  self.fiber = std::make_unique<Fiber>([this, &self] { live(self); });
  processes_.push_back(std::move(made));
}

void Simulation::carry_out_late_requests(bool all) {
  while (!late_.empty() && (all || late_.begin()->first <= time_.boot_now())) {
    const auto act = std::move(late_.begin()->second);
    late_.erase(late_.begin());
    act();
  }
}

Simulation::Process* Simulation::next_process() {
  std::vector<Process*> ready;
  const BootTime now = time_.boot_now();
  BootTime next = BootTime::max();
  for (const auto& p : processes_) {
    const BootTime at = p->alive ? std::max(p->wakes, p->host->paused_until) : BootTime{0};
    if (at <= now) ready.push_back(p.get());
    next = std::min(next, at);
  }
  if (!ready.empty()) return ready[pick(ready.size())];
  if (next != BootTime::max()) time_.advance(next - now);
  return nullptr;
}

void Simulation::kill(Process& process) {
  process.alive = false;
  process.host->disk.process_ended(process.number);
}

// Who is dead runs to its end: nothing that it does arrives anywhere.
void Simulation::bury_the_dead() {
  for (std::size_t i = 0; i < processes_.size();) {
    Process& p = *processes_[i];
    while (!p.alive && !p.fiber->done()) {
      current_ = &p;
      p.fiber->resume();
      current_ = nullptr;
    }
    if (p.fiber->done()) {
      processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

void Simulation::trouble() {
  Host& host = *hosts_[pick(hosts_.size())];
  Process* victim = processes_.empty() ? nullptr : processes_[pick(processes_.size())].get();
  const auto long_time = std::chrono::milliseconds(pick(one_in(2) ? 600'000 : 20'000));
  switch (pick(6)) {
    case 0:
    case 1:  // SIGSTOP
      if (victim != nullptr) victim->wakes = time_.boot_now() + long_time;
      break;
    case 2:  // the virtual machine is paused, and knows nothing of it
      host.paused_until = time_.boot_now() + long_time;
      host.clock.stood += long_time;
      break;
    case 3:
    case 4:
      if (victim != nullptr) kill(*victim);
      break;
    default:  // power cut
      for (const auto& p : processes_) {
        if (p->host == &host) p->alive = false;
      }
      host.disk.power_off();
      ++host.boots;
      break;
  }
  bury_the_dead();
  for (const auto& h : hosts_) {
    const auto here = std::count_if(processes_.begin(), processes_.end(),
                                    [&](const auto& p) { return p->host == h.get(); });
    if (here < choices_.processes) start_process(*h);
  }
}

void Simulation::tick() {
  time_.advance(std::chrono::microseconds(10 + pick(3000)));
  carry_out_late_requests(false);
  if (!calm_ && pick(1000) < choices_.troubles) trouble();
  Process* next = next_process();
  if (next == nullptr) return;
  current_ = next;
  next->fiber->resume();
  current_ = nullptr;
  if (next->fiber->done()) bury_the_dead();
}

void Simulation::come_to_an_end() {
  calm_ = true;
  stopping_ = true;
  for (int i = 0; i < kTicksToEnd && !processes_.empty() && history_.violation().empty(); ++i)
    tick();
  if (!processes_.empty()) {
    history_.violate("a process does not come to an end");
    for (const auto& p : processes_) p->alive = false;
    bury_the_dead();
  }
  carry_out_late_requests(true);
  time_.advance(choices_.listing_lag + 60s);
}

std::string Simulation::run() {
  for (int i = 0; i < kTicks && history_.violation().empty(); ++i) tick();
  come_to_an_end();
  if (history_.violation().empty()) check_everything();
  return history_.violation();
}

// --- what a process does ---

void Simulation::live(Process& self) {
  while (self.alive && !stopping_ && history_.violation().empty()) {
    if (!self.store) {
      auto opened = Store::open(world_of(*self.host), kStore, tuning_);
      if (opened.ok()) {
        self.store = std::move(*opened);
      } else {
        judge_error("open", opened.error());
        pause(100ms);
        continue;
      }
    }
    act(self);
  }
  self.store.reset();
}

void Simulation::act(Process& self) {
  switch (pick(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return commit(self);
    case 5:
    case 6:
    case 7:
    case 8:
      return work(self);
    case 9:
      return look(self, Freshness::latest);
    case 10:
      return look(self, Freshness::cached);
    case 11:
      pause(std::chrono::milliseconds(pick(one_in(4) ? 15'000 : 200)));
      return;
    case 12:
      if (one_in(3)) self.store.reset();
      return;
    default: {
      const auto done = self.store->maintain();
      if (!done.ok()) judge_error("care", done.error());
    }
  }
}

Store::Body Simulation::trail(const std::string& tag) {
  const std::string key = std::string(kTrailPrefix) + std::to_string(pick(5));
  const std::string victim =
      one_in(4) ? std::string(kTrailPrefix) + std::to_string(5 + pick(2)) : std::string();
  return [=](Transaction& tx) { return write_trail(tx, tag, key, victim); };
}

// Anything may fail under faults, but nothing may be called damaged.
void Simulation::judge_error(const char* what, const Error& error) {
  if (alive() && error.kind == ErrorKind::corrupt)
    history_.violate(std::string(what) + ": " + error.text());
}

void Simulation::judge(const std::string& tag, const Result<Commit>& done) {
  if (!alive()) return;  // what a dead process believes it tells nobody
  if (done.ok()) return history_.acknowledged(tag, done->sequence);
  if (done.error().kind != ErrorKind::unknown) history_.refused(tag);
  judge_error("commit", done.error());
}

void Simulation::commit(Process& self) {
  const std::string tag = std::to_string(++tags_);
  judge(tag, self.store->commit(1, trail(tag)));
}

// One exchange of a worker: it registers, says what it finished and claims more, or finds another
// worker expired.
void Simulation::work(Process& self) {
  const std::string tag = std::to_string(++tags_);
  const Store::Body mark = trail(tag);
  std::optional<claim::WorkerEpoch> epoch = self.epoch;
  claim::Exchange request;
  if (epoch) request.worker = *epoch;
  const bool expires = one_in(8);
  for (const claim::ClaimToken& token : self.held) {
    claim::Finished finished;
    finished.token = token;
    finished.state = one_in(5) ? claim::JobState::ready : claim::JobState::completed;
    if (!one_in(3)) request.finishes.push_back(finished);
  }
  claim::Offer offer;
  offer.cpus = offer.total_cpus = 4;
  offer.memory = offer.total_memory = mebibytes(1024);
  offer.max_jobs = 2;
  request.offer = offer;
  claim::Answer answer;
  const auto body = [&](Transaction& tx) -> Result<void> {
    answer = {};
    epoch = self.epoch;
    TORC_TRY(mark(tx));
    if (!self.epoch) {
      claim::WorkerInfo info;
      info.host = self.host->name;
      TORC_ASSIGN(epoch, claim::register_worker(tx, info));
      return {};
    }
    if (expires) {
      std::optional<claim::Worker> other;
      TORC_TRY(claim::scan_workers(tx, true, [&](const claim::Worker& w) {
        if (w.epoch != *self.epoch) other = w;
        return !other;
      }));
      if (other) TORC_TRY(claim::expire_worker(tx, other->epoch, other->renewals, WallTime{1}, 0));
    }
    TORC_ASSIGN(answer, claim::exchange(tx, request));
    return {};
  };
  const auto done = self.store->commit(2, body);
  if (!done.ok() && done.error().kind == ErrorKind::fenced) {  // the body said so
    self.epoch.reset();
    self.held.clear();
    return;
  }
  judge(tag, done);
  if (!alive()) return;
  if (!done.ok()) {  // as a worker that does not know what became of its jobs
    if (done.error().kind == ErrorKind::unknown) self.epoch.reset(), self.held.clear();
    return;
  }
  self.epoch = epoch;
  for (const claim::Finished& f : request.finishes) {
    const bool accepted = std::none_of(answer.refused.begin(), answer.refused.end(),
                                       [&](const auto& r) { return r.token == f.token; });
    if (accepted && f.state == claim::JobState::completed)
      history_.completed(static_cast<std::uint64_t>(f.token.job));
    std::erase(self.held, f.token);
  }
  for (const claim::Grant& grant : answer.grants) self.held.push_back(grant.token);
}

void Simulation::look(Process& self, Freshness freshness) {
  const std::uint64_t acknowledged = history_.newest_acknowledged();
  std::uint64_t number = 0;
  std::uint64_t hash = 0;
  const auto seen = self.store->view(freshness, [&](const Reader& reader) -> Result<void> {
    number = reader.sequence();
    hash = state_hash(reader);
    return {};
  });
  if (!alive()) return;
  if (!seen.ok()) return judge_error("view", seen.error());
  history_.seen(number, hash);
  if (freshness == Freshness::latest && choices_.listing_lag.count() == 0 && number < acknowledged)
    history_.violate("the latest view shows commit " + std::to_string(number) + " and " +
                     std::to_string(acknowledged) + " was acknowledged before");
}

void Simulation::check_everything() {
  for (const auto& host : hosts_) {
    Process visitor;
    visitor.host = host.get();
    auto opened = Store::open(world_of(*host), kStore, tuning_);
    if (!opened.ok()) return history_.violate("open at the end: " + opened.error().text());
    visitor.store = std::move(*opened);
    look(visitor, Freshness::latest);
  }
  Host inspector(*this, 99, beginning_.options);
  const auto verified =
      verify(world_of(inspector), kStore, [](const Reader& r) { return claim::verify_state(r); });
  if (!verified.ok()) return history_.violate("verify: " + verified.error().text());
  if (verified->last_sequence != history_.length())
    history_.violate("verify ends at " + std::to_string(verified->last_sequence) + " instead of " +
                     std::to_string(history_.length()));
}

}  // namespace torc::store::testing
