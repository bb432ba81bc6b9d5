// Random groups, jobs of one and of several nodes, words, losses, releases, cancels, against an
// obvious model of who may start what: plain lists, looked at from the start each time. What
// becomes of jobs otherwise is claim_property.cc's.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/gangs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/gang_record.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/membership.h"
#include "lib/claim/transactions/plan_writing.h"
#include "tests/property/claim_generators.h"
#include "tests/property/strict_state.h"

namespace torc::claim {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kCpus = 2;
constexpr std::int64_t kOffered = 0;
constexpr std::int64_t kUnknown = INT64_MAX;

struct ModelNode {
  std::string group;
  std::string name;
  std::int64_t free_at = kUnknown;
  std::map<std::uint64_t, ClaimToken> jobs;  // of one node, by id
  std::set<std::uint64_t> ending;            // canceled
  std::optional<ClaimToken> gang;
  bool barred = false;
};
struct ModelGang {
  std::vector<std::uint64_t> members;  // by rank
  std::set<std::uint64_t> confirmed;
  std::set<std::uint64_t> left;
  bool over = false;
};
struct ModelKeep {
  std::uint64_t job = 0;
  std::int64_t until = 0;
};

class GangWorld {
 public:
  GangWorld() {
    plan_.name = "gangs";
    std::uint64_t next = 1;
    for (std::uint64_t n = 3 + below(5); n > 0; --n) {
      JobClass c;
      c.need.nodes = one_in(2) ? 1 : 2 + static_cast<std::uint32_t>(below(3));
      c.need.runtime = seconds(one_in(3) ? 0 : 10 * (1 + below(20)));
      Template t;
      t.first = JobId{next};
      t.count = 1 + below(6);
      t.priority = static_cast<std::int32_t>(below(3));
      t.job_class = static_cast<std::uint32_t>(plan_.classes.size());
      plan_.classes.push_back(c);
      plan_.templates.push_back(t);
      for (std::uint64_t i = 0; i < t.count; ++i)
        jobs_.push_back({next + i, t.job_class, t.priority});
      next += t.count;
    }
    several_ = std::any_of(plan_.classes.begin(), plan_.classes.end(),
                           [](const JobClass& c) { return c.need.nodes > 1; });
    RC_ASSERT(write_plan(tx_, plan_).ok());
  }

  void step() {
    ++tx_.state.number;
    now_ += seconds(below(30));
    const std::uint64_t dice = below(20);
    if (nodes_.empty() || (dice < 2 && nodes_.size() < 10)) return enter();
    const std::uint64_t worker = any_worker();
    if (dice == 2) return leave(worker);
    if (dice == 3) return one_in(4) ? bar(worker) : expire(worker);
    if (dice == 4) return meddle();
    talk(worker);
  }

  // Whatever happened: workers that say what they should bring everything to an end that can come
  // to one.
  void run_dry() {
    for (const std::uint64_t w : live()) {
      ++tx_.state.number;
      if (nodes_[w].barred) expire(w);
    }
    std::size_t most = 0;
    std::map<std::string, std::set<std::string>> names;
    for (const auto& [w, node] : nodes_) names[node.group].insert(node.name);
    for (const auto& [group, all] : names)
      if (!group.empty()) most = std::max(most, all.size());
    for (std::size_t round = 0; round < 20 * jobs_.size() + 20; ++round) {
      for (const std::uint64_t w : live()) {
        ++tx_.state.number;
        now_ += seconds(1);
        speak(w, dutiful(w));
      }
    }
    if (nodes_.empty()) return;
    for (const ModelJob& j : jobs_) {
      if (state(j.id) != JobState::ready) continue;
      RC_ASSERT(need(j).nodes > most);
    }
    for (const auto& [w, node] : nodes_) RC_ASSERT(!node.gang);
    RC_ASSERT(gangs_.empty());
  }

 private:
  struct ModelJob {
    std::uint64_t id = 0;
    std::uint32_t job_class = 0;
    std::int32_t priority = 0;
  };

  [[nodiscard]] const Requirement& need(const ModelJob& j) const {
    return plan_.classes[j.job_class].need;
  }
  JobState state(std::uint64_t id) { return read_job(tx_, JobId{id})->state; }
  std::vector<std::uint64_t> live() {
    std::vector<std::uint64_t> all;
    for (const auto& [w, node] : nodes_) all.push_back(w);
    return all;
  }
  std::uint64_t any_worker() {
    const auto all = live();
    return all[below(all.size())];
  }

