// A worker's last words: what is still to be said and the release, in one commit.
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kLeavePatience = 20s;  // with a store that cannot be told of a release

void say_goodbye(const Step& s) {
  State& w = s.w;
  claim::Exchange words;
  words.worker = w.terms.self;
  words.now = s.wall;
  words.starts = w.talk.starts;
  words.finishes = w.talk.finishes;
  words.returns = w.talk.returns;
  words.gang = w.talk.gang;
  words.actions = w.actions.reports;
  w.leaving.asked = s.now;
  w.leaving.again.reset();
  w.awaited = Awaited::goodbye;
  s.order(command::Goodbye{std::move(words), w.has_reports()});
}

// Of all that it could not say nothing is known in the store, and no release was made either: its
// jobs are its own until its lease has run out.
void give_up(const Step& s, const Error& error) {
  State& w = s.w;
  const std::size_t results = w.talk.finishes.size();
  w.talk.starts.clear();
  w.talk.finishes.clear();
  w.talk.returns.clear();
  w.talk.gang.clear();
  forget_unconfirmed(w);
  forget_actions(w);
  w.actions.asked_farewell = true;
  s.tell({.what = Notice::What::gave_up_results,
          .count = results,
          .flag = error.kind == ErrorKind::unknown,
          .text = error.text()});
}

void depart(const Step& s) {
  State& w = s.w;
  w.leaving.over = true;
  if (w.leaving.failure) {
    if (w.has_reports()) give_up(s, *w.leaving.failure);
    if (w.leaving.failure->kind == ErrorKind::fenced) w.leaving.failure.reset();
  }
  s.order(command::Leave{w.leaving.failure});
}

// Whether it has tried for long enough.
bool has_tried_enough(const State& w, BootTime now) {
  return gives_up(w, now) || (!w.has_reports() && now >= w.leaving.since + kLeavePatience) ||
         now >= w.leaving.since + w.terms.lease_ttl;
}

}  // namespace

bool is_over(const State& w) {
  const bool acting = w.talk.tries_no_more ? w.actions.busy() : w.actions.active();
  return w.end && w.is_quiet() && w.queue.empty() && !w.gang && !acting && !wants_farewell(w) &&
         !w.talk.busy;
}

bool may_leave(const State& w, BootTime now) {
  if (!is_over(w)) return false;
  return w.talk.tries_no_more || !w.has_reports() ||
         (w.talk.retry_delay == kFirstRetry && now >= due_at(w));
}

bool leave(const Step& s) {
  State& w = s.w;
  Leaving& leaving = w.leaving;
  if (!leaving.begun) {
    if (!may_leave(w, s.now)) return true;
    leaving.begun = true;
    leaving.since = s.now;
    w.summary.end = *w.end;
    s.order(command::CloseShop{});
    if (w.lost_lease()) {
      depart(s);
      return true;
    }
    s.order(command::LetGoOfLease{});
    say_goodbye(s);
    return false;
  }
  if (!leaving.again || (s.now < *leaving.again && !gives_up(w, s.now))) return true;
  say_goodbye(s);
  return false;
}

void take_goodbye(const Step& s, event::GoodbyeAnswer& answer) {
  State& w = s.w;
  Leaving& leaving = w.leaving;
  const bool first = leaving.delay == 0ns;
  // What hung has not said no.
  if (!first) leaving.since += s.now - leaving.asked;
  if (first) leaving.since = s.now;
  if (!answer.error) {
    const bool spoke = w.has_reports();
    tell_refused(s, answer.answer.refused);
    w.talk.starts.clear();
    w.talk.finishes.clear();
    w.talk.returns.clear();
    w.talk.gang.clear();
    w.actions.reports.clear();
    w.talk.unsaid = {};
    // Told by an exchange only.
    answer.workflow.budget_holds = w.summary.workflow.budget_holds;
    answer.workflow.limits_hold = w.summary.workflow.limits_hold;
    w.summary.workflow = std::move(answer.workflow);
    if (spoke) s.order(command::ShowProgress{});
    leaving.failure.reset();
    return depart(s);
  }
  leaving.failure = answer.error;
  if (!may_pass(*answer.error) || has_tried_enough(w, s.now)) return depart(s);
  leaving.delay = first ? kFirstRetry / 4 : std::min(2 * leaving.delay, kRetryLeaving);
  if (first && w.has_reports())
    s.tell({.what = Notice::What::cannot_write, .text = answer.error->text()});
  leaving.again = s.now + leaving.delay;
}

void forget_unconfirmed(State& w) {
  for (Tally* tally : {&w.talk.unsaid, &w.talk.in_flight_tally}) {
    w.summary.completed -= tally->completed;
    w.summary.failed -= tally->failed;
    *tally = {};
  }
}

// It keeps what it has not said: the release may not be made without it, since the store would take
// a job whose start it was not told of for one that never started.
void stop_trying(const Step& s) {
  State& w = s.w;
  w.talk.tries_no_more = true;
  w.actions.asked_farewell = true;
  stop_actions(s, 0ns);
  kill_actions(s);
}

}  // namespace torc::worker
