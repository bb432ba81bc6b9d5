// How a worker's part in a job of several nodes ends. Whatever runs here is ended, and whatever
// else of it is found on this node, before the worker says that it has left: then its node is free.
#include <cerrno>
#include <map>
#include <utility>

#include "lib/base/dead_mount.h"
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::GangWord;
using claim::JobState;

constexpr std::chrono::nanoseconds kLongestClearDelay = 2s;

void stop_here(const Step& s, std::chrono::nanoseconds lead) {
  OwnGang& g = *s.w.gang;
  if (g.run && !std::exchange(g.stopped, true))
    s.order(command::StopRun{*g.run, std::min(lead, kGangLead)});
}

// Another node has saved its state: what runs here is told to do the same, and has all of its time
// for that.
void save_here(const Step& s) {
  OwnGang& g = *s.w.gang;
  if (g.run && !g.stopped && !std::exchange(g.saves, true))
    s.order(command::StopRun{*g.run, term_lead(s.w)});
}

// Where the end of the head's command is kept.
std::map<Run, Running>::iterator kept_end(State& w) {
  return std::find_if(w.running.begin(), w.running.end(),
                      [](const auto& r) { return r.second.of_gang && r.second.ended; });
}

bool ended_well(const claim::Outcome& o) {
  return o.cause == claim::EndCause::exited && o.exit_code == 0;
}

// As Blame has it, which the other node alone knows.
bool is_of_node(const claim::Outcome& o) {
  if (o.cause != claim::EndCause::not_started) return false;
  const int error = o.os_errno;
  return o.fault != claim::StartFault::program || is_of_dead_mount(error) || error == ENOSPC ||
         error == EDQUOT || error == EROFS;
}

// What the end of another node is to the job, as verdict() has it for one's own.
JobState state_of(const State& w, const claim::Outcome& o, const Running& job) {
  const bool again = job.job.grant.stopped + 1 < claim::kMostStops;
  if (ended_well(o)) return JobState::completed;
  if (claim::is_interruption(o.cause)) return again ? JobState::ready : JobState::terminated;
  if (o.cause == claim::EndCause::timed_out) return JobState::terminated;
  const int code = job.job.checkpoint_exit_code;
  const bool may_go_on = o.cause == claim::EndCause::exited && code != 0 && o.exit_code == code &&
                         w.terms.in_allocation;
  return again && (is_of_node(o) || may_go_on) ? JobState::ready : JobState::failed;
}

// Torc told it to end, which is no failure beside one that has saved its state.
bool was_told(const claim::Outcome& o) {
  return o.cause == claim::EndCause::timed_out || claim::is_interruption(o.cause);
}

// Of the other nodes, the first that failed.
const claim::Outcome* first_failure(const claim::Gang& gang) {
  const claim::Outcome* first = nullptr;
  for (std::size_t rank = 1; rank < gang.members.size(); ++rank) {
    const claim::GangMember& m = gang.members[rank];
    if (!m.end || m.saved || ended_well(*m.end)) continue;
    if (first == nullptr || m.end->ended_at < first->ended_at) first = &*m.end;
  }
  return first;
}

// The end of the first that has saved its state, when none had failed by itself before; else null.
const claim::Outcome* first_save(const claim::Gang& gang, const claim::Finished& head) {
  const claim::Outcome* saved = nullptr;
  const claim::Outcome* failed = nullptr;
  const auto look_at = [&](const claim::Outcome& o, bool is_saved) {
    if (!is_saved && (ended_well(o) || was_told(o))) return;
    const claim::Outcome*& first = is_saved ? saved : failed;
    if (first == nullptr || o.ended_at < first->ended_at) first = &o;
  };
  look_at(head.outcome, head.checkpointed);
  for (std::size_t rank = 1; rank < gang.members.size(); ++rank) {
    const claim::GangMember& m = gang.members[rank];
    if (m.end) look_at(*m.end, m.saved);
  }
  return saved != nullptr && failed != nullptr && failed->ended_at < saved->ended_at ? nullptr
                                                                                     : saved;
}

bool all_others_ended(const claim::Gang& gang) {
  return std::all_of(gang.members.begin() + 1, gang.members.end(),
                     [](const claim::GangMember& m) { return m.end.has_value(); });
}

