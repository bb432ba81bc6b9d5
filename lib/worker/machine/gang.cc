// What a worker does as a part of a job of several nodes, up to the start of the command: it learns
// of its gang, takes its whole node, confirms that, and waits. The head starts the command when all
// have confirmed; where each node runs it, the others do when the head has said so.
#include <fmt/format.h>

#include <utility>

#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::GangStage;
using claim::GangWord;
using std::chrono::nanoseconds;

constexpr int kMostRefusals = 5;  // of a start, in a row

// Workers of a gang that was formed by one commit do not all look at the same time.
BootTime next_look(State& w, BootTime now) {
  const OwnGang& g = *w.gang;
  nanoseconds every = kGangLook;
  if (g.is_head() && g.showed_life)
    every = std::clamp(now - *g.showed_life, kFirstLifeLook, kGangLook);
  const double part = 0.8 + 0.2 * roll(w);
  return now + nanoseconds(static_cast<std::int64_t>(static_cast<double>(every.count()) * part));
}

nanoseconds gang_patience(const State& w) {
  const auto workers = static_cast<std::int64_t>(std::min<std::uint64_t>(w.live_workers, 1 << 20));
  return std::max(kGangPatience, kGangPatienceMore + kGangPatienceEach * workers);
}

void join(const Step& s, const claim::GangPart& part, std::optional<ClaimedJob> job) {
  State& w = s.w;
  OwnGang& g = w.gang.emplace();
  g.part = part;
  w.nodes_seen = std::max(w.nodes_seen, static_cast<std::uint32_t>(part.gang.members.size()));
  g.since = s.now;
  g.job = std::move(job);
  g.may_save = g.job && g.job->checkpoint_exit_code != 0;
  g.look_at = next_look(w, s.now);
  Notice notice{.what = Notice::What::gang_formed, .count = part.gang.members.size()};
  if (g.job) notice.job = g.job->load;
  if (!g.is_head()) {
    notice.what = Notice::What::gang_joined;
    notice.number = static_cast<int>(part.rank);
    notice.text = part.gang.members.front().node;
    notice.other = raw(part.gang.token.job);
  }
  s.tell(std::move(notice));
}

// It has said that it left, and that was not heard, or came to nothing.
void say_left_again(const Step& s, const claim::ClaimToken& token) {
  Talk& talk = s.w.talk;
  const auto says_so = [&](const std::vector<GangWord>& words) {
    return std::any_of(words.begin(), words.end(), [&](const GangWord& word) {
      return word.token == token && word.what == GangWord::What::left;
    });
  };
  if (says_so(talk.gang) || (talk.busy && says_so(talk.in_flight.gang))) return;
  GangWord word;
  word.token = token;
  word.what = GangWord::What::left;
  talk.gang.push_back(std::move(word));
}

void decline(const Step& s, std::vector<std::uint32_t> silent) {
  OwnGang& g = *s.w.gang;
  g.declined = true;
  GangWord word;
  word.token = g.token();
  word.what = GangWord::What::declined;
  word.silent = std::move(silent);
  say_of_gang(s, std::move(word));
}

void hold_node(State& w) {
  OwnGang& g = *w.gang;
  g.has_node = true;
  if (w.terms.max_parallel_jobs) return;
  g.pieces = w.share.use().take_all(g.node);
}

// All that it may use of it, or nothing. False: an answer is awaited.
bool take_node(const Step& s) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  if (g.has_node || g.declined) return true;
  // It offered an idle node; what it has to end of before is over soon.
  if (!w.queue.empty() || !w.lane.armed.empty()) return_queue(s);
  if (w.is_quiet() && w.queue.empty()) {
    if (w.terms.max_parallel_jobs || w.share.has_all()) {
      hold_node(w);
      return true;
    }
    if (!std::exchange(w.share_asked, true) && w.share.grow(s.out)) {
      w.awaited = Awaited::share;
      return false;
    }
    w.share.wait_for_more(s.now, s.out);
  }
  if (s.now < g.since + kNodePatience) return true;
  s.tell({.what = Notice::What::gang_lacks_node, .job = g.job ? g.job->load : nullptr});
  decline(s, {});
  return true;
}

void confirm(const Step& s) {
  OwnGang& g = *s.w.gang;
  if (!g.has_node || g.declined || std::exchange(g.confirmed, true)) return;
  const std::uint16_t port = g.is_head() && g.job ? g.job->port : std::uint16_t{0};
  const bool known = g.gang().members[g.part.rank].confirmed;
  if (known && (port == 0 || g.gang().port != 0)) return;
  GangWord word;
  word.token = g.token();
  word.port = port;
  say_of_gang(s, std::move(word));
}

