#include "tests/simulation/cluster.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/plan_writing.h"
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

claim::Plan plan_of(const Scenario& s) {
  claim::Plan plan;
  plan.name = "simulated";
  plan.classes.push_back({});
  claim::RetryRule rule;
  rule.all_exit_codes = true;
  claim::Handler handler;
  handler.rules.push_back(rule);
  plan.handlers.push_back(handler);
  if (s.chains > 0) {
    const std::uint64_t chained = s.chains * s.chain_length;
    claim::Template first_ones;
    first_ones.first = JobId{1};
    first_ones.count = chained;
    first_ones.priority = 1;
    claim::Template others;
    others.first = JobId{chained + 1};
    others.count = s.jobs - chained;
    plan.templates = {first_ones, others};
    for (std::uint64_t j = s.chains + 1; j <= chained; ++j)
      plan.dependencies.push_back({{{JobId{j - s.chains}, 1}}, {{JobId{j}, 1}}});
    return plan;
  }
  // First those that fail once, then those that kill their worker, then the others.
  const std::uint64_t failing = s.jobs * static_cast<std::uint64_t>(s.failing) / 1000;
  const std::uint64_t crashing = std::min<std::uint64_t>(s.crashing, s.jobs - failing);
  std::uint64_t first = 1;
  const auto add = [&](std::uint64_t count, std::uint32_t with_handler) {
    if (count == 0) return;
    claim::Template t;
    t.first = JobId{first};
    t.count = count;
    t.handler = with_handler;
    plan.templates.push_back(t);
    first += count;
  };
  const std::uint64_t half = s.chained ? std::max(s.jobs / 2, failing + crashing) : s.jobs;
  add(failing, 1);
  add(crashing, 0);
  add(half - std::min(half, failing + crashing), 0);
  if (first <= s.jobs) {
    add(s.jobs - first + 1, 0);
    plan.dependencies.push_back({{{JobId{1}, half}}, {{JobId{half + 1}, s.jobs - half}}});
  }
  return plan;
}

// A fault of its own makes its own choices.
std::vector<JobFate> fates_of(const Scenario& s) {
  SeededEntropy random(s.seed ^ 0xA24BAED4963EE407ULL);
  std::vector<JobFate> fates(s.jobs + 1);
  const std::uint64_t failing = s.jobs * static_cast<std::uint64_t>(s.failing) / 1000;
  for (std::uint64_t j = 1; j <= s.jobs; ++j) {
    const double part = static_cast<double>(random.next() >> 11) * 0x1p-53;
    fates[j].seconds = s.job_seconds * (0.5 + part);
    fates[j].fails_once = j <= failing;
    fates[j].crashes = j > failing && j <= failing + static_cast<std::uint64_t>(s.crashing);
  }
  return fates;
}

}  // namespace

Cluster::Cluster(const Scenario& scenario, World& world, const Path& scratch)
    : scenario_(scenario), world_(world), entropy_(scenario.seed), fates_(fates_of(scenario)) {
  world_.measured_from = scenario.measured_from;
  ended_at_.resize(scenario.chains * scenario.chain_length);
  make_store(scratch);
  for (int n = 0; n < scenario.nodes; ++n) {
    nodes_.push_back(std::make_unique<Node>(world_, n));
    for (int i = 0; i < scenario.workers_per_node; ++i) start_process(*nodes_.back());
  }
  for (const Fault& fault : scenario.faults) schedule(fault);
  world_.at(scenario.calm, [this] { become_calm(); });
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

void Cluster::start_process(Node& node) {
  const std::uint64_t pid = 1000 + processes_.size();
  const std::string allocation = fmt::format("{}", 100 + pid);
  processes_.push_back(std::make_unique<Process>(*this, node, pid, allocation));
  processes_.back()->begin();
}

Process* Cluster::process(std::uint64_t pid) {
  if (pid < 1000 || pid - 1000 >= processes_.size()) return nullptr;
  return processes_[pid - 1000].get();
}

std::vector<Process*> Cluster::processes_on(const Node& node) {
  std::vector<Process*> found;
  for (auto& process : processes_) {
    if (&process->node() == &node && !process->has_ended()) found.push_back(process.get());
  }
  return found;
}

slurm::AllocationState Cluster::state_of(const slurm::Allocation& allocation) const {
  const auto found = ended_allocations_.find(allocation.id);
  return found == ended_allocations_.end() ? slurm::AllocationState::active : found->second;
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
  const auto die = [this](Process& p, slurm::AllocationState how) {
    if (p.has_ended()) return;
    ended_allocations_[p.allocation()] = how;
    Node& where = p.node();
    p.kill();
    for (Process* other : processes_on(where)) other->neighbour_ended(p.pid());
    world_.at(world_.now() + kRestart, where, [this, &where] { start_process(where); });
  };
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
        }
        for (Process* p : processes_on(node)) p->look_at_lease();
      });
      return;
    }
    case What::node_death:
      for (Process* p : processes_on(node)) p->kill();
      node.dead = true;
      node.disk->power_off();
      return;
    case What::worker_kill:
      return die(process, slurm::AllocationState::active);
    case What::worker_stop:
      process.stand_still_until(fault.until);
      return;
    case What::worker_term:
      return process.signal(SIGTERM);
    case What::allocation_kill:
      for (Process* p : processes_on(node)) {
        const auto soon = [&] {
          return world_.now() + Time(world_.pick(spread_of_signals(scenario_)));
        };
        world_.at(soon(), node, [p] { p->signal(SIGTERM); });
        if (world_.one_in(2)) p->signal_jobs(SIGTERM, spread_of_signals(scenario_));
        world_.at(world_.now() + kKillWait, [die, p] {
          if (!p->has_ended()) die(*p, slurm::AllocationState::cut_off);
        });
      }
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
  }
}

