#include "tests/simulation/process.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/lease.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/worker/jobs/job_command.h"
#include "tests/simulation/node_store.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;
using worker::Command;
using worker::Event;
namespace command = worker::command;
namespace event = worker::event;

constexpr Time kStart = 2ms;       // a command takes so long to start
constexpr Time kReaction = 300ms;  // of a job that is told to end
constexpr Time kLaneNews = 10ms;   // the host keeps them so long
constexpr std::size_t kMostLosses = 3;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

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
  exec::Leftovers kill_tagged(const std::vector<std::string>&, const exec::Origin&) override {
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
    for (const slurm::Allocation& a : allocations) answer_[a] = cluster_.state_of(a);
  }
  [[nodiscard]] int fd() const override { return -1; }
  States take() override { return std::exchange(answer_, {}); }

 private:
  Cluster& cluster_;
  bool there_;
  States answer_;
};

}  // namespace

Process::Process(Cluster& cluster, Node& node, std::uint64_t pid, std::string allocation)
    : cluster_(cluster),
      world_(cluster.world()),
      node_(node),
      pid_(pid),
      allocation_(std::move(allocation)) {}

Process::~Process() {
  kill();
}

std::string Process::name() const {
  return fmt::format("process {} of {}{}", pid_, node_.name,
                     epoch() != 0 ? fmt::format(" (worker {})", epoch()) : "");
}

std::uint64_t Process::epoch() const {
  return life_ != nullptr ? claim::raw(life_->state.terms.self) : 0;
}

worker::Moment Process::moment() const {
  return {node_.clock->boot_now(), node_.clock->wall_now()};
}

Time Process::world_time(BootTime boot) const {
  const BootTime now = node_.clock->boot_now();
  if (boot <= now) return world_.now();
  // Never is never.
  return boot - now > 1'000'000h ? Time::max() : world_.now() + (boot - now);
}

void Process::at(Time when, std::function<void()> what) {
  world_.at(when, node_, [this, life = lives_, what = std::move(what)]() mutable {
    if (!alive_ || life != lives_) return;
    if (stands_until_ > world_.now()) return at(stands_until_, std::move(what));
    what();
  });
}

// --- from outside ---

void Process::begin() {
  ++lives_;
  life_ = std::make_unique<Life>();
  wake_due_ = lease_due_ = Time::max();
  thread_ = std::make_unique<Fiber>([this] { serve(); });
  at(world_.now(), [this] { resume(); });
}

void Process::signal(int number) {
  if (!alive_) return;
  world_.tell(fmt::format("{} gets signal {}", name(), number));
  signals_.push_back(number);
  wake_at(world_.now());
}

void Process::kill() {
  if (!alive_) return;
  alive_ = false;
  killed_ = true;
  if (life_ != nullptr) kill_runs();
  // Its thread ends: whatever it waits for comes to nothing.
  if (thread_ != nullptr && !in_thread_) {
    while (!thread_->done()) resume();
  }
}

void Process::stand_still_until(Time until) {
  stands_until_ = std::max(stands_until_, until);
}

void Process::neighbour_ended(std::uint64_t pid) {
  if (!alive_ || life_ == nullptr || !life_->born) return;
  life_->dead_neighbours.push_back(pid);
  poke();
}

void Process::signal_jobs(int number, std::uint64_t spread) {
  if (!alive_ || life_ == nullptr) return;
  std::vector<worker::Run> runs;
  for (const auto& [run, job] : life_->runs) runs.push_back(run);
  for (const worker::Run run : runs) {
    world_.at(world_.now() + Time(world_.pick(spread)), node_, [this, life = lives_, run, number] {
      if (alive_ && life == lives_) end_run(run, exec::Ending::signaled, number);
    });
  }
}

// --- the lease, and the watchdog ---

void Process::look_at_lease() {
  if (!alive_ || life_ == nullptr || !life_->born || node_.dead) return;
  life_->lease.look(node_.clock->boot_now());
  update_runs();
}

