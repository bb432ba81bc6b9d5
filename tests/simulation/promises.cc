#include "tests/simulation/promises.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "tests/simulation/process.h"

namespace torc::simulation {

Promises::Promises(const Scenario& scenario, World& world)
    : scenario_(scenario), world_(world), fates_(fates_of(scenario)) {
  ended_at_.resize(scenario.chains * scenario.chain_length);
  workflow_.actions.gates = static_cast<std::uint64_t>(std::count_if(
      scenario.actions.begin(), scenario.actions.end(),
      [](const ActionPlan& a) { return a.trigger == claim::Trigger::workflow_start; }));
}

Promises::RunKey Promises::key_of(const Process& process, std::uint64_t run) {
  return {process.pid(), run + (std::uint64_t{process.epoch()} << 24U)};
}

claim::Trigger Promises::trigger_of(const claim::ActionGrant& grant) const {
  return scenario_.actions[grant.action - 1].trigger;
}

Promises::ActionKey Promises::key_of(const Run& run) const {
  return {run.action.action, claim::is_of_worker(trigger_of(run.action)) ? run.epoch : 0};
}

std::vector<Promises::RunKey>& Promises::runs_beside(const Run& run) {
  return run.kind == Kind::action ? runs_of_actions_[key_of(run)]
                                  : runs_of_jobs_[raw(run.token.job)];
}

Promises::Run& Promises::add(const Process& process, std::uint64_t run, Run with) {
  with.process = &process;
  with.epoch = process.epoch();
  const RunKey key = key_of(process, run);
  runs_beside(with).push_back(key);
  open_[key] = &runs_[key];
  return runs_[key] = with;
}

// --- jobs ---

void Promises::job_begins(const Process& process, std::uint64_t run, const claim::ClaimToken& token,
                          Alone alone) {
  const std::uint64_t job = raw(token.job);
  if (!scenario_.is_checked) return measure_begin(process, run, job);
  for (const RunKey& key : runs_of_jobs_[job]) {
    const Run& other = runs_.at(key);
    // A node whose clock has missed time knows nothing of what was done meanwhile; what it has to
    // say is refused.
    if (other.token >= token && !process.node().lost_time && !other.process->was_killed())
      world_.violate(fmt::format("{} starts job {} by claim {} after claim {} of it ran",
                                 process.name(), job, token.claim, other.token.claim));
  }
  if (workflow_.actions.gates > 0)
    world_.violate(fmt::format("{} starts job {} before what comes before all jobs has ended",
                               process.name(), job));
  for (const auto& [key, other] : open_) {
    if (other->process == &process && other->kind == Kind::action &&
        trigger_of(other->action) == claim::Trigger::worker_start)
      world_.violate(fmt::format("{} starts job {} while its first action {} runs", process.name(),
                                 job, other->action.action));
  }
  Run mine;
  mine.token = token;
  mine.alone = alone == Alone::yes;
  check_beside_suspect(add(process, run, mine));
  check_room(process);
}

void Promises::check_beside_suspect(const Run& mine) {
  if (!mine.alone) return;
  for (const auto& [k, other] : open_) {
    if (other->process == mine.process && other->kind != Kind::action && other->active &&
        !other->alone)
      world_.violate(fmt::format("{} starts job {}, a suspect, beside job {}", mine.process->name(),
                                 raw(mine.token.job), raw(other->token.job)));
  }
}

// Of what runs on the node, and by this worker.
void Promises::check_room(const Process& process) {
  const Node& node = process.node();
  if (node.lost_ledger) return;
  std::uint32_t all = 0;
  std::uint32_t its = 0;
  std::uint64_t memory = 0;
  for (const auto& [k, other] : open_) {
    if (other->kind == Kind::action || &other->process->node() != &node) continue;
    const claim::Requirement& need = fate_of(other->token.job).need;
    all += need.cpus;
    memory += need.memory.value;
    if (other->process == &process) its += need.cpus;
  }
  if (its > scenario_.cpus)
    world_.violate(
        fmt::format("{} runs jobs on {} CPUs, of {}", process.name(), its, scenario_.cpus));
  if (scenario_.node_cpus == 0) return;
  if (all > scenario_.node_cpus)
    world_.violate(fmt::format("{} CPUs of {} are in use on {}, after a start by {}", all,
                               scenario_.node_cpus, node.name, process.name()));
  if (memory > kMemoryUnit.value * scenario_.node_cpus)
    world_.violate(fmt::format("{} units of memory of {} are in use on {}, after a start by {}",
                               memory / kMemoryUnit.value, scenario_.node_cpus, node.name,
                               process.name()));
}

// Of what runs anywhere, whoever has been given up meanwhile.
void Promises::check_licences(const Process& process) {
  if (scenario_.licences == 0) return;
  std::uint32_t used = 0;
  for (const auto& [k, other] : open_) {
    if (other->kind == Kind::job && other->active && !other->process->node().lost_time)
      used += fate_of(other->token.job).licences;
  }
  if (used > scenario_.licences)
    world_.violate(fmt::format("{} licences of {} are in use, after a start by {}", used,
                               scenario_.licences, process.name()));
}

// --- recovery scripts and actions ---

void Promises::script_begins(const Process& process, std::uint64_t run,
                             const claim::ClaimToken& token) {
  for (const RunKey& key : runs_of_jobs_[raw(token.job)]) {
    const Run& other = runs_.at(key);
    const std::string what = fmt::format("{} starts the recovery script of job {} (attempt {})",
                                         process.name(), raw(token.job), token.attempt);
    if (other.kind == Kind::script && other.token.attempt == token.attempt)
      world_.violate(what + " a second time");
    if (other.kind == Kind::job && other.token == token && !other.over)
      world_.violate(what + " beside the job itself");
    if (other.token > token && !process.node().lost_time && !other.process->was_killed())
      world_.violate(what + fmt::format(" after claim {} of it ran", other.token.claim));
  }
  Run mine;
  mine.kind = Kind::script;
  mine.token = token;
  add(process, run, mine);
}

void Promises::action_begins(const Process& process, std::uint64_t run,
                             const claim::ActionGrant& grant) {
  Run mine;
  mine.kind = Kind::action;
  mine.action = grant;
  mine.epoch = process.epoch();
  const std::string what = fmt::format("{} starts command {} of action {} by claim {}",
                                       process.name(), grant.done, grant.action, grant.claim);
  for (const RunKey& key : runs_beside(mine)) {
    const Run& other = runs_.at(key);
    if (other.action.claim == grant.claim && other.action.done >= grant.done)
      world_.violate(what + fmt::format(" after command {}", other.action.done));
    if (other.action.claim > grant.claim && !process.node().lost_time &&
        !other.process->was_killed())
      world_.violate(what + fmt::format(" after claim {} of it ran", other.action.claim));
  }
  if (grant.nth > 1) world_.violate(what + fmt::format(", its run {}", grant.nth));
  if (trigger_of(grant) == claim::Trigger::workflow_complete && !workflow_.jobs_over())
    world_.violate(what + " before all jobs are over");
  add(process, run, mine);
}

// --- while it runs ---

void Promises::is_active(const Process& process, std::uint64_t run, bool active) {
  if (!scenario_.is_checked) return count_busy(active ? 1 : -1);
  const auto found = runs_.find(key_of(process, run));
  if (found == runs_.end()) return;
  Run& mine = found->second;
  mine.active = active;
  if (!active || process.node().lost_time) return;
  if (mine.kind == Kind::job) check_licences(process);
  // Of several nodes: its next attempt may begin before all know that this one is over (Gangs).
  if (mine.kind != Kind::action && fate_of(mine.token.job).need.nodes > 1) return;
  for (const RunKey& k : runs_beside(mine)) {
    const Run& other = runs_.at(k);
    if (&other == &mine || other.over || !other.active || other.process->node().lost_time) continue;
    if (mine.kind == Kind::action) {
      world_.violate(fmt::format("action {} runs twice: by {} and by {}", mine.action.action,
                                 process.name(), other.process->name()));
    } else {
      world_.violate(fmt::format("job {} runs twice: on {} (attempt {}) and on {} (attempt {})",
                                 raw(mine.token.job), process.name(), mine.token.attempt,
                                 other.process->name(), other.token.attempt));
    }
  }
}

void Promises::ends(const Process& process, std::uint64_t run, RunEnd end) {
  if (!scenario_.is_checked) {
    count_busy(-1);
    const auto found = unchecked_.find({process.pid(), run});
    if (found == unchecked_.end()) return;
    if (end.by_itself && found->second <= ended_at_.size())
      ended_at_[found->second - 1] = world_.now();
    unchecked_.erase(found);
    return;
  }
  const auto found = runs_.find(key_of(process, run));
  if (found == runs_.end()) return;
  Run& mine = found->second;
  open_.erase(found->first);
  mine.over = true;
  mine.active = false;
  mine.end = end;
  if (!world_.tells()) return;
  const std::string what =
      mine.kind == Kind::action
          ? fmt::format("command {} of action {}", mine.action.done, mine.action.action)
          : fmt::format("{}job {} (attempt {})",
                        mine.kind == Kind::script ? "the recovery script of " : "",
                        raw(mine.token.job), mine.token.attempt);
  world_.tell(fmt::format(
      "{}: {} has ended{}", process.name(), what,
      end.by_itself ? fmt::format(" with exit code {}", end.exit_code) : ": it was ended"));
}

void Promises::committed(const store::Reader& reader) {
  if (!scenario_.is_checked) return;
  auto workflow = claim::read_workflow(reader);
  if (!workflow) return world_.violate("the state cannot be read: " + workflow.error().text());
  std::uint64_t sum = 0;
  for (const std::uint64_t count : workflow->counts) sum += count;
  if (sum != scenario_.jobs && !scenario_.edited)
    world_.violate(fmt::format("{} jobs are counted, of {}", sum, scenario_.jobs));
  if (workflow->of(claim::JobState::completed) < workflow_.of(claim::JobState::completed) &&
      !scenario_.edited)
    world_.violate("a job that had completed has not any more");
  workflow_ = *std::move(workflow);
  if (workflow_.jobs_over() && jobs_over_at_ == Time{}) jobs_over_at_ = world_.now();
  all_over_ = workflow_.finished() && workflow_.actions.armed == 0;
}

// --- where nothing is checked ---

// From the end of what it waited for, and from the commit that told of it.
void Promises::measure_wait(const Process& process, std::uint64_t job) {
  const auto seconds_since = [this](Time time) {
    return std::chrono::duration<double>(world_.now() - time).count();
  };
  Time ended{};
  for (const std::uint64_t before : upstream_of(scenario_, job))
    ended = std::max(ended, ended_at_[before - 1]);
  if (ended == Time{}) return;
  world_.measured.waits.push_back(seconds_since(ended));
  process.look([&](const store::Reader& reader) {
    claim::State state(reader);
    const claim::Span* span = state.span_of(job);
    const auto told =
        span == nullptr ? committed_at_.end() : committed_at_.find(state.opened_at(span->barrier));
    if (told != committed_at_.end())
      world_.measured.ready_waits.push_back(seconds_since(told->second));
  });
}

void Promises::measure_begin(const Process& process, std::uint64_t run, std::uint64_t job) {
  if (world_.measures()) world_.measured.starts += 1;
  if (world_.measures()) measure_wait(process, job);
  if (job <= ended_at_.size()) unchecked_[{process.pid(), run}] = job;
}

// The time for which slots have run something.
void Promises::count_busy(int more) {
  const Time from = std::max(busy_since_, scenario_.measured_from);
  if (world_.now() > from)
    world_.measured.busy +=
        std::chrono::duration<double>(world_.now() - from).count() * static_cast<double>(active_);
  busy_since_ = world_.now();
  active_ += more;
}

}  // namespace torc::simulation
