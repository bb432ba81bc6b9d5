// The thread of a simulated worker's store: it registers, says what there is to say, keeps the
// lease.
#include <fmt/format.h>

#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/lease.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/worker/bell/ringer.h"
#include "lib/worker/jobs/gang_tag.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/workflow/plan/plan_actions.h"
#include "tests/simulation/node_store.h"
#include "tests/simulation/process.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;
namespace command = worker::command;
namespace event = worker::event;

// The processes of a node, as a worker there sees them.
class SeenProcesses final : public worker::NodeProcesses {
 public:
  explicit SeenProcesses(Cluster& cluster, const Process& self) : cluster_(cluster), self_(self) {}
  int watch(std::uint64_t pid) override {
    const Process* other = cluster_.process(pid);
    return other != nullptr && !other->has_ended() ? static_cast<int>(pid) : -1;
  }
  void close(int) override {}
  exec::Presence presence_of(const exec::ProcessIdentity& process) override {
    const Process* other = cluster_.process(process.pid);
    if (other == nullptr || &other->node() != &self_.node()) return exec::Presence::unknown;
    return other->has_ended() ? exec::Presence::gone : exec::Presence::here;
  }
  exec::Leftovers kill_tagged(const std::vector<std::string>& tags, const exec::Origin&) override {
    const std::string gang = std::string(worker::kGangVariable) + "=";
    for (const std::string& tag : tags) {
      if (tag.starts_with(gang))
        cluster_.gangs().kill_tagged(self_.node(), tag.substr(gang.size()));
    }
    return exec::Leftovers::none;
  }

 private:
  Cluster& cluster_;
  const Process& self_;
};

// squeue, which answers at once or not at all.
class SeenSlurm final : public worker::SlurmInquiry {
 public:
  SeenSlurm(Cluster& cluster, bool there) : cluster_(cluster), there_(there) {}
  [[nodiscard]] bool possible() const override { return there_ && answer_.empty(); }
  void ask(std::vector<slurm::Allocation> allocations) override {
    if (cluster_.world().one_in(4)) return;
    for (const slurm::Allocation& a : allocations) answer_[a] = cluster_.what_of(a);
  }
  [[nodiscard]] int fd() const override { return -1; }
  Answer take() override { return std::exchange(answer_, {}); }

 private:
  Cluster& cluster_;
  bool there_;
  Answer answer_;
};

std::optional<worker::ClaimedJob> prepare(Cluster& cluster, const claim::Reader& reader,
                                          const claim::Grant& grant) {
  if (cluster.edits() != nullptr) cluster.edits()->claims(reader, grant.token);
  worker::ClaimedJob job;
  job.on_each_node = cluster.promises().fate_of(grant.token.job).on_each_node;
  if (job.on_each_node) job.port = 4711;
  job.grant = grant;
  job.need = claim::read_class(reader, grant.job_class).need;
  const auto of = claim::read_template(reader, grant.token.job);
  if (!of) return std::nullopt;
  if (grant.alone) job.crash_limit = of->crash_limit != 0 ? of->crash_limit : worker::kCrashLimit;
  if (auto handler = claim::read_handler(reader, *of)) {
    job.handler = std::make_shared<const claim::Handler>(*std::move(handler));
    if (const auto record = claim::read_job(reader, grant.token.job))
      job.retries = claim::read_retries(reader, grant.token.job, *record);
  }
  return job;
}

}  // namespace

void Process::resume() {
  Waiter* before = std::exchange(world_.caller, this);
  const bool was_in = std::exchange(in_thread_, true);
  thread_->resume();
  in_thread_ = was_in;
  world_.caller = before;
  if (alive_ && life_ != nullptr && life_->born) update_runs();
}

void Process::wait(Time time) {
  if (!alive_) return;
  at(world_.now() + time, [this, v = ++resume_version_] {
    if (v == resume_version_) resume();
  });
  thread_->yield();
}

void Process::wait_for_filesystem() {
  while (alive_ && node_.cut_off_until > world_.now()) wait(node_.cut_off_until - world_.now());
}

bool Process::loses_replies() const {
  return node_.loses_replies_until > world_.now();
}

// It waits in serve() for something to do.
void Process::poke() {
  if (in_thread_ || thread_ == nullptr || thread_->done() || !serving_) return;
  at(world_.now(), [this, v = ++resume_version_] {
    if (v == resume_version_) resume();
  });
}

// As `torc worker` does, see worker::wait_for_turn().
bool Process::wait_for_turn() {
  claim::RegistrationDelay delay(claim::Sharing::shared, static_cast<std::uint64_t>(starters_));
  for (Time pause = delay.delay(world_.part());;) {
    if (pause > 0s) wait(pause);
    if (!alive_) return false;
    claim::WorkflowLoad load;
    std::uint64_t newest = 0;
    const auto seen =
        store_->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          newest = reader.sequence();
          TORC_ASSIGN(load, claim::read_load(reader));
          return {};
        });
    if (!seen || !alive_) return false;
    pause = delay.wait(node_.clock->boot_now(), newest, load.workers, world_.part());
    if (pause == 0s) return true;
  }
}