// What the head alone ran has failed, with all that it had there: what its launcher has left on
// this node comes to nothing any more, whenever the failure is told. Before this node says that it
// lives, since what follows then (a recovery script) may start the next here. False: not yet.
bool sweep(const Step& s) {
  OwnGang& g = *s.w.gang;
  if (g.swept || !g.job || g.job->on_each_node) return true;
  if (!std::exchange(g.clearing, true)) s.order(command::EndGang{g.token()});
  return false;
}

// The command has failed, and the head asks who lives.
bool is_asked(const OwnGang& g) {
  const claim::Gang& gang = g.gang();
  return !g.is_head() && !g.leaves && !g.showed_life && gang.stage == GangStage::running &&
         gang.asks() && !gang.members[g.part.rank].lives;
}

void show_life(const Step& s) {
  OwnGang& g = *s.w.gang;
  if (!is_asked(g) || !sweep(s)) return;
  g.showed_life = s.now;
  GangWord word;
  word.token = g.token();
  word.what = GangWord::What::lives;
  say_of_gang(s, std::move(word));
}

// Who is to leave does not begin anything; and the head waits for nobody for ever.
void give_up(const Step& s) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  if (g.declined || g.run || g.ended_here) return;
  const bool forming = g.gang().stage == GangStage::forming;
  if (w.end || w.phase != Phase::working || w.summary.workflow.halted()) {
    if (forming || (g.is_head() && g.gang().stage == GangStage::complete)) decline(s, {});
    return;
  }
  if (!g.is_head() || !forming || s.now < g.since + gang_patience(w)) return;
  std::vector<std::uint32_t> silent;
  std::string names;
  for (std::uint32_t rank = 1; rank < g.gang().members.size(); ++rank) {
    if (g.gang().members[rank].confirmed) continue;
    silent.push_back(rank);
    names += (names.empty() ? "" : ", ") + g.gang().members[rank].node;
  }
  s.tell({.what = Notice::What::gang_incomplete,
          .job = g.job ? g.job->load : nullptr,
          .time = gang_patience(w),
          .text = names});
  decline(s, std::move(silent));
}

bool starts_now(const State& w, BootTime now) {
  const OwnGang& g = *w.gang;
  if (!g.job || !g.has_node || g.declined || g.leaves || g.run || g.ended_here) return false;
  if (w.phase == Phase::stopping || w.lease.paused || w.lease.fenced || now < w.no_start_before)
    return false;
  if (g.is_head()) return g.gang().stage == GangStage::complete;
  return g.job->on_each_node && g.gang().stage == GangStage::running;
}

// Others have ended it: who is gone, as far as that is known, and what becomes of the job.
void tell_loss(const Step& s) {
  OwnGang& g = *s.w.gang;
  const claim::GangPart& part = g.part;
  if (part.gang.stage != GangStage::over || g.leaves || g.whole || g.revoked) return;
  const bool is_loss = claim::is_loss(part.why) || claim::is_interruption(part.why);
  if (!(part.why == claim::EndCause::none ? !part.lost.empty() : is_loss)) return;
  if (std::exchange(g.told_loss, true)) return;
  std::string names;
  for (const std::uint32_t rank : part.lost) {
    const claim::GangMember& m = part.gang.members[rank];
    names += fmt::format("{}worker {} on {}", names.empty() ? "" : ", ", raw(m.worker), m.node);
  }
  Notice notice{.what = Notice::What::gang_lost};
  notice.job = g.run ? s.w.running.at(*g.run).job.load : g.job ? g.job->load : nullptr;
  notice.other = raw(part.gang.token.job);
  notice.text = std::move(names);
  notice.flag = part.runs_again;
  s.tell(std::move(notice));
}

// What its node would run is told once, and the answer that is read before that may be newer.
void learn_job(State& w, const claim::GangPart& part, std::optional<ClaimedJob> job) {
  if (!job || !w.gang || w.gang->token() != part.gang.token) return;
  OwnGang& g = *w.gang;
  if (g.job || g.run || g.ended_here) return;
  g.job = std::move(job);
  g.may_save = g.job->checkpoint_exit_code != 0;
}

// This node cannot start it: others may.
void refuse_start(const Step& s, const event::StartAnswer& answer) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  w.no_start_before = s.now + kFirstRetry;
  if (answer.what == event::StartAnswer::What::postponed) return;
  Notice notice{.what = Notice::What::cannot_start, .job = g.job->load, .text = answer.why};
  if (answer.fault) {
    notice.what = Notice::What::cannot_start_mount;
    notice.step = answer.fault->step;
    notice.number = answer.fault->os_errno;
  }
  if (g.refusals == 0) s.tell(notice);
  if (answer.fault) leave_dead_mount(s, notice);
  if (++g.refusals < kMostRefusals) return;
  if (g.is_head()) return decline(s, {});
  leave_gang_early(s);
}

}  // namespace