void Cluster::cancel(JobId job) {
  if (raw(job) == 0 || raw(job) > scenario_.jobs) return;
  canceled_.insert(raw(job));
  const claim::JobRange one{job, 1};
  const auto done = state_->commit(0, [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const auto change, claim::cancel_jobs(tx, {&one, 1}, clock_.wall_now()));
    (void)change;
    return {};
  });
  if (!done) world_.violate("a job cannot be canceled: " + done.error().text());
}

// Somebody starts workers again, on a node that is well, as often as it takes.
void Cluster::become_calm() {
  world_.calm = true;
  world_.full = false;
  if (!nodes_.empty() && nodes_.back()->number < scenario_.nodes)
    nodes_.push_back(std::make_unique<Node>(world_, scenario_.nodes));
  const bool anybody = std::any_of(processes_.begin(), processes_.end(),
                                   [](const auto& p) { return !p->has_ended(); });
  if (!all_over_ && (!anybody || world_.now() == scenario_.calm)) start_process(*nodes_.back());
  world_.at(world_.now() + 60s, [this] { become_calm(); });
}

// --- what must hold ---

void Cluster::run_begins(const Process& process, std::uint64_t run, const claim::ClaimToken& token,
                         bool alone) {
  if (world_.measures()) world_.measured.starts += 1;
  const std::uint64_t job = raw(token.job);
  if (scenario_.chains > 0 && job > scenario_.chains && job <= ended_at_.size()) {
    if (const Time before = ended_at_[job - scenario_.chains - 1];
        before > Time{} && world_.measures()) {
      world_.measured.dependents += 1;
      world_.measured.dependent_wait +=
          std::chrono::duration<double>(world_.now() - before).count();
    }
  }
  if (!scenario_.is_checked) {
    unchecked_[{process.pid(), run}] = job;
    return;
  }
  auto& others = runs_of_[raw(token.job)];
  for (const RunKey& key : others) {
    const Run& other = runs_.at(key);
    // A node whose clock has missed time knows nothing of what was done meanwhile; what it has to
    // say is refused.
    if (other.token >= token && !process.node().lost_time && !other.process->was_killed())
      world_.violate(fmt::format("{} starts job {} by claim {} after claim {} of it ran",
                                 process.name(), raw(token.job), token.claim, other.token.claim));
  }
  const RunKey key{process.pid(), run + (std::uint64_t{process.epoch()} << 24U)};
  runs_[key] = {&process, token, alone, false, false, false, 0};
  others.push_back(key);
  if (!alone) return;
  for (const auto& [k, other] : runs_) {
    if (other.process == &process && other.active && !other.over && !other.alone)
      world_.violate(fmt::format("{} starts job {}, a suspect, beside job {}", process.name(),
                                 raw(token.job), raw(other.token.job)));
  }
}

// The time for which slots have run something.
void Cluster::count_busy(int more) {
  const Time from = std::max(busy_since_, scenario_.measured_from);
  if (world_.now() > from)
    world_.measured.busy +=
        std::chrono::duration<double>(world_.now() - from).count() * static_cast<double>(active_);
  busy_since_ = world_.now();
  active_ += more;
}

void Cluster::run_is_active(const Process& process, std::uint64_t run, bool active) {
  if (!scenario_.is_checked) return count_busy(active ? 1 : -1);
  const RunKey key{process.pid(), run + (std::uint64_t{process.epoch()} << 24U)};
  Run& mine = runs_.at(key);
  mine.active = active;
  if (!active || process.node().lost_time) return;
  for (const RunKey& k : runs_of_[raw(mine.token.job)]) {
    const Run& other = runs_.at(k);
    if (k == key || other.over || !other.active || other.process->node().lost_time) continue;
    world_.violate(fmt::format("job {} runs twice: on {} (attempt {}) and on {} (attempt {})",
                               raw(mine.token.job), process.name(), mine.token.attempt,
                               other.process->name(), other.token.attempt));
  }
}