claim::WorkerInfo Process::describe() const {
  const Scenario& scenario = cluster_.scenario();
  claim::WorkerInfo info;
  info.host = node_.name;
  info.pid = pid_;
  info.pid_start = 1;
  info.boot_id = node_.name;
  info.pid_namespace = "pid:[1]";
  info.user = "1 user:[1]";
  info.cpus = scenario.cpus;
  info.memory = life_->ledger != nullptr ? life_->ledger->member().most_memory : mebibytes(1 << 20);
  info.lease_ttl = scenario.lease;
  info.bell = bell();
  if (scenario.gangs > 0) {
    info.group = fmt::format("g{}", node_.number % scenario.groups);
    info.node_name = fmt::format("w{}", pid_);
  }
  info.registered_at = info.claims_from = node_.clock->wall_now();
  if (scenario.workers_idle.count() > 0) info.allocation = "one";
  if (scenario.in_slurm) {
    info.cluster = "c";
    info.allocation = allocation_;
    info.allocation_start = allocation_start_;
    info.node = node_.name;
    info.node_timeout = scenario.slurmd_timeout;
  }
  return info;
}

bool Process::register_self() {
  Life& life = *life_;
  claim::WorkerInfo info = describe();
  worker::Birth birth;
  const BootTime at = node_.clock->boot_now();
  claim::WorkflowLoad load;
  std::vector<claim::Action> actions;
  const auto done = store_->commit(0, [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(birth.terms.self, claim::register_worker(tx, info));
    info.own_heartbeat_file =
        claim::heartbeat_place(tx, birth.terms.self).file == store::HeartbeatFile::own;
    TORC_ASSIGN(load, claim::read_load(tx));
    TORC_ASSIGN(birth.workflow, claim::read_workflow(tx));
    if (birth.workflow.actions.actions > 0) {
      TORC_ASSIGN(actions, claim::read_actions(tx));
    }
    return {};
  });
  if (!done || !alive_) return false;
  ++cluster_.figures.lives;
  worker::Terms& terms = birth.terms;
  terms.machine.cpus = info.cpus;
  terms.machine.memory = info.memory;
  if (life.ledger != nullptr) terms.machine.ledger_gpus = 0;
  terms.in_allocation = cluster_.scenario().in_slurm;
  terms.begun = at;
  if (cluster_.scenario().workers_idle.count() > 0)
    terms.workers_idle = cluster_.scenario().workers_idle;
  terms.grace = 25s;
  terms.reserve = 5s;
  terms.lease_ttl = info.lease_ttl;
  terms.sigterm_lead = 10s;
  for (const claim::Action& action : actions) {
    const auto commands = workflow::decode_commands(action.recipe);
    terms.actions.push_back({action.trigger, commands ? commands->size() : 0});
  }
  birth.seed = world_.random().next();
  birth.pace = claim::Pace(claim::Sharing::shared);
  birth.pace.saw(
      {at, claim::raw(terms.self), load.workers, 0ns, load.job_time, load.ready, world_.part()});
  be_born(std::move(birth), info, at);
  return true;
}

void Process::be_born(worker::Birth birth, const claim::WorkerInfo& info, BootTime registered) {
  Life& life = *life_;
  life.lease.hold(registered, claim::fencing_limit(info.lease_ttl));
  worker::SlurmTerms slurm;
  if (cluster_.scenario().in_slurm) slurm.node_timeout = cluster_.scenario().slurmd_timeout;
  store::World world{
      *node_.disk, *node_.clock, world_.random(), node_.name, node_.name, "pid:[1]", 0, {}};
  store::MountFacts facts;
  facts.kind = store::MountKind::nfs;
  life.state = worker::be_born(std::move(birth), moment());
  life.side = std::make_unique<worker::StoreSide>(
      std::move(world), std::make_unique<NodeStore>(cluster_, *this), life.state.terms.self, info,
      registered,
      [this](const claim::Reader& reader, const claim::Grant& grant) {
        return prepare(cluster_, reader, grant);
      },
      std::make_unique<SeenProcesses>(cluster_, *this),
      std::make_unique<SeenSlurm>(cluster_, cluster_.scenario().in_slurm), facts, life.lease, slurm,
      cluster_.scenario().bells ? &cluster_.bells() : nullptr);
  life.turned = node_.clock->boot_now();
  life.born = true;
  world_.tell(fmt::format("{} has registered", name()));
}