void see_gang(const Step& s, std::uint64_t commit, const std::optional<claim::GangPart>& part,
              std::optional<ClaimedJob> job) {
  State& w = s.w;
  if (w.lost_lease()) return;
  if (commit < w.gang_seen) {
    if (part) learn_job(w, *part, std::move(job));
    return;
  }
  w.gang_seen = commit;
  if (w.gang) w.talk.bells.saw(commit);
  if (!part) {
    if (w.gang) w.gang->gone = true;
    return;
  }
  const claim::ClaimToken& token = part->gang.token;
  if (token.claim <= w.left_gang) return say_left_again(s, token);
  if (w.gang && w.gang->token() != token) {
    w.gang->gone = true;  // the store tells of the newer one again
    return;
  }
  if (!w.gang) {
    join(s, *part, std::move(job));
    w.talk.bells.found(true, s.now);
    return;
  }
  OwnGang& g = *w.gang;
  w.talk.bells.found(part->gang != g.part.gang, s.now);
  g.part = *part;
  g.look_at = next_look(w, s.now);
  tell_loss(s);
  // That came too late: the others have begun, and count on this node.
  if (part->gang.stage == GangStage::running) g.declined = false;
  learn_job(w, *part, std::move(job));
}

bool run_gang(const Step& s) {
  State& w = s.w;
  if (!w.gang || end_gang(s)) return true;
  if (!take_node(s)) return false;
  give_up(s);
  confirm(s);
  show_life(s);
  if (!starts_now(w, s.now)) return true;
  OwnGang& g = *w.gang;
  w.starting = next_run(w);
  w.awaited = Awaited::start;
  Running& next = w.running[w.starting];
  next.of_gang = true;
  // Of what its node has, as much as it asked for.
  next.pieces = w.share.use().pick(g.job->need, g.pieces);
  next.cpus = take_cpus(w, *g.job);
  command::StartJob start{w.starting, g.job->load, w.share.use().gpus_in(next.pieces), next.cpus,
                          std::make_shared<const claim::GangPart>(g.part)};
  if (!w.terms.max_parallel_jobs) start.named = w.share.use().named_in(g.job->need, next.pieces);
  s.order(std::move(start));
  return false;
}

void take_gang_start(const Step& s, const event::StartAnswer& answer) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  auto node = w.running.extract(answer.run);
  Running started = std::move(node.mapped());
  const bool unknown = answer.fault && answer.fault->blame == Blame::unknown;
  const bool prevented = unknown && is_prevented_by_mount(s, g.token().job);
  if (answer.what != event::StartAnswer::What::started || prevented) {
    if (prevented) s.order(command::ForgetRun{answer.run});
    started.job = *g.job;
    release(w, started);
    return refuse_start(s, answer);
  }
  w.refused_starts = 0;
  if (!unknown) note_start(s, g.token().job);
  if (answer.fault) started.fault = *answer.fault;
  g.run = answer.run;
  ClaimedJob job = *std::exchange(g.job, std::nullopt);
  if (g.is_head()) {
    begin(s, answer.run, std::move(job), std::move(started), answer.at, s.now);
    w.talk.speak_by = s.now;  // where each node runs it the others wait for that
    return;
  }
  started.started = s.now;
  started.job = std::move(job);
  w.running.insert_or_assign(answer.run, std::move(started));
}

bool asks_of_gang(const State& w, BootTime now) {
  if (!w.gang || w.talk.busy || w.lost_lease() || w.gang->whole || w.gang->is_over()) return false;
  const auto bell = w.talk.bells.due();
  return (now >= w.gang->look_at || (bell && now >= *bell)) && now >= w.talk.not_before;
}

std::optional<BootTime> gang_wake(const State& w, BootTime now) {
  if (!w.gang) return std::nullopt;
  const OwnGang& g = *w.gang;
  if (g.swept && is_asked(g)) return now;
  std::optional<BootTime> at;
  const auto by = [&](BootTime moment) {
    if (moment > now) at = at ? std::min(*at, moment) : moment;
  };
  if (g.is_over() || g.whole) {
    if (g.run || g.clearing) return std::nullopt;
    return std::max(g.clear_at, now);
  }
  if (!w.talk.busy) {
    BootTime look = g.look_at;
    if (const auto bell = w.talk.bells.due()) look = std::min(look, *bell);
    look = std::max(look, w.talk.not_before);
    at = std::max(look, now);
  }
  if (!g.has_node && !g.declined) by(g.since + kNodePatience);
  if (g.is_head() && !g.declined) by(g.since + gang_patience(w));
  if (g.leaves) by(*g.leaves + kLeftPatience);
  if (const auto until = saves_until(w)) by(*until);
  if (g.is_head() && g.showed_life && !g.told_silent) by(*g.showed_life + kLifeUnusual);
  return at;
}

}  // namespace torc::worker