// With its rank, where it is of another node than the head.
claim::Outcome with_rank(const claim::Outcome& outcome, const claim::Gang& gang) {
  claim::Outcome named = outcome;
  for (std::uint32_t rank = 1; rank < gang.members.size(); ++rank) {
    const claim::GangMember& m = gang.members[rank];
    if (!m.end || &*m.end != &outcome) continue;
    named.rank = rank;
    named.member = m.worker;
  }
  return named;
}

claim::Finished end_of(const claim::Finished& head, const claim::Outcome& of, JobState state) {
  claim::Finished whole = head;
  whole.checkpointed = false;
  if (&of != &head.outcome) whole.said = claim::Trouble::unknown;  // its own output says it
  whole.outcome = of;
  whole.state = state;
  return whole;
}

// What the command came to, on the head alone or on each node; nothing: that is not known yet.
std::optional<claim::Finished> whole_of(const Step& s, const Running& head) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  const claim::Finished& own = *head.ended;
  if (!head.job.on_each_node || head.revoked) return own;
  const bool hurries = w.phase == Phase::stopping && !waits_for_saves(w, s.now);
  const bool all_ended = all_others_ended(g.gang());
  if (const claim::Outcome* saved = first_save(g.gang(), own)) {
    if (!all_ended && !hurries) return std::nullopt;  // they save theirs, or are ended
    claim::Finished whole = end_of(own, *saved, JobState::ready);
    whole.checkpointed = true;
    return whole;
  }
  const bool first_ends = head.job.ends_with_first_failure;
  const claim::Outcome* other = first_failure(g.gang());
  // One that was ended for a failure elsewhere has not failed.
  const bool own_failed = !ended_well(own.outcome) && !(g.stopped && other != nullptr);
  if (hurries && own_failed) return own;
  const bool own_first =
      other == nullptr || (own_failed && own.outcome.ended_at <= other->ended_at);
  const claim::Outcome& first = own_first ? own.outcome : *other;
  // The time of all of them is up: one that takes longer may be saving its state.
  const bool may_save =
      head.job.checkpoint_exit_code != 0 && first.cause == claim::EndCause::timed_out;
  if (!all_ended && (may_save || !(first_ends && (own_failed || other != nullptr)))) {
    if (!hurries) return std::nullopt;
    claim::Outcome cut = own.outcome;  // it did not wait for the others
    cut.cause = w.stop_cause;
    return end_of(own, cut, state_of(w, cut, head));
  }
  return own_first ? own : end_of(own, with_rank(first, g.gang()), state_of(w, first, head));
}

// A failure that the death of another node may explain: a rank that waits for a dead one may wait
// until the job's time is up.
bool may_be_of_a_loss(const claim::Finished& whole, const Running& head) {
  const claim::EndCause cause = whole.outcome.cause;
  const bool failed = whole.state == JobState::failed || whole.state == JobState::terminated;
  return !head.revoked && failed &&
         (cause == claim::EndCause::exited || cause == claim::EndCause::signaled ||
          cause == claim::EndCause::timed_out);
}

void ask_who_lives(const Step& s, const Running& head) {
  OwnGang& g = *s.w.gang;
  if (!g.showed_life) {
    g.showed_life = s.now;
    g.look_at = s.now + kFirstLifeLook;
    GangWord word;
    word.token = g.token();
    word.what = GangWord::What::lives;
    return say_of_gang(s, std::move(word));
  }
  if (s.now < *g.showed_life + kLifeUnusual || std::exchange(g.told_silent, true)) return;
  std::string silent;
  for (std::size_t rank = 1; rank < g.gang().members.size(); ++rank) {
    const claim::GangMember& m = g.gang().members[rank];
    if (!m.lives) silent += (silent.empty() ? "" : ", ") + m.node;
  }
  s.tell({.what = Notice::What::gang_silent, .job = head.job.load, .text = silent});
}

// A recovery script follows, once, what the head alone has run. False: none is due.
bool recover_head(const Step& s, std::map<Run, Running>::iterator kept, claim::Finished& whole) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  if (kept->second.revoked || kept->second.job.on_each_node || std::exchange(g.recovered, true))
    return false;
  Running job = kept->second;
  job.ended.reset();
  if (!recover(s, job, whole)) return false;
  w.running.erase(kept);
  Running& script = w.running.at(*g.run);
  script.cpus = take_cpus(w, script.job);
  return true;
}