  void compare() {
    const auto sound = verify_state(tx_);
    if (!sound.ok()) RC_FAIL(sound.error().text());
    std::size_t gangs = 0;
    RC_ASSERT(scan_gangs(tx_, [&](const Gang& gang) {
                ++gangs;
                const ModelGang& m = gangs_.at(gang.token);
                RC_ASSERT(m.over == (gang.stage == GangStage::over));
                RC_ASSERT(m.members.size() == gang.members.size());
                for (std::size_t i = 0; i < m.members.size(); ++i) {
                  RC_ASSERT(raw(gang.members[i].worker) == m.members[i]);
                  RC_ASSERT(gang.members[i].left == m.left.contains(m.members[i]));
                  if (!m.over)
                    RC_ASSERT(gang.members[i].confirmed == m.confirmed.contains(m.members[i]));
                }
                return true;
              }).ok());
    RC_ASSERT(gangs == gangs_.size());
    for (const auto& [w, node] : nodes_) {
      const auto part = read_gang(tx_, WorkerEpoch{w});
      RC_ASSERT(part.has_value() == node.gang.has_value());
      if (part) RC_ASSERT(part->gang.token == *node.gang);
      const auto held = read_worker(tx_, WorkerEpoch{w})->held;
      const bool heads =
          node.gang && !gangs_.at(*node.gang).over && gangs_.at(*node.gang).members.front() == w;
      RC_ASSERT(held == node.jobs.size() + (heads ? 1 : 0));
    }
  }

  void enter() {
    WorkerInfo info;
    info.group = one_in(8) ? "" : one_in(2) ? "a" : "b";
    info.node_name = "n" + std::to_string(below(6));
    info.host = info.node_name;
    info.cpus = kCpus;
    info.memory = mebibytes(1000);
    const auto epoch = register_worker(tx_, info);
    RC_ASSERT(epoch.ok());
    nodes_[raw(*epoch)] = {info.group, info.node_name, kUnknown, {}, {}, {}, false};
    compare();
  }

  void end_gang(const ClaimToken& token) { gangs_.at(token).over = true; }
  void quit_gang(std::uint64_t w) {
    const auto token = std::exchange(nodes_[w].gang, std::nullopt);
    if (!token) return;
    ModelGang& gang = gangs_.at(*token);
    gang.over = true;
    gang.left.insert(w);
    if (gang.left.size() == gang.members.size()) gangs_.erase(*token);
  }
  void forget(std::uint64_t w) {
    quit_gang(w);
    if (!nodes_[w].group.empty()) keeps_.erase(nodes_[w].group);
    nodes_.erase(w);
  }

  void leave(std::uint64_t w) {
    const bool barred = nodes_[w].barred;
    RC_ASSERT(release_worker(tx_, WorkerEpoch{w}, now_).ok() != barred);
    if (!barred) forget(w);
    compare();
  }
  void expire(std::uint64_t w) {
    const auto lease = State(tx_).lease(WorkerEpoch{w});
    const auto expired = expire_worker(tx_, WorkerEpoch{w}, lease->renewals, now_, 0,
                                       EndCause::lease_lost, now_, Charge::no);
    RC_ASSERT(*expired);
    forget(w);
    compare();
  }
  void bar(std::uint64_t w) {
    const auto lease = State(tx_).lease(WorkerEpoch{w});
    RC_ASSERT(*bar_worker(tx_, WorkerEpoch{w}, lease->renewals));
    nodes_[w].barred = true;
    nodes_[w].free_at = kUnknown;
    compare();
  }

  void meddle() {
    const std::uint64_t id = 1 + below(jobs_.size());
    const std::vector<JobRange> one{{JobId{id}, 1}};
    const bool was_live = is_live(state(id));
    switch (below(4)) {
      case 0:
        RC_ASSERT(cancel_jobs(tx_, one, now_).ok());
        if (!was_live) break;
        for (auto& [w, node] : nodes_) {
          const bool heads = node.gang && raw(node.gang->job) == id &&
                             !gangs_.at(*node.gang).over &&
                             gangs_.at(*node.gang).members.front() == w;
          if (node.jobs.erase(id) > 0 || heads) node.ending.insert(id);
        }
        for (auto& [token, gang] : gangs_)
          if (raw(token.job) == id) gang.over = true;
        break;
      case 1:
        RC_ASSERT(hold_jobs(tx_, one).ok());
        break;
      case 2:
        RC_ASSERT(release_jobs(tx_, one, now_).ok());
        break;
      default:
        RC_ASSERT(retry_jobs(tx_, one).ok());
    }
    compare();
  }

