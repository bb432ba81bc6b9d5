#include "lib/worker/machine/step.h"
#include "lib/base/overloaded.h"

#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

// Everything that is to be done now that all that has happened was told. Each stage that must wait
// for an answer is run again when it is here.
void turn(const Step& s) {
  State& w = s.w;
  bool had_gang = w.gang.has_value();
  while (w.awaited == Awaited::nothing) {
    switch (w.stage) {
      case Stage::time:
        if (check_time(s)) w.stage = Stage::leaving;
        break;
      case Stage::leaving:
        if (!leave(s)) break;
        w.stage = w.leaving.begun ? Stage::done : Stage::others;
        break;
      case Stage::others:
        let_others(s);
        w.stage = Stage::actions;
        break;
      case Stage::actions:
        if (run_actions(s)) w.stage = Stage::gang;
        break;
      case Stage::gang:
        if (!run_gang(s)) break;
        w.share_asked = false;
        // It may have waited for the end of its gang to leave.
        w.stage = std::exchange(had_gang, w.gang.has_value()) && !w.gang && w.end ? Stage::leaving
                                                                                  : Stage::lane;
        break;
      case Stage::lane:
        if (fill_lane(s)) w.stage = w.lane.armed.empty() ? Stage::jobs : Stage::words;
        w.scan = 0;
        w.share_asked = w.share_asked && w.awaited != Awaited::nothing;
        break;
      case Stage::jobs:
        if (!start_jobs(s)) break;
        w.share_asked = false;
        w.stage = Stage::words;
        break;
      case Stage::words:
        if (!w.share_asked) return_unfit(s);
        if (!send_if_due(s)) break;
        settle_share(s);
        w.stage = Stage::done;
        break;
      case Stage::done:
        return;
    }
  }
}

// False: it is to be run again after an answer.
bool run(const Step& s, Event& event) {
  State& w = s.w;
  return std::visit(Overloaded{
                        [&](const event::Turn& e) {
                          w.owed_to_others = e.owed_to_others;
                          turn(s);
                          return w.stage == Stage::done;
                        },
                        [&](const event::LeaseSeen& e) {
                          follow_lease(s, e);
                          return true;
                        },
                        [&](const event::StoodStill& e) {
                          stand_still(w, e.time);
                          return true;
                        },
                        [&](const event::EndMoved& e) {
                          move_end(w, e.ends_at);
                          return true;
                        },
                        [&](const event::Signal& e) {
                          if (!settle_lane(s)) return false;
                          take_signal(s, e.number);
                          return true;
                        },
                        [&](const event::Halt& e) {
                          if (!settle_lane(s)) return false;
                          take_halt(s, e.now);
                          return true;
                        },
                        [&](const event::Ended& e) {
                          job_ended(s, e);
                          return true;
                        },
                        [&](const event::OutputsSeen& e) {
                          see_outputs(s, e);
                          return true;
                        },
                        [&](const event::Begun& e) {
                          take_begun(s, e);
                          return true;
                        },
                        [&](const event::Declined& e) {
                          if (!settle_lane(s)) return false;
                          take_declined(s, e);
                          return true;
                        },
                        [&](const event::Changed&) {
                          w.talk.nothing_claimable = false;
                          return true;
                        },
                        [&](const event::Bell& e) {
                          hear_bell(s, e);
                          return true;
                        },
                        [&](const event::Revoked& e) {
                          if ((!e.tokens.empty() || !w.talk.unplaced.empty()) && !settle_lane(s))
                            return false;
                          end_revoked(s, e.tokens);
                          return true;
                        },
                        [&](event::GangSeen& e) {
                          see_gang(s, e.commit, e.part, std::move(e.job));
                          return true;
                        },
                        [&](const event::GangCleared& e) {
                          gang_cleared(s, e);
                          return true;
                        },
                        [&](const event::LeaseLost& e) {
                          if (!w.lost_lease()) lose_lease(s, e.why);
                          return true;
                        },
                        [&](const event::ShareBell& e) {
                          look_at_share(s, e.could_hold);
                          return true;
                        },
                        [&](const event::ShareLost& e) {
                          w.share.lost(e.holding);
                          for (auto& [number, job] : w.running) job.doubtful = true;
                          return true;
                        },
                        [&](event::Answered& e) {
                          if (ends_something(w, e) && !settle_lane(s)) return false;
                          take_answer(s, e);
                          return true;
                        },
                        [&](const event::AskAnswered& e) {
                          w.doubt.asking = false;
                          w.doubt.no_answer = e.error;
                          return true;
                        },
                        [&](const event::AllocationSeen& e) {
                          see_allocation(s, e);
                          return true;
                        },
                        [&](const event::StartAnswer& e) {
                          take_recovery_start(s, e);
                          return true;
                        },
                        // Answers that nobody waits for any more.
                        [](const auto&) { return true; },
                    },
                    event);
}

