#include "tests/simulation/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/worker/bell/message.h"

namespace torc::simulation {

using namespace std::chrono_literals;

Process::Process(Cluster& cluster, Node& node, std::uint64_t pid, std::string allocation,
                 int starters)
    : cluster_(cluster),
      world_(cluster.world()),
      node_(node),
      pid_(pid),
      allocation_(std::move(allocation)),
      allocation_start_(cluster.start_of(allocation_)),
      starters_(starters) {}

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

void Process::stood_still(Time time) {
  if (!alive_ || life_ == nullptr || !life_->born) return;
  life_->news.insert(life_->news.begin(), worker::event::StoodStill{time});
  wake_at(world_.now());
}

std::optional<Time> Process::ends_at() const {
  if (life_ == nullptr || !life_->state.terms.ends_at) return std::nullopt;
  return world_.now() + (*life_->state.terms.ends_at - node_.clock->boot_now());
}

void Process::hear_bell() {
  if (!alive_ || life_ == nullptr || !life_->born) return;
  life_->bell = true;
  wake_at(world_.now());
}

void Process::look(const std::function<void(const store::Reader&)>& body) const {
  (void)cluster_.state().view(store::Freshness::cached, [&](const store::Reader& reader) {
    body(reader);
    return Result<void>();
  });
}

std::optional<claim::BellPlace> Process::bell() const {
  if (!cluster_.scenario().bells) return std::nullopt;
  return cluster_.bells().place_of(pid_);
}

void Process::hear_datagram(const std::string& bytes) {
  if (!alive_ || life_ == nullptr || !life_->born) return;
  const auto message = worker::read_bell(bytes, cluster_.state().identity().instance, bell()->key);
  if (!message) return;
  life_->news.emplace_back(worker::event::Bell{message->commit, message->place});
  wake_at(world_.now());
}

void Process::neighbour_ended(std::uint64_t pid) {
  if (!alive_ || life_ == nullptr || !life_->born) return;
  life_->dead_neighbours.push_back(pid);
  poke();
}

bool Process::is_in_doubt() const {
  return life_ == nullptr || !life_->born || life_->lease.paused() || life_->state.lost_lease();
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

}  // namespace torc::simulation