  Offer offer_of(std::uint64_t w, const Exchange& e) {
    const ModelNode& node = nodes_[w];
    std::size_t has = node.jobs.size();
    for (const Finished& f : e.finishes) has -= node.jobs.contains(raw(f.token.job)) ? 1 : 0;
    Offer o;
    o.total_cpus = kCpus;
    o.total_memory = o.memory = mebibytes(1000);
    o.memory.value -= has * mebibytes(1).value;
    o.cpus = static_cast<std::uint32_t>(kCpus - has);
    o.max_jobs = o.cpus;
    if (has == 0) {
      o.busy_for = seconds(0);
    } else if (!one_in(3)) {
      o.busy_for = seconds(10 * below(30));
    }
    return o;
  }

  // Ends what it has, says what it should, and asks.
  Exchange dutiful(std::uint64_t w) {
    const ModelNode& node = nodes_[w];
    Exchange e;
    e.worker = WorkerEpoch{w};
    e.now = now_;
    for (const auto& [id, token] : node.jobs)
      e.finishes.push_back({token, JobState::completed, {}});
    for (const std::uint64_t id : node.ending) {
      const Job job = *read_job(tx_, JobId{id});
      e.returns.push_back({JobId{id}, job.attempt, job.claim});
    }
    if (const auto part = read_gang(tx_, WorkerEpoch{w})) {
      const GangStage stage = part->gang.stage;
      if (stage == GangStage::forming) say(e, GangWord::What::confirmed, part->gang.token);
      if (part->rank == 0 && stage == GangStage::complete)
        e.starts.push_back({part->gang.token, now_});
      if (part->rank == 0 && stage == GangStage::running)
        e.finishes.push_back({part->gang.token, JobState::completed, {}});
      if (stage == GangStage::over) say(e, GangWord::What::left, part->gang.token);
    }
    e.offer = offer_of(w, e);
    return e;
  }
  static void say(Exchange& e, GangWord::What what, const ClaimToken& token) {
    GangWord word;
    word.what = what;
    word.token = token;
    e.gang.push_back(word);
  }

  Exchange any_exchange(std::uint64_t w) {
    Exchange e = dutiful(w);
    if (one_in(2)) return e;
    e.finishes.clear();
    e.gang.clear();
    for (const auto& [id, token] : nodes_[w].jobs) {
      if (one_in(3)) e.starts.push_back({token, now_});
      if (one_in(3)) e.finishes.push_back({token, JobState::ready, {}});
    }
    if (const auto part = read_gang(tx_, WorkerEpoch{w}); part && one_in(2)) {
      ClaimToken token = part->gang.token;
      if (one_in(5)) ++token.claim;
      if (one_in(8)) ++token.attempt;
      if (part->rank == 0 && one_in(3)) e.returns.push_back(token);
      if (one_in(3)) say(e, static_cast<GangWord::What>(below(4)), token);
    }
    e.offer = offer_of(w, e);
    if (one_in(6)) e.offer.reset();
    return e;
  }

  void talk(std::uint64_t w) { speak(w, any_exchange(w)); }

  void speak(std::uint64_t w, const Exchange& e) {
    const auto before = tx_.state.entries;
    // What it says changes jobs as claim_property.cc has it: that is read from the store
    // afterwards.
    const auto answer = exchange(tx_, e);
    RC_ASSERT(answer.ok() != nodes_[w].barred);
    if (!answer.ok()) {
      tx_.state.entries = before;
      return;
    }
    hear(w, e);
    const auto expected = decide(w, e, *answer);
    std::vector<std::uint64_t> granted;
    for (const Grant& g : answer->grants) granted.push_back(raw(g.token.job));
    if (granted != expected)
      RC_FAIL(fmt::format("worker {} was granted [{}] and should be [{}]", w,
                          fmt::join(granted, " "), fmt::join(expected, " ")));
    RC_ASSERT(answer->reserved == nodes_reserved_.contains(w));
    compare();
  }

