// The main thread of a simulated worker: the loop around the state machine.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/simulation/process.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;
using worker::Command;
using worker::Event;
namespace command = worker::command;
namespace event = worker::event;

constexpr std::size_t kMostLosses = 3;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

}  // namespace

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
  if (const auto* revoked = std::get_if<event::Revoked>(&event)) note_told(revoked->tokens);
  if (const auto* answered = std::get_if<event::Answered>(&event))
    note_told(answered->answer.revoked);
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
  for (Event& news : life.news) {
    if (std::holds_alternative<event::StoodStill>(news)) feed(news);
  }
  std::erase_if(life.news,
                [](const Event& news) { return std::holds_alternative<event::StoodStill>(news); });
  see_lease();
  for (event::Ended& end : std::exchange(life.ends, {})) feed(std::move(end));
  for (Event& news : std::exchange(life.news, {})) feed(std::move(news));
  see_lease();
  look_at_share();
  feed(event::Turn{life.ledger != nullptr ? life.ledger->owed_to_others() : 0});
  life.turned = node_.clock->boot_now();
  update_runs();
  if (life.state.leaving.over) return end_life();
  if (!life.blocked)
    wake_at(std::max(world_.now() + 1us, world_time(worker::wake_at(life.state, life.turned))));
}

// Whether what it had is still its own; whether there is more.
void Process::look_at_share() {
  Life& life = *life_;
  if (life.ledger == nullptr) return;
  if (!life.ledger->is_there()) {
    exec::NodeHolding used = life.state.share.use().in_use();
    used.waiting_since = {};
    life.ledger->reenter(used);
    feed(event::ShareLost{life.ledger->holding()});
  }
  const auto look = life.state.share.wake_at();
  if (std::exchange(life.bell, false) || (look && node_.clock->boot_now() >= *look))
    feed(event::ShareBell{life.ledger->could_hold()});
}

std::optional<Event> Process::carry_out(Command& order) {
  using Answer = std::optional<Event>;
  Life& life = *life_;
  return std::visit(
      Overloaded{
          [&](const command::StartJob& o) -> Answer {
            if (o.gang != nullptr) return start_part(o);
            const worker::ClaimedJob& job = life.state.queue[life.state.scan];
            auto answer = start(o.run, job.grant.token, From::queue);
            if (answer.what == event::StartAnswer::What::started)
              world_.tell(fmt::format("{} starts job {} (attempt {}, claim {})", name(),
                                      raw(job.grant.token.job), job.grant.token.attempt,
                                      job.grant.token.claim));
            return answer;
          },
          [&](const command::StartRecovery& o) -> Answer { return start(o); },
          [&](const command::StartAction& o) -> Answer { return start(o); },
          [&](const command::ForgetRun& o) -> Answer {
            life.runs.erase(o.run);
            return {};
          },
          [&](const command::EndGang& o) -> Answer { return end_gang(o); },
          [&](const command::LookAtOutputs& o) -> Answer {
            return event::OutputsSeen{o.run, {}};
          },
          [&](const command::TakeShare& o) -> Answer {
            const exec::NodeLedger::Taken taken = life.ledger->take(o.want);
            return event::ShareTaken{life.ledger->holding(), taken.complete, taken.again};
          },
          [&](const command::KeepShare& o) -> Answer {
            life.ledger->keep(o.rest);
            return event::ShareHeld{life.ledger->holding()};
          },
          [&](const command::WaitForShare& o) -> Answer {
            life.ledger->wait_for_more(o.waits);
            return event::ShareHeld{life.ledger->holding()};
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
            stop_run(o.run, o.lead);
            return {};
          },
          [&](const command::KillRun& o) -> Answer {
            kill_run(o.run);
            return {};
          },
          [&](command::Submit& o) -> Answer {
            life.request = std::move(o.exchange);
            poke();
            return {};
          },
          [&](const command::LookAtAllocation&) -> Answer {
            life.looks = true;
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
  const worker::State& state = life_->state;
  if (state.lost_lease() && (!state.queue.empty() || state.has_reports() || !state.is_quiet()))
    world_.violate(name() +
                   " has lost its lease, and has something to start or to say all the same");
  const worker::WorkerSummary& summary = state.summary;
  world_.tell(fmt::format(
      "{} ends: {}", name(),
      summary.end == worker::WorkerEnd::lease_lost ? "its lease is lost" : "it leaves"));
  if (summary.end == worker::WorkerEnd::idle) ++cluster_.figures.idle;
  const bool again = summary.end == worker::WorkerEnd::lease_lost && summary.interrupted_by == 0 &&
                     static_cast<std::size_t>(lives_) < kMostLosses;
  kill_runs();
  life_->ledger.reset();
  life_->closing = true;
  // What it waits for concerns nobody any more.
  alive_ = false;
  while (!thread_->done()) resume();
  if (!again) return;
  alive_ = true;
  store_.reset();
  begin();
}

}  // namespace torc::simulation
