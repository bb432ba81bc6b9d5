// Who may start what of jobs of one and of several nodes, as obvious as it can be: plain lists,
// looked at from the start each time. For gang_property.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/gang.h"
#include "lib/claim/rules/request.h"
#include "tests/property/claim_generators.h"
#include "tests/property/strict_state.h"

namespace torc::claim {

using std::chrono::seconds;

inline constexpr std::uint32_t kCpus = 2;
inline constexpr std::int64_t kOffered = 0;
inline constexpr std::int64_t kUnknown = INT64_MAX;

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

class GangModel {
 protected:
  struct ModelJob {
    std::uint64_t id = 0;
    std::uint32_t job_class = 0;
    std::int32_t priority = 0;
  };

  [[nodiscard]] const Requirement& need(const ModelJob& j) const {
    return plan_.classes[j.job_class].need;
  }
  JobState state(std::uint64_t id) { return read_job(tx_, JobId{id})->state; }

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
      if (word.what == GangWord::What::leaves) gang.over = true;
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
      if (!node.gang) node.free_at = kUnknown;
      return granted;
    }
    nodes_reserved_.erase(w);
    const bool free = !node.gang && !declined_ && node.jobs.empty() && node.ending.empty() &&
                      e.offer->cpus == kCpus;
    const auto place = [&](seconds busy) {
      if (!grouped || declined_) return node.free_at = kUnknown;
      if (node.gang) return node.free_at;  // as it was when the gang was formed
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
        return granted;
      }
      waiting.insert(j.job_class);
      const auto near = soonest(node.group);
      if (wait || near.size() < r.nodes) continue;
      const std::int64_t until = nodes_[near[r.nodes - 1]].free_at;
      bool elsewhere = false;
      for (const auto& [group, k] : keeps_) {
        if (group == node.group || k.job != j.id) continue;
        const bool overdue = std::any_of(near.begin(), near.begin() + r.nodes, [&](auto n) {
          const std::int64_t at = nodes_[n].free_at;
          return at != kOffered && at != kUnknown && at < now_.count();
        });
        elsewhere =
            until == kUnknown || overdue ||
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
    std::stable_sort(all.begin(), all.end(), [this](const ModelJob& a, const ModelJob& b) {
      return std::pair(a.priority, need(a).nodes) > std::pair(b.priority, need(b).nodes);
    });
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
      const seconds runtime = need(j).runtime;
      nodes_[w].free_at = runtime.count() > 0 ? (now_ + runtime).count() : kUnknown;
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

}  // namespace torc::claim
