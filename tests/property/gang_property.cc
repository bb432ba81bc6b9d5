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
#include "tests/property/gang_model.h"

namespace torc::claim {
namespace {

class GangWorld : private GangModel {
 public:
  GangWorld() {
    plan_.name = "gangs";
    if (one_in(2)) plan_.few_classes = 0;
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
    std::size_t most = 1;  // nodes that a job may need
    std::map<std::string, std::set<std::string>> names;
    for (const auto& [w, node] : nodes_) names[node.group].insert(node.name);
    for (const auto& [group, all] : names)
      if (!group.empty()) most = std::max(most, all.size());
    const auto is_done = [&] {
      return gangs_.empty() && std::none_of(jobs_.begin(), jobs_.end(), [&](const ModelJob& j) {
               const JobState s = state(j.id);
               return is_live(s) || (s == JobState::ready && need(j).nodes <= most);
             });
    };
    for (std::size_t round = 0; round < 20 * jobs_.size() + 20 && !is_done(); ++round) {
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
      const auto part = *read_gang(tx_, WorkerEpoch{w});
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
    if (const auto part = *read_gang(tx_, WorkerEpoch{w})) {
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
    if (const auto part = *read_gang(tx_, WorkerEpoch{w}); part && one_in(2)) {
      ClaimToken token = part->gang.token;
      if (one_in(5)) ++token.claim;
      if (one_in(8)) ++token.attempt;
      if (part->rank == 0 && one_in(3)) e.returns.push_back(token);
      if (one_in(3)) say(e, static_cast<GangWord::What>(below(6)), token);
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
    if (!answer.ok() && !nodes_[w].barred) RC_FAIL(answer.error().text());
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
};

RC_GTEST_PROP(Gangs, have_all_their_nodes_or_none_and_starve_nobody, ()) {
  GangWorld world;
  const std::uint64_t steps = 20 + below(120);
  for (std::uint64_t i = 0; i < steps; ++i) world.step();
  world.run_dry();
}

}  // namespace
}  // namespace torc::claim