void take_awaited_start(const Step& s, const event::StartAnswer& answer) {
  switch (s.w.stage) {
    case Stage::actions:
      return take_action_start(s, answer);
    case Stage::gang:
      return take_gang_start(s, answer);
    default:
      return take_start(s, answer);
  }
}

// Whether this is what is awaited, or counts at once in any case.
bool take_at_once(const Step& s, Event& event) {
  State& w = s.w;
  const auto arrived = [&](Awaited what) {
    const bool awaited = w.awaited == what;
    if (awaited) w.awaited = Awaited::nothing;
    return awaited;
  };
  return std::visit(Overloaded{
                        [&](const event::StartAnswer& e) {
                          if (w.awaited != Awaited::start || e.run != w.starting) return false;
                          w.awaited = Awaited::nothing;
                          take_awaited_start(s, e);
                          return true;
                        },
                        [&](const event::Armed& e) {
                          if (arrived(Awaited::armed)) take_armed(s, e);
                          return true;
                        },
                        [&](const event::TakenBack& e) {
                          arrived(Awaited::taken_back);
                          take_back(s, e);
                          return true;
                        },
                        [&](const event::ShareTaken& e) {
                          if (arrived(Awaited::share)) w.share.grown(e, s.now, s.out);
                          return true;
                        },
                        [&](const event::ShareHeld& e) {
                          w.share.held(e.holding);
                          return true;
                        },
                        [&](event::GoodbyeAnswer& e) {
                          if (arrived(Awaited::goodbye)) take_goodbye(s, e);
                          return true;
                        },
                        [](const auto&) { return false; },
                    },
                    event);
}

}  // namespace

double roll(State& w) {
  return static_cast<double>(w.dice.next() >> 11) * 0x1p-53;
}

Run next_run(State& w) {
  return Run{++w.last_run};
}

State be_born(Birth birth, Moment now) {
  State w;
  w.terms = std::move(birth.terms);
  w.dice = SeededEntropy(birth.seed);
  w.share = NodeShare(w.terms.machine);
  w.cpu_pool = std::move(birth.cpu_pool);
  w.pace = birth.pace;
  w.summary.epoch = claim::raw(w.terms.self);
  w.summary.workflow = std::move(birth.workflow);
  w.actions.any = !w.terms.actions.empty();
  w.actions.asked_welcome = std::none_of(
      w.terms.actions.begin(), w.terms.actions.end(),
      [](const Terms::Action& a) { return a.trigger == claim::Trigger::worker_start; });
  w.idle_since = now.boot;
  if (birth.first_claim) w.talk.not_before = w.no_start_before = *birth.first_claim;
  return w;
}

void step(State& state, Event event, Moment now, Commands& commands) {
  const Step s{state, now.boot, now.wall, commands};
  State& w = state;
  const bool goes_on = take_at_once(s, event);
  if (!goes_on) {
    w.agenda.push_back(std::move(event));
    if (w.awaited != Awaited::nothing || w.agenda.size() > 1) return;
  }
  for (bool anew = !goes_on; !w.agenda.empty() && w.awaited == Awaited::nothing; anew = true) {
    if (anew) {
      w.lane_settled = false;
      w.share_asked = false;
      w.stage = Stage::time;
    }
    if (!run(s, w.agenda.front())) return;
    w.agenda.pop_front();
  }
}

}  // namespace torc::worker