// Wakes the watchdog when the lease is due.
void Process::watch_lease() {
  const auto due = life_->lease.due();
  const Time when = due ? world_time(*due) : Time::max();
  if (when == Time::max() || when == lease_due_) return;
  lease_due_ = when;
  // Not by at(): it runs while its worker stands still.
  world_.at(when, node_, [this, life = lives_, when] {
    if (!alive_ || life != lives_ || when != lease_due_) return;
    lease_due_ = Time::max();
    look_at_lease();
    wake_at(world_.now());
  });
}

// What runs is what the lease and the node let run.
void Process::update_runs() {
  if (life_ == nullptr || !life_->born) return;
  if (life_->lease.fenced()) {
    kill_runs();
  } else {
    const bool active = node_.runs() && !life_->lease.paused();
    for (auto& [run, job] : life_->runs) set_active(job, active);
  }
  watch_lease();
}

// --- jobs ---

void Process::set_active(JobRun& run, bool active) {
  if (run.active == active) return;
  run.active = active;
  const worker::Run number = run.run;
  if (active) {
    run.since = world_.now();
    world_.at(world_.now() + run.left, node_, [this, life = lives_, number, v = ++run.version] {
      if (!alive_ || life != lives_) return;
      const auto found = life_->runs.find(number);
      if (found == life_->runs.end() || found->second.version != v) return;
      if (!found->second.exit_code) return kill();  // it takes its worker with it
      end_run(number, exec::Ending::exited, *found->second.exit_code);
    });
  } else {
    run.left -= std::min(run.left, world_.now() - run.since);
    ++run.version;
  }
  cluster_.run_is_active(*this, raw(number), active);
}

exec::Ended Process::ended(exec::Ending how, int code) const {
  exec::Ended e;
  e.how = how;
  if (how == exec::Ending::exited) e.exit_code = code;
  if (how == exec::Ending::signaled || how == exec::Ending::stopped) e.signal = code;
  e.started_at = e.ended_at = node_.clock->wall_now();
  return e;
}

void Process::end_run(worker::Run run, exec::Ending how, int code) {
  const auto found = life_->runs.find(run);
  if (found == life_->runs.end()) return;
  const bool told = found->second.stopping;
  const bool by_itself = how == exec::Ending::exited && !told;
  cluster_.run_ends(*this, raw(run), by_itself, code);
  // Whoever was told to end has been stopped, however it ended.
  life_->ends.push_back({run, ended(told ? exec::Ending::stopped : how, code), {}});
  const bool of_lane = found->second.in_lane;
  life_->runs.erase(found);
  wake_at(world_.now() + (of_lane ? kLaneNews : 0s));
  if (of_lane && alive_) run_lane();
}

void Process::kill_runs() {
  life_->lane.clear();
  while (!life_->runs.empty()) end_run(life_->runs.begin()->first, exec::Ending::signaled, SIGKILL);
}

// They begin what is next without asking anybody, and tell of it a little later.
void Process::run_lane() {
  Life& life = *life_;
  const auto running = [&] {
    return static_cast<std::size_t>(std::count_if(life.runs.begin(), life.runs.end(),
                                                  [](const auto& r) { return r.second.in_lane; }));
  };
  while (!life.lane.empty() && running() < life.lane_width && node_.runs()) {
    const auto [run, token] = life.lane.front();
    const auto answer = start(run, token, true);
    if (answer.what != event::StartAnswer::What::started) {
      // Nothing more is begun before the worker knows.
      life.lane.pop_front();
      life.lane_news.emplace_back(event::Declined{{run}});
      life.lane_width = 0;
      wake_at(world_.now());
      return;
    }
    life.lane.pop_front();
    life.lane_news.emplace_back(event::Begun{run, answer.at, node_.clock->boot_now()});
    wake_at(world_.now() + kLaneNews);
  }
}