void conclude_head(const Step& s, std::map<Run, Running>::iterator kept) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  auto whole = whole_of(s, kept->second);
  if (!whole || !judge_gang_outputs(s, kept->first, kept->second, *whole)) return;
  if (may_be_of_a_loss(*whole, kept->second) && !g.gang().all_live()) {
    if (w.phase != Phase::stopping) return ask_who_lives(s, kept->second);
    // It has no time to find out: nobody can say that the failure is the job's own.
    whole->outcome.cause = w.stop_cause;
    whole->state = state_of(w, whole->outcome, kept->second);
  }
  if (!recover_head(s, kept, *whole)) g.whole = std::move(whole);
}

void conclude_gang(const Step& s) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  if (g.whole || g.is_over()) return;
  if (g.gang().is_saved()) save_here(s);
  if (!g.is_head()) return;
  const auto head = kept_end(w);
  if (head != w.running.end()) return conclude_head(s, head);
  const auto runs = g.run ? w.running.find(*g.run) : w.running.end();
  if (runs == w.running.end()) return;
  const ClaimedJob& job = runs->second.job;
  if (!job.on_each_node || !job.ends_with_first_failure || g.saves) return;
  const claim::Outcome* failure = first_failure(g.gang());
  if (failure == nullptr) return;
  if (job.checkpoint_exit_code != 0 && failure->cause == claim::EndCause::timed_out)
    return save_here(s);
  stop_here(s, term_lead(w));
}

// A member that is told to stop says first that it leaves: the attempt ends by that, and not by
// what its ranks die of. That it has left it says when nothing of it is left here: should it die
// before, others know what to look for.
void leave_early(const Step& s) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  if (g.is_head() || g.is_over()) return;
  if (w.phase == Phase::stopping && !g.leaves && !waits_for_saves(w, s.now)) leave_gang_early(s);
  if (g.leaves && s.now >= *g.leaves + kLeftPatience) g.unheard = true;
}

// False: not yet.
bool clear_node(const Step& s) {
  OwnGang& g = *s.w.gang;
  if (g.cleared || !g.may_have_run()) return true;
  if (g.clearing || s.now < g.clear_at) return false;
  if (!g.clear_since) g.clear_since = s.now;
  g.clearing = true;
  s.order(command::EndGang{g.token()});
  return false;
}

// One that is told to leave has no time; one that lost its lease would come back beside what is
// left.
std::chrono::nanoseconds clear_patience(const State& w, exec::Leftovers left) {
  const bool hurries =
      w.phase == Phase::stopping && (w.summary.interrupted_by != 0 || !w.lost_lease());
  if (hurries) return kLeftPatience;
  return left == exec::Leftovers::unknown ? kUnseenPatience : kClearPatience;
}

// It had begun, and nobody is told how it ended: the attempt was over before.
void drop_run(const Step& s, const Running& job) {
  State& w = s.w;
  w.pace.job_ended(s.now - job.started, s.now);
  ++w.summary.given_back;
}

void let_go_of_node(State& w) {
  const OwnGang& g = *w.gang;
  if (g.has_node && !w.terms.max_parallel_jobs) w.share.use().put_back(g.node, g.pieces);
}

void depart_from_gang(const Step& s) {
  State& w = s.w;
  let_go_of_node(w);
  const OwnGang g = *std::exchange(w.gang, std::nullopt);
  w.left_gang = std::max(w.left_gang, g.token().claim);
  if (!g.gone) {
    GangWord word;
    word.token = g.token();
    word.what = GangWord::What::left;
    say_of_gang(s, std::move(word));
  }
  if (g.revoked && !w.lost_lease()) w.talk.returns.push_back(g.token());
  if (auto kept = kept_end(w); kept != w.running.end()) {
    const Running head = std::move(kept->second);
    w.running.erase(kept);
    if (g.whole || head.revoked) {
      report_end(s, head, g.whole.value_or(*head.ended));
    } else {
      drop_run(s, head);
      if (!g.told_loss) s.tell({.what = Notice::What::gang_over, .job = head.job.load});
    }
  }
  w.idle_since = s.now;
  if (w.is_quiet()) w.quiet_since = s.now;
  w.talk.nothing_claimable = false;
  if (w.end) hurry(s);
  w.talk.speak_by = s.now;
}

}  // namespace