  // What it said of what it has.
  void hear(std::uint64_t w, const Exchange& e) {
    ModelNode& node = nodes_[w];
    declined_ = false;
    const auto over = [&](const ClaimToken& token) {
      if (node.jobs.contains(raw(token.job)) && node.jobs[raw(token.job)] == token)
        node.jobs.erase(raw(token.job));
      node.ending.erase(raw(token.job));
      if (node.gang == token && gangs_.at(token).members.front() == w) gangs_.at(token).over = true;
    };
    for (const Finished& f : e.finishes) over(f.token);
    for (const Started& s : e.starts)
      if (node.gang == s.token) started_.insert(s.token);
    for (const ClaimToken& t : e.returns) over(t);
    for (const GangWord& word : e.gang) {
      if (!node.gang || *node.gang != word.token) continue;
      ModelGang& gang = gangs_.at(*node.gang);
      const bool runs = started_.contains(word.token) && !gang.over;
      if (word.what == GangWord::What::confirmed && !gang.over) gang.confirmed.insert(w);
      if (word.what == GangWord::What::declined && !runs) {
        declined_ = true;
        quit_gang(w);
      }
      if (word.what == GangWord::What::left) quit_gang(w);
    }
  }

  // Jobs of the group's nodes by when they are free: each name once.
  std::vector<std::uint64_t> soonest(const std::string& group) {
    std::vector<std::tuple<std::int64_t, std::uint64_t>> all;
    for (const auto& [w, node] : nodes_)
      if (node.group == group) all.emplace_back(node.free_at, w);
    std::sort(all.begin(), all.end());
    std::vector<std::uint64_t> found;
    std::set<std::string> names;
    for (const auto& [at, w] : all)
      if (names.insert(nodes_[w].name).second) found.push_back(w);
    return found;
  }
  [[nodiscard]] bool in_time(const ModelJob& j, std::int64_t until) const {
    return until != kUnknown && need(j).runtime.count() > 0 &&
           (now_ + need(j).runtime).count() <= until;
  }
  [[nodiscard]] std::int64_t later(std::int64_t until) const {
    return until == kUnknown ? kUnknown : std::max(until, now_.count());
  }

  std::vector<std::uint64_t> decide(std::uint64_t w, const Exchange& e, const Answer& answer) {
    ModelNode& node = nodes_[w];
    std::vector<std::uint64_t> granted;
    const bool grouped = !node.group.empty() && several_;
    if (!e.offer) {
      node.free_at = kUnknown;
      return granted;
    }
    nodes_reserved_.erase(w);
    const bool free = !node.gang && !declined_ && node.jobs.empty() && node.ending.empty() &&
                      e.offer->cpus == kCpus;
    const auto place = [&](seconds busy) {
      if (!grouped || node.gang || declined_) return node.free_at = kUnknown;
      if (free && granted.empty()) return node.free_at = kOffered;
      if (!e.offer->busy_for) return node.free_at = kUnknown;
      const std::int64_t at = (now_ + busy).count();
      const bool near = node.free_at != kOffered && node.free_at != kUnknown &&
                        std::abs(at - node.free_at) < 1'000'000;
      return near ? node.free_at : node.free_at = at;
    };
    const seconds busy = e.offer->busy_for.value_or(seconds(0));
    place(busy);
    if (node.gang) return granted;
    bool whole = free;
    std::uint64_t left = e.offer->max_jobs;
    std::optional<ModelKeep> wait;
    std::set<std::uint64_t> kept;
    std::set<std::uint32_t> waiting;
    bool met_all = true;
    for (const ModelJob& j : queue(answer)) {
      const Requirement& r = need(j);
      if (r.nodes == 1) {
        if (left == 0) {
          // Nobody looks further than to a job that could be had.
          if (!(kept.contains(w) && !in_time(j, wait->until))) {
            met_all = false;
            break;
          }
          continue;
        }
        if (kept.contains(w) && !in_time(j, wait->until)) continue;
        granted.push_back(j.id);
        give(node, j.id);
        whole = false;
        --left;
        continue;
      }
      if (!grouped || waiting.contains(j.job_class)) continue;
      const auto barred = [&](std::uint64_t other) {
        return kept.contains(other) && !in_time(j, wait->until);
      };
      std::vector<std::uint64_t> team{w};
      std::set<std::string> names{node.name};
      std::vector<std::uint64_t> others;
      for (const auto& [other, n] : nodes_)
        if (other != w && n.group == node.group && n.free_at == kOffered) others.push_back(other);
      for (const std::uint64_t other : others) {
        if (team.size() < r.nodes && !barred(other) && names.insert(nodes_[other].name).second)
          team.push_back(other);
      }
      if (whole && left > 0 && !barred(w) && team.size() == r.nodes) {
        granted.push_back(j.id);
        start(j, team);
        std::erase_if(keeps_, [&](const auto& k) { return k.second.job == j.id; });
        node.free_at = kUnknown;
        return granted;
      }
      waiting.insert(j.job_class);
      const auto near = soonest(node.group);
      if (wait || near.size() < r.nodes) continue;
      const std::int64_t until = nodes_[near[r.nodes - 1]].free_at;
      bool elsewhere = false;
      for (const auto& [group, k] : keeps_) {
        if (group == node.group || k.job != j.id) continue;
        elsewhere =
            until == kUnknown ||
            (k.until != kUnknown && later(until) + std::int64_t{60'000'000} >= later(k.until));
      }
      if (elsewhere) continue;
      wait = ModelKeep{j.id, until};
      kept.insert(near.begin(), near.begin() + r.nodes);
    }
    if (kept.contains(w)) nodes_reserved_.insert(w);
    if (wait) {
      std::erase_if(keeps_, [&](const auto& k) { return k.second.job == wait->job; });
      keeps_[node.group] = *wait;
    } else if (grouped && keeps_.contains(node.group) &&
               (met_all || state_at_decision(keeps_[node.group].job) != JobState::ready)) {
      keeps_.erase(node.group);
    }
    seconds longest = std::max(busy, seconds(0));
    bool known = true;
    for (const std::uint64_t id : granted) {
      const seconds runtime = need(jobs_[id - 1]).runtime;
      known = known && runtime.count() > 0;
      longest = std::max(longest, runtime);
    }
    if (!granted.empty() && !known) {
      node.free_at = kUnknown;
    } else {
      place(longest);
    }
    return granted;
  }