event::StartAnswer Process::start(worker::Run run, const claim::ClaimToken& token, bool in_lane) {
  event::StartAnswer answer;
  answer.run = run;
  Life& life = *life_;
  if (life.lease.fenced() || life.lease.paused()) {
    answer.what = event::StartAnswer::What::postponed;
    return answer;
  }
  if (!world_.calm && world_.one_in(300)) {
    answer.what = event::StartAnswer::What::refused;
    answer.why = "no more processes";
    return answer;
  }
  answer.at = node_.clock->wall_now();
  const JobFate& fate = cluster_.fate_of(token.job);
  JobRun job;
  job.run = run;
  job.token = token;
  job.in_lane = in_lane;
  job.left = kStart + Time(static_cast<std::int64_t>(fate.seconds * (0.5 + world_.part()) * 1e9));
  job.exit_code = fate.fails_once && token.attempt == 1 ? 1 : 0;
  if (fate.crashes) {
    job.exit_code.reset();
    job.left = std::min<Time>(job.left, 1s);
  }
  ++cluster_.figures.runs;
  const bool alone = life.state.alone && life.state.alone->token == token;
  cluster_.run_begins(*this, raw(run), token, alone);
  set_active(life.runs.emplace(run, job).first->second, true);
  return answer;
}

// --- the main thread ---

void Process::wake_at(Time when) {
  if (!alive_ || life_ == nullptr || when >= wake_due_) return;
  wake_due_ = when;
  at(when, [this, v = ++wake_version_] {
    if (v != wake_version_) return;
    wake_due_ = Time::max();
    turn();
  });
}

void Process::feed(Event event) {
  worker::Commands orders;
  step(life_->state, std::move(event), moment(), orders);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    Command order = std::move(orders[i]);
    if (auto answer = carry_out(order)) step(life_->state, *std::move(answer), moment(), orders);
  }
}

void Process::turn() {
  Life& life = *life_;
  if (!life.born || life.blocked || life.state.leaving.over) return;
  const auto see_lease = [&] {
    if (life.closing || life.state.lost_lease()) return;
    life.lease.look(node_.clock->boot_now());
    feed(event::LeaseSeen{life.lease.stands(), life.lease.fenced(), life.lease.paused(),
                          life.lease.paused_since(), life.lease.due()});
  };
  for (const int number : std::exchange(signals_, {})) feed(event::Signal{number});
  for (Event& news : std::exchange(life.lane_news, {})) feed(std::move(news));
  see_lease();
  for (event::Ended& end : std::exchange(life.ends, {})) feed(std::move(end));
  for (Event& news : std::exchange(life.news, {})) feed(std::move(news));
  see_lease();
  feed(event::Turn{0});
  life.turned = node_.clock->boot_now();
  update_runs();
  if (life.state.leaving.over) return end_life();
  if (!life.blocked)
    wake_at(std::max(world_.now() + 1us, world_time(worker::wake_at(life.state, life.turned))));
}

