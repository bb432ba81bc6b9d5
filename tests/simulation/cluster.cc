#include "tests/simulation/cluster.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/plan_writing.h"
#include "tests/simulation/person.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/process.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;
using What = Fault::What;

// Slurm's KillWait.
constexpr Time kKillWait = 30s;
// Slurm tells the processes of a step one by one; elsewhere the kernel does it for all at once.
std::uint64_t spread_of_signals(const Scenario& s) {
  return s.in_slurm ? 500'000'000 : 100'000'000;  // nanoseconds
}
constexpr Time kRestart = 30s;  // until somebody starts a worker in the place of one that is gone

}  // namespace

Cluster::Cluster(const Scenario& scenario, World& world, const Path& scratch)
    : scenario_(scenario),
      world_(world),
      entropy_(scenario.seed),
      promises_(scenario, world),
      bells_(*this, scenario.seed) {
  world_.measured_from = scenario.measured_from;
  if (scenario.is_checked) world_.most_events_a_second = 1'000'000;
  make_store(scratch);
  if (scenario.edited) edits_ = std::make_unique<EditedWorkflow>(scenario, world);
  for (int n = 0; n < scenario.nodes; ++n) {
    nodes_.push_back(std::make_unique<Node>(world_, n));
    for (int i = 0; i < scenario.workers_per_node; ++i)
      start_process(*nodes_.back(), scenario.starters);
  }
  for (const Fault& fault : scenario.faults) schedule(fault);
  world_.at(scenario.calm, [this] { become_calm(); });
  if (!scenario.edited) return;
  person_ = std::make_unique<Person>(*this);
  person_->begin();
}

Cluster::~Cluster() {
  for (auto& process : processes_) process->kill();
}

void Cluster::make_store(const Path& scratch) {
  store::World real{disk_, clock_, entropy_, "simulation", "boot", "ns", 0, {scratch}};
  store::Tuning tuning;
  tuning.sync = false;
  auto made = store::Store::create(
      real, scratch / "simulated.torc", store::Engine::lmdb, tuning,
      [&](store::Transaction& tx) { return claim::write_plan(tx, plan_of(scenario_)); });
  if (!made) {
    world_.violate("no store: " + made.error().text());
    return;
  }
  state_ = *std::move(made);
  // The directories of the heartbeats, on the simulated filesystem.
  auto& files = world_.server().files;
  store::testing::FileServer::Inode at = store::testing::FileServer::kRoot;
  for (const auto& part : (state_->state_directory() / "beats").relative_path()) {
    const auto made_directory = files.make_directory(at, part.string());
    if (made_directory.ok()) at = *files.lookup(at, part.string());
  }
  world_.heartbeats_directory = at;
}

// --- nodes, processes, Slurm ---

void Cluster::start_process(Node& node, int starters, std::string allocation) {
  const std::uint64_t pid = 1000 + processes_.size();
  if (allocation.empty()) allocation = fmt::format("{}", 100 + pid);
  allocations_[allocation].node = node.name;
  processes_.push_back(std::make_unique<Process>(*this, node, pid, allocation, starters));
  processes_.back()->begin();
}

void Cluster::start_where_nobody_is() {
  const bool anybody = std::ranges::any_of(
      processes_, [](const auto& p) { return !p->has_ended() && !p->node().dead; });
  if (anybody || promises_.all_over()) return;
  for (auto& node : nodes_) {
    if (node->runs()) start_process(*node);
  }
}

Process* Cluster::process(std::uint64_t pid) {
  if (pid < 1000 || pid - 1000 >= processes_.size()) return nullptr;
  return processes_[pid - 1000].get();
}

Process* Cluster::process_of(claim::WorkerEpoch worker) {
  for (auto& process : processes_) {
    if (process->epoch() == claim::raw(worker)) return process.get();
  }
  return nullptr;
}

std::vector<Process*> Cluster::processes_on(const Node& node) {
  std::vector<Process*> found;
  for (auto& process : processes_) {
    if (&process->node() == &node && !process->has_ended()) found.push_back(process.get());
  }
  return found;
}

// --- what goes wrong ---

void Cluster::schedule(const Fault& fault) {
  world_.at(fault.from, [this, &fault] {
    world_.tell("FAULT " + show(fault));
    happen(fault);
  });
}