void Cluster::run_ends(const Process& process, std::uint64_t run, bool by_itself, int exit_code) {
  if (!scenario_.is_checked) {
    count_busy(-1);
    const auto found = unchecked_.find({process.pid(), run});
    if (found == unchecked_.end()) return;
    if (by_itself && found->second <= ended_at_.size()) ended_at_[found->second - 1] = world_.now();
    unchecked_.erase(found);
    return;
  }
  const auto found = runs_.find({process.pid(), run + (std::uint64_t{process.epoch()} << 24U)});
  if (found == runs_.end()) return;
  Run& mine = found->second;
  mine.over = true;
  mine.active = false;
  mine.by_itself = by_itself;
  mine.exit_code = exit_code;
  world_.tell(
      fmt::format("{}: job {} (attempt {}) has ended{}", process.name(), raw(mine.token.job),
                  mine.token.attempt,
                  by_itself ? fmt::format(" with exit code {}", exit_code) : ": it was ended"));
}

void Cluster::committed(const store::Reader& reader) {
  if (!scenario_.is_checked) return;
  const auto workflow = claim::read_workflow(reader);
  if (!workflow) return world_.violate("the state cannot be read: " + workflow.error().text());
  std::uint64_t sum = 0;
  for (const std::uint64_t count : workflow->counts) sum += count;
  if (sum != scenario_.jobs)
    world_.violate(fmt::format("{} jobs are counted, of {}", sum, scenario_.jobs));
  const std::uint64_t completed = workflow->of(claim::JobState::completed);
  if (completed < completed_) world_.violate("a job that had completed has not any more");
  completed_ = completed;
  all_over_ = workflow->jobs_over();
  if (all_over_ && figures.ended == Time{}) figures.ended = world_.now();
}

bool Cluster::is_over() {
  if (!all_over_) return false;
  return std::all_of(processes_.begin(), processes_.end(),
                     [](const auto& p) { return p->has_ended() || p->node().dead; }) ||
         world_.now() > scenario_.calm + 600s;
}

void Cluster::check_job(JobId id, const claim::Job& job) {
  const auto wrong = [&](const std::string& what) {
    world_.violate(fmt::format("job {} {} (attempt {}, {} lost, {} stopped, {})", raw(id), what,
                               job.attempt, job.lost, job.stopped, to_string(job.outcome.cause)));
  };
  const auto run = [&]() -> const Run* {
    for (const RunKey& key : runs_of_[raw(id)]) {
      const Run& r = runs_.at(key);
      if (r.token.attempt == job.attempt && r.token.claim == job.claim) return &r;
    }
    return nullptr;
  }();
  const bool may_wait = scenario_.chained && raw(id) > scenario_.jobs / 2;
  switch (job.state) {
    case claim::JobState::completed:
      if (run == nullptr || !run->over || !run->by_itself || run->exit_code != 0)
        wrong("counts as completed, and no run of it by that claim has ended so");
      return;
    case claim::JobState::failed:
      if (fate_of(id).crashes) {
        if (job.lost + 1 < 5 && job.outcome.cause != claim::EndCause::worker_lost)
          wrong("failed before its limit of lost workers");
        return;
      }
      return wrong("has failed, for which it gave no reason");
    case claim::JobState::terminated:
      if (job.stopped < claim::kMostStops && job.attempt < claim::kMostStops)
        wrong("was given up too soon");
      return;
    case claim::JobState::canceled:
      if (!canceled_.contains(raw(id))) wrong("is canceled, which nobody wanted");
      return;
    case claim::JobState::blocked:
      if (!may_wait || (canceled_.empty() && scenario_.crashing == 0 && !given_up_))
        wrong("still waits");
      return;
    default:
      return wrong(fmt::format("is still {}", to_string(job.state)));
  }
}

void Cluster::check_end() {
  const auto seen = state_->view(store::Freshness::cached, [&](const store::Reader& reader) {
    if (const auto sound = claim::verify_state(reader); !sound)
      world_.violate("the state contradicts itself: " + sound.error().text());
    std::vector<claim::Job> jobs(scenario_.jobs + 1);
    for (std::uint64_t j = 1; j <= scenario_.jobs; ++j) {
      const auto job = claim::read_job(reader, JobId{j});
      if (!job) return Result<void>(Error{ErrorKind::corrupt, fmt::format("no job {}", j), ""});
      jobs[j] = *job;
      given_up_ = given_up_ || job->state == claim::JobState::terminated;
    }
    for (std::uint64_t j = 1; j <= scenario_.jobs; ++j) check_job(JobId{j}, jobs[j]);
    return Result<void>();
  });
  if (!seen) world_.violate("the state cannot be read: " + seen.error().text());
}

std::string Cluster::run() {
  if (state_ == nullptr) return world_.violation();
  world_.run(scenario_.ends, [this] { return is_over(); });
  if (!scenario_.is_checked) {
    count_busy(0);
  } else if (world_.violation().empty()) {
    check_end();
  }
  figures.requests = world_.requests;
  figures.events = world_.events;
  return world_.violation();
}

}  // namespace torc::simulation