bool keep_gang_end(const Step& s, const Running& job, claim::Finished& finished) {
  State& w = s.w;
  if (!job.of_gang || !w.gang || job.ended) return false;
  OwnGang& g = *w.gang;
  g.run.reset();
  g.ended_here = true;
  release(w, job);
  count_start(s, job);
  GangWord word;
  word.token = g.token();
  word.what = GangWord::What::ended;
  word.outcome = finished.outcome;
  word.saved = finished.checkpointed;
  if (g.is_head()) {
    // Of its own end the others need to know this alone.
    if (word.saved && job.job.on_each_node && !job.revoked && !g.is_over())
      say_of_gang(s, std::move(word));
    Running& kept = w.running[next_run(w)];
    kept = job;
    kept.cpus.clear();
    kept.ended = std::move(finished);
  } else if (!g.is_over() && !g.leaves) {
    say_of_gang(s, std::move(word));
  }
  return true;
}

std::optional<BootTime> saves_until(const State& w) {
  if (w.phase != Phase::stopping || !w.gang || !w.gang->may_save || w.gang->leaves)
    return std::nullopt;
  if (w.summary.interrupted_by != 0) {
    const bool in_time = w.orders.asked <= Asked::to_end_in_time && w.orders.drain_until;
    return in_time ? w.orders.drain_until : std::nullopt;
  }
  return w.terms.ends_at;
}

bool waits_for_saves(const State& w, BootTime now) {
  const auto until = saves_until(w);
  return until && now < *until;
}

bool revoke_gang(const Step& s, const claim::ClaimToken& token) {
  State& w = s.w;
  if (!w.gang || !w.gang->is_head() || w.gang->token() != token || !w.gang->job) return false;
  w.gang->revoked = true;
  return true;
}

bool goes_on_for_gang(const State& w, const Running& job) {
  return job.of_gang && w.gang && !w.gang->is_head() && !w.gang->is_over();
}

void leave_gang_early(const Step& s) {
  OwnGang& g = *s.w.gang;
  g.leaves = s.now;
  GangWord word;
  word.token = g.token();
  word.what = GangWord::What::leaves;
  say_of_gang(s, std::move(word));
}

bool end_gang(const Step& s) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  leave_early(s);
  conclude_gang(s);
  if (!g.is_over() && !g.whole) return false;
  if (g.run) {
    stop_here(s, term_lead(w));
  } else if (clear_node(s)) {
    depart_from_gang(s);
  }
  return true;
}

void gang_cleared(const Step& s, const event::GangCleared& cleared) {
  State& w = s.w;
  if (!w.gang || w.gang->token() != cleared.token) return;
  OwnGang& g = *w.gang;
  g.clearing = false;
  g.swept = true;
  if (!g.is_over() && !g.whole) return;  // more may come yet
  if (!g.clear_since) g.clear_since = s.now;
  const std::chrono::nanoseconds patience = clear_patience(w, cleared.left);
  // What /proc hides from this user is still hidden when it is looked at again.
  if (cleared.left == exec::Leftovers::none || cleared.left == exec::Leftovers::hidden) {
    g.cleared = true;
  } else if (s.now >= *g.clear_since + patience) {
    g.cleared = true;
    s.tell({.what = Notice::What::gang_left_some,
            .job = g.job ? g.job->load : nullptr,
            .time = patience});
  } else {
    g.clear_at = s.now + g.clear_delay;
    g.clear_delay = std::min(2 * g.clear_delay, kLongestClearDelay);
  }
}

void forget_gang(const Step& s) {
  State& w = s.w;
  if (!w.gang) return;
  // Its command was killed with all others.
  OwnGang& g = *w.gang;
  g.gone = true;
  g.ended_here = g.ended_here || g.run;
  g.run.reset();
  if (clear_node(s)) depart_from_gang(s);
}

}  // namespace torc::worker