std::optional<Event> Process::carry_out(Command& order) {
  using Answer = std::optional<Event>;
  Life& life = *life_;
  return std::visit(
      Overloaded{
          [&](const command::StartJob& o) -> Answer {
            const worker::ClaimedJob& job = life.state.queue[life.state.scan];
            auto answer = start(o.run, job.grant.token, false);
            if (answer.what == event::StartAnswer::What::started)
              world_.tell(fmt::format("{} starts job {} (attempt {}, claim {})", name(),
                                      raw(job.grant.token.job), job.grant.token.attempt,
                                      job.grant.token.claim));
            return answer;
          },
          [&](const command::ArmJobs& o) -> Answer {
            for (const auto& [run, load] : o.jobs)
              life.lane.emplace_back(run, life.state.lane.armed.at(run).job.grant.token);
            run_lane();
            return event::Armed{};
          },
          [&](const command::LetRun& o) -> Answer {
            life.lane_width = o.jobs;
            run_lane();
            return {};
          },
          [&](const command::TakeBack&) -> Answer {
            event::TakenBack back;
            for (const auto& [run, token] : std::exchange(life.lane, {})) back.runs.push_back(run);
            return back;
          },
          [&](const command::StopRun& o) -> Answer {
            const auto found = life.runs.find(o.run);
            if (found == life.runs.end()) return {};
            found->second.stopping = true;
            world_.at(world_.now() + std::min<Time>(o.lead, kReaction), node_,
                      [this, life_number = lives_, run = o.run] {
                        if (alive_ && life_number == lives_)
                          end_run(run, exec::Ending::stopped, SIGTERM);
                      });
            return {};
          },
          [&](const command::KillRun& o) -> Answer {
            const auto found = life.runs.find(o.run);
            if (found != life.runs.end()) found->second.stopping = true;
            end_run(o.run, exec::Ending::stopped, SIGKILL);
            return {};
          },
          [&](command::Submit& o) -> Answer {
            life.request = std::move(o.exchange);
            poke();
            return {};
          },
          [&](const command::AskStore&) -> Answer {
            life.asked = true;
            poke();
            return {};
          },
          [&](const command::LoseLease&) -> Answer {
            ++cluster_.figures.lost;
            life.lease.lose();
            kill_runs();
            return {};
          },
          [&](const command::LetGoOfLease&) -> Answer {
            life.lease.let_go();
            return {};
          },
          [&](const command::CloseShop&) -> Answer {
            life.closing = true;
            poke();
            return {};
          },
          [&](command::Goodbye& o) -> Answer {
            life.goodbye = std::move(o);
            life.blocked = true;
            poke();
            return {};
          },
          [&](const command::Tell& o) -> Answer {
            using What = worker::Notice::What;
            if (o.notice.what == What::result_refused) ++cluster_.figures.refused;
            if (o.notice.what == What::lease_lost || o.notice.what == What::too_late)
              world_.tell(fmt::format("{} has lost its lease: {}", name(), o.notice.text));
            if (o.notice.what == What::lease_in_doubt)
              world_.tell(fmt::format("{} doubts its lease", name()));
            return {};
          },
          [](const auto&) -> Answer { return {}; },
      },
      order);
}

void Process::end_life() {
  const worker::WorkerSummary& summary = life_->state.summary;
  world_.tell(fmt::format(
      "{} ends: {}", name(),
      summary.end == worker::WorkerEnd::lease_lost ? "its lease is lost" : "it leaves"));
  const bool again = summary.end == worker::WorkerEnd::lease_lost && !summary.interrupted &&
                     static_cast<std::size_t>(lives_) < kMostLosses;
  kill_runs();
  life_->closing = true;
  // What it waits for concerns nobody any more.
  alive_ = false;
  while (!thread_->done()) resume();
  if (!again) return;
  alive_ = true;
  store_.reset();
  begin();
}

// --- the thread of the store ---

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

bool Process::register_self() {
  Life& life = *life_;
  claim::WorkerInfo info;
  info.host = node_.name;
  info.pid = pid_;
  info.pid_start = 1;
  info.boot_id = node_.name;
  info.pid_namespace = "pid:[1]";
  info.user = "1 user:[1]";
  info.cpus = cluster_.scenario().cpus;
  info.memory = mebibytes(1 << 20);
  info.lease_ttl = cluster_.scenario().lease;
  info.registered_at = info.claims_from = node_.clock->wall_now();
  if (cluster_.scenario().in_slurm) {
    info.cluster = "c";
    info.allocation = allocation_;
    info.allocation_start = WallTime(1);
  }
  store_ = std::make_unique<NodeStore>(cluster_, *this);
  worker::Birth birth;
  const BootTime at = node_.clock->boot_now();
  claim::WorkflowLoad load;
  const auto done = store_->commit(0, [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(birth.terms.self, claim::register_worker(tx, info));
    info.own_heartbeat_file =
        claim::heartbeat_place(tx, birth.terms.self).file == store::HeartbeatFile::own;
    TORC_ASSIGN(load, claim::read_load(tx));
    TORC_ASSIGN(birth.workflow, claim::read_workflow(tx));
    return {};
  });
  if (!done || !alive_) return false;
  ++cluster_.figures.lives;
  worker::Terms& terms = birth.terms;
  terms.machine.cpus = info.cpus;
  terms.machine.memory = info.memory;
  terms.in_allocation = cluster_.scenario().in_slurm;
  terms.begun = at;
  terms.grace = 25s;
  terms.reserve = 5s;
  terms.lease_ttl = info.lease_ttl;
  terms.sigterm_lead = 10s;
  birth.seed = world_.random().next();
  birth.pace = claim::Pace(claim::Sharing::shared);
  birth.pace.saw({at, claim::raw(terms.self), load.workers, 0ns, load.job_time, load.ready});
  life.lease.hold(at, claim::fencing_limit(info.lease_ttl));
  const auto prepare = [](const claim::Reader& reader,
                          const claim::Grant& grant) -> std::optional<worker::ClaimedJob> {
    worker::ClaimedJob job;
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
  };
  store::World world{
      *node_.disk, *node_.clock, world_.random(), node_.name, node_.name, "pid:[1]", 0, {}};
  store::MountFacts facts;
  facts.kind = store::MountKind::nfs;
  life.state = be_born(std::move(birth), moment());
  life.side = std::make_unique<worker::StoreSide>(
      std::move(world), std::make_unique<NodeStore>(cluster_, *this), life.state.terms.self, info,
      at, prepare, std::make_unique<SeenProcesses>(cluster_, *this),
      std::make_unique<SeenSlurm>(cluster_, cluster_.scenario().in_slurm), facts, life.lease);
  life.turned = node_.clock->boot_now();
  life.born = true;
  world_.tell(fmt::format("{} has registered", name()));
  return true;
}