void Cluster::happen(const Fault& fault) {
  const auto number = static_cast<std::size_t>(fault.target);
  Node& node = *nodes_[number % nodes_.size()];
  Process& process = *processes_[number % processes_.size()];
  switch (fault.what) {
    case What::stall:
      for (auto& n : nodes_) n->cut_off_until = std::max(n->cut_off_until, fault.until);
      return;
    case What::partition:
      node.cut_off_until = std::max(node.cut_off_until, fault.until);
      return;
    case What::freeze:
    case What::suspend: {
      if (node.dead || node.stands_until > world_.now()) return;
      const Time from = world_.now();
      node.stands_until = fault.until;
      for (Process* p : processes_on(node)) p->look_at_lease();
      world_.at(fault.until, [this, &node, from, suspended = fault.what == What::suspend] {
        if (suspended) {
          node.lost += world_.now() - from;
          node.lost_time = true;
        } else {
          stood_still(node, world_.now() - from);
        }
        for (Process* p : processes_on(node)) p->look_at_lease();
      });
      return;
    }
    case What::node_death:
      for (Process* p : processes_on(node)) p->kill();
      node.dead = true;
      gangs_.node_died(node);
      node.disk->power_off();
      world_.at(world_.now() + scenario_.slurmd_timeout, [this, &node] { drop(node); });
      return;
    case What::worker_kill:
      return die(process, std::nullopt);
    case What::worker_stop:
      process.stand_still_until(fault.until);
      return;
    case What::worker_term:
      return process.signal(SIGTERM);
    case What::allocation_kill:
      for (Process* p : processes_on(node))
        end_allocation(*p, slurm::AllocationState::cut_off, Then::another);
      return;
    case What::lost_replies:
      node.loses_replies_until = std::max(node.loses_replies_until, fault.until);
      return;
    case What::full_disk:
      world_.full = true;
      world_.at(fault.until, [this] { world_.full = false; });
      return;
    case What::clock_jump:
      node.wall_offset += std::chrono::hours(static_cast<std::int64_t>(world_.pick(49)) - 24);
      return;
    case What::cancel:
      return cancel(JobId{static_cast<std::uint64_t>(fault.target)});
    case What::ledger_loss:
      node.lost_ledger = true;
      return node.shared.lose();
    case What::dead_mount:
      node.dead_mount_until = std::max(node.dead_mount_until, fault.until);
      return;
    case What::node_lost:
      node.cut_off_until = std::max(node.cut_off_until, fault.until);
      if (fault.until - fault.from > scenario_.slurmd_timeout)
        world_.at(world_.now() + scenario_.slurmd_timeout, [this, &node] { drop(node); });
      return;
    case What::requeue:
      return requeue(node);
    case What::end_moved:
      for (Process* p : processes_on(node)) move_end(*p, fault.until);
      return;
  }
}

void Cluster::cancel(JobId job) {
  if (raw(job) == 0 || raw(job) > scenario_.jobs) return;
  if (edits_ != nullptr && raw(job) > jobs_of(edits_->file_of(scenario_)).size()) return;
  promises_.canceled(job);
  const claim::JobRange one{job, 1};
  const auto done = state_->commit(0, [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const auto change, claim::cancel_jobs(tx, {&one, 1}, clock_.wall_now()));
    (void)change;
    return {};
  });
  if (!done) world_.violate("a job cannot be canceled: " + done.error().text());
}

// --- Slurm ---

slurm::AllocationNow Cluster::what_of(const slurm::Allocation& allocation) const {
  using slurm::AllocationState;
  const auto found = allocations_.find(allocation.id);
  if (found == allocations_.end()) return {};
  const SlurmRun& run = found->second;
  if (run.start != allocation.start)
    return {run.start > allocation.start ? AllocationState::given_up : AllocationState::unknown};
  if (run.over) return {*run.over};
  slurm::AllocationNow now{AllocationState::active, {"another"}, run.start, {}};
  if (!run.dropped) now.nodes.push_back(run.node);
  if (run.end) now.end = world_.wall(*run.end);
  return now;
}

WallTime Cluster::start_of(const std::string& allocation) const {
  return allocations_.at(allocation).start;
}

void Cluster::die(Process& process, std::optional<slurm::AllocationState> how, Then then) {
  if (process.has_ended()) return;
  if (how) allocations_.at(process.allocation()).over = how;
  Node& where = process.node();
  process.kill();
  for (Process* other : processes_on(where)) other->neighbour_ended(process.pid());
  const std::string id = then == Then::again ? process.allocation() : std::string();
  world_.at(world_.now() + kRestart, where, [this, &where, id] { start_process(where, 1, id); });
}