void Process::say_goodbye() {
  Life& life = *life_;
  const command::Goodbye order = *std::exchange(life.goodbye, std::nullopt);
  event::GoodbyeAnswer answer;
  const claim::WorkerEpoch self = life.state.terms.self;
  worker::Ringer ringer(cluster_.scenario().bells ? &cluster_.bells() : nullptr, self, node_.name);
  const auto left = store_->commit(raw(self), [&](store::Transaction& tx) -> Result<void> {
    ringer.before(tx);
    if (order.speaks) {
      TORC_ASSIGN(answer.answer, claim::exchange(tx, order.words));
    }
    TORC_TRY(claim::release_worker(tx, self, order.words.now));
    TORC_ASSIGN(answer.workflow, claim::read_workflow(tx));
    ringer.after(tx, 0, order.words.now);
    ringer.concern(tx, answer.answer.concerned);
    ringer.concern_changed(tx);
    return {};
  });
  if (left) ringer.ring(left->sequence, cluster_.state().identity().instance);
  if (!left) answer.error = left.error();
  if (!alive_) return;
  life.blocked = false;
  at(world_.now(), [this, answer = std::move(answer)]() mutable {
    feed(std::move(answer));
    life_->state.leaving.over ? end_life() : wake_at(world_.now());
  });
}

// None of those that are registered has anything, and this one has seen so just now.
void Process::check_allocation() {
  look([this](const store::Reader& reader) {
    const auto own = claim::read_worker(reader, life_->state.terms.self);
    const auto read = claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
      if (own && worker.info.allocation == own->info.allocation && worker.held > 0)
        world_.violate(fmt::format("{} takes its allocation for unused, and worker {} has {} jobs",
                                   name(), claim::raw(worker.epoch), worker.held));
      return true;
    });
    if (!read) world_.violate("the workers cannot be read: " + read.error().text());
  });
}

void Process::answer_requests() {
  Life& life = *life_;
  worker::StoreSide& side = *life.side;
  if (life.request) {
    worker::CommitReply reply = side.exchange(*std::exchange(life.request, std::nullopt));
    life.news.emplace_back(event::Answered{
        std::move(reply.error), std::move(reply.answer), std::move(reply.jobs), reply.commit.wrote,
        reply.commit.cost, reply.newest, std::move(reply.gang_job)});
    wake_at(world_.now());
  }
  if (std::exchange(life.asked, false)) {
    worker::CommitReply reply;
    if (life.lease.paused()) reply = side.renew_paused();
    const bool ends = reply.error && (reply.error->kind == ErrorKind::fenced ||
                                      reply.error->kind == ErrorKind::corrupt);
    if (ends) life.news.emplace_back(event::LeaseLost{*reply.error});
    life.news.emplace_back(event::AskAnswered{ends ? std::nullopt : std::move(reply.error)});
    wake_at(world_.now());
  }
  if (std::exchange(life.looks, false)) {
    const auto use = side.look_at_allocation();
    if (use && !use->is_busy) check_allocation();
    life.news.emplace_back(event::AllocationSeen{use});
    wake_at(world_.now());
  }
  for (const std::uint64_t pid : std::exchange(life.dead_neighbours, {})) {
    if (auto lost = side.neighbour_died(static_cast<int>(pid)))
      life.news.emplace_back(event::LeaseLost{*std::move(lost)});
  }
  side.keeper().answered();
  if (node_.clock->boot_now() < side.keeper().next_tick()) return;
  worker::StoreSide::News news =
      side.tick(node_.clock->boot_now() - life.turned < life.state.terms.lease_ttl / 2);
  if (news.lost) life.news.emplace_back(event::LeaseLost{*std::move(news.lost)});
  if (news.freed) life.news.emplace_back(event::Changed{});
  if (news.ends_at) {
    const Time left = std::max<Time>(*news.ends_at - node_.clock->wall_now(), 0s);
    life.news.emplace_back(event::EndMoved{node_.clock->boot_now() + left});
  }
  if (auto& gang = news.orders.gang)
    life.news.emplace_back(
        event::GangSeen{gang->commit, std::move(gang->part), std::move(gang->job)});
  if (!news.orders.revoked.empty())
    life.news.emplace_back(event::Revoked{std::move(news.orders.revoked)});
  if (!life.news.empty()) wake_at(world_.now());
}

void Process::serve() {
  const Scenario& scenario = cluster_.scenario();
  if (scenario.node_cpus > 0)
    life_->ledger = node_.shared.enter(*this, *node_.clock, scenario.node_cpus, scenario.cpus);
  store_ = std::make_unique<NodeStore>(cluster_, *this);
  for (Time pause = 1s; alive_ && !(wait_for_turn() && register_self());
       pause = std::min<Time>(2 * pause, 30s))
    wait(pause);
  if (!alive_) return;
  wake_at(world_.now());
  Life& life = *life_;
  while (alive_) {
    if (life.goodbye) {
      say_goodbye();
    } else if (!life.closing) {
      answer_requests();
      if (!alive_) return;
    }
    const bool more = life.request || life.asked || life.looks || !life.dead_neighbours.empty();
    if (life.goodbye || (more && !life.closing)) continue;
    const Time next =
        life.closing ? Time(24h) : world_time(life.side->keeper().next_tick()) - world_.now();
    serving_ = true;
    wait(std::max<Time>(next, 1us));
    serving_ = false;
  }
}

}  // namespace torc::simulation