void Process::say_goodbye() {
  Life& life = *life_;
  const command::Goodbye order = *std::exchange(life.goodbye, std::nullopt);
  event::GoodbyeAnswer answer;
  const claim::WorkerEpoch self = life.state.terms.self;
  const auto left = store_->commit(raw(self), [&](store::Transaction& tx) -> Result<void> {
    if (order.speaks) {
      TORC_ASSIGN(answer.answer, claim::exchange(tx, order.words));
    }
    TORC_TRY(claim::release_worker(tx, self, order.words.now));
    TORC_ASSIGN(answer.workflow, claim::read_workflow(tx));
    return {};
  });
  if (!left) answer.error = left.error();
  if (!alive_) return;
  life.blocked = false;
  at(world_.now(), [this, answer = std::move(answer)]() mutable {
    feed(std::move(answer));
    life_->state.leaving.over ? end_life() : wake_at(world_.now());
  });
}

void Process::answer_requests() {
  Life& life = *life_;
  worker::StoreSide& side = *life.side;
  if (life.request) {
    worker::CommitReply reply = side.exchange(*std::exchange(life.request, std::nullopt));
    life.news.emplace_back(event::Answered{std::move(reply.error), std::move(reply.answer),
                                           std::move(reply.jobs), reply.commit.wrote,
                                           reply.commit.cost, reply.newest});
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
  for (const std::uint64_t pid : std::exchange(life.dead_neighbours, {})) {
    if (auto lost = side.neighbour_died(static_cast<int>(pid)))
      life.news.emplace_back(event::LeaseLost{*std::move(lost)});
  }
  side.keeper().answered();
  if (node_.clock->boot_now() < side.keeper().next_tick()) return;
  worker::StoreSide::News news =
      side.tick(node_.clock->boot_now() - life.turned < life.state.terms.lease_ttl / 2);
  if (news.lost) life.news.emplace_back(event::LeaseLost{*std::move(news.lost)});
  if (!news.revoked.empty()) life.news.emplace_back(event::Revoked{std::move(news.revoked)});
  if (!life.news.empty()) wake_at(world_.now());
}

void Process::serve() {
  for (Time pause = 1s; alive_ && !register_self(); pause = std::min<Time>(2 * pause, 30s))
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
    const bool more = life.request || life.asked || !life.dead_neighbours.empty();
    if (life.goodbye || (more && !life.closing)) continue;
    const Time next =
        life.closing ? Time(24h) : world_time(life.side->keeper().next_tick()) - world_.now();
    serving_ = true;
    wait(std::max<Time>(next, 1us));
    serving_ = false;
  }
}

}  // namespace torc::simulation