// SIGTERM to everything, and SIGKILL later to what is left.
void Cluster::end_allocation(Process& process, std::optional<slurm::AllocationState> how,
                             Then then) {
  Process* const p = &process;
  const auto soon = world_.now() + Time(world_.pick(spread_of_signals(scenario_)));
  world_.at(soon, process.node(), [p] { p->signal(SIGTERM); });
  if (world_.one_in(2)) process.signal_jobs(SIGTERM, spread_of_signals(scenario_));
  world_.at(world_.now() + kKillWait, [this, p, how, then] {
    if (then == Then::again) allocations_.at(p->allocation()).start += 1s;
    die(*p, how, then);
  });
}

// For good: what comes back finds itself in an allocation without its node.
void Cluster::drop(Node& node) {
  const bool reached = !node.dead && node.cut_off_until <= world_.now();
  if (!scenario_.in_slurm || reached) return;
  world_.tell("Slurm drops " + node.name);
  for (auto& process : processes_) {
    if (&process->node() == &node && (node.dead || !process->has_ended()))
      allocations_.at(process->allocation()).dropped = true;
  }
}

void Cluster::requeue(Node& node) {
  for (Process* p : processes_on(node)) end_allocation(*p, std::nullopt, Then::again);
}

void Cluster::move_end(Process& process, Time end) {
  Process* const p = &process;
  SlurmRun& run = allocations_.at(process.allocation());
  run.end = end;
  const std::uint64_t epoch = process.epoch();
  // Alone, so that nothing else explains what it does not know.
  if (scenario_.faults.size() == 1 && scenario_.is_checked)
    world_.at(world_.now() + 600s, [this, p, end, epoch] { check_end_is_known(*p, end, epoch); });
  world_.at(end, [this, p, end] {
    const auto still = allocations_.at(p->allocation()).end;
    if (p->has_ended() || still != end) return;
    end_allocation(*p, slurm::AllocationState::cut_off, Then::another);
  });
}

// As after `scontrol suspend`: Slurm gives the time back.
void Cluster::stood_still(Node& node, Time time) {
  for (Process* p : processes_on(node)) {
    p->stood_still(time);
    if (const auto end = allocations_.at(p->allocation()).end; end && *end > world_.now())
      move_end(*p, *end + time);
  }
}

// Slurm is asked every few minutes, and again when it does not answer.
void Cluster::check_end_is_known(const Process& process, Time end, std::uint64_t epoch) {
  if (process.has_ended() || epoch == 0 || process.epoch() != epoch || end < world_.now()) return;
  const auto known = process.ends_at();
  if (!known || *known > end + 2s || *known < end - 2s)
    world_.violate(
        fmt::format("{} does not know that its allocation ends at {}", process.name(), show(end)));
}

// Somebody starts workers again, on a node that is well, as often as it takes.
void Cluster::become_calm() {
  world_.calm = true;
  world_.full = false;
  if (!nodes_.empty() && nodes_.back()->number < scenario_.nodes)
    nodes_.push_back(std::make_unique<Node>(world_, scenario_.nodes));
  const bool anybody = std::any_of(processes_.begin(), processes_.end(),
                                   [](const auto& p) { return !p->has_ended(); });
  // As many as the largest job needs.
  const std::uint32_t needed = scenario_.gangs > 0 ? scenario_.gang_nodes : 1;
  for (std::uint32_t n = 0; n < needed; ++n) {
    if (!promises_.all_over() && (!anybody || world_.now() == scenario_.calm))
      start_process(*nodes_.back());
  }
  world_.at(world_.now() + 60s, [this] { become_calm(); });
}

bool Cluster::is_over() {
  if (!promises_.all_over() || (person_ != nullptr && !person_->is_done())) return false;
  return std::all_of(processes_.begin(), processes_.end(),
                     [](const auto& p) { return p->has_ended() || p->node().dead; }) ||
         world_.now() > scenario_.calm + 600s;
}

std::string Cluster::run() {
  if (state_ == nullptr) return world_.violation();
  world_.run(scenario_.ends, [this] { return is_over(); });
  if (!scenario_.is_checked) {
    promises_.count_busy();
  } else if (world_.violation().empty()) {
    const auto seen = state_->view(store::Freshness::cached, [&](const store::Reader& reader) {
      promises_.check_end(reader);
      if (edits_ != nullptr) edits_->check_end(reader, promises_.canceled_jobs());
      return Result<void>();
    });
    if (!seen) world_.violate("the state cannot be read: " + seen.error().text());
  }
  figures.ended = promises_.jobs_over_at();
  figures.requests = world_.requests;
  figures.events = world_.events;
  figures.gangs = gangs_.formed;
  return world_.violation();
}

}  // namespace torc::simulation