  // Ready at the moment of the decision: as they are now, and those that it granted.
  std::vector<ModelJob> queue(const Answer& answer) {
    granted_.clear();
    for (const Grant& g : answer.grants) granted_.insert(raw(g.token.job));
    tokens_.clear();
    for (const Grant& g : answer.grants) tokens_[raw(g.token.job)] = g.token;
    std::vector<ModelJob> all;
    for (const ModelJob& j : jobs_)
      if (state_at_decision(j.id) == JobState::ready) all.push_back(j);
    std::stable_sort(all.begin(), all.end(),
                     [](const ModelJob& a, const ModelJob& b) { return a.priority > b.priority; });
    return all;
  }
  JobState state_at_decision(std::uint64_t id) {
    return granted_.contains(id) ? JobState::ready : state(id);
  }
  void give(ModelNode& node, std::uint64_t id) { node.jobs[id] = tokens_[id]; }
  void start(const ModelJob& j, const std::vector<std::uint64_t>& team) {
    const ClaimToken token = tokens_[j.id];
    for (const std::uint64_t w : team) {
      RC_ASSERT(!nodes_[w].gang && nodes_[w].jobs.empty());
      nodes_[w].gang = token;
      nodes_[w].free_at = kUnknown;
      nodes_reserved_.erase(w);
    }
    gangs_[token] = {team, {team.front()}, {}, false};
  }

  store::StrictState tx_;
  Plan plan_;
  bool several_ = false;
  WallTime now_{1'800'000'000'000'000};
  std::vector<ModelJob> jobs_;  // by id, from 1
  std::map<std::uint64_t, ModelNode> nodes_;
  std::map<ClaimToken, ModelGang> gangs_;
  std::map<std::string, ModelKeep> keeps_;
  std::set<ClaimToken> started_;
  std::set<std::uint64_t> nodes_reserved_;
  std::set<std::uint64_t> granted_;
  std::map<std::uint64_t, ClaimToken> tokens_;
  bool declined_ = false;
};

RC_GTEST_PROP(Gangs, have_all_their_nodes_or_none_and_starve_nobody, ()) {
  GangWorld world;
  const std::uint64_t steps = 20 + below(120);
  for (std::uint64_t i = 0; i < steps; ++i) world.step();
  world.run_dry();
}

}  // namespace
}  // namespace torc::claim
