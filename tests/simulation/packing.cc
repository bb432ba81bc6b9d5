#include "tests/simulation/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/audit/verify.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/membership.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/store/engine/memory_state.h"

namespace torc::simulation {
namespace {

using std::chrono::seconds;

constexpr WallTime kBegin{1'800'000'000'000'000};

struct Work {
  std::uint32_t nodes = 1;
  std::uint32_t cpus = 1;  // of each node
  seconds declared{0};
  double takes = 0;  // s
  [[nodiscard]] double area(std::uint32_t node_cpus) const {
    return nodes > 1 ? nodes * takes : takes * cpus / node_cpus;
  }
};

std::vector<Work> draw(const PackingScenario& s) {
  std::mt19937_64 dice(s.seed);
  const auto below = [&](std::uint64_t n) { return dice() % n; };
  const auto part = [&] { return static_cast<double>(dice() % 1'000'000) / 1e6; };
  const auto widths = static_cast<std::uint64_t>(std::bit_width(s.widest) - 1);
  std::vector<Work> all(s.jobs);
  for (Work& w : all) {
    if (part() < s.gangs) {
      w.nodes = 2U << below(widths);
      w.cpus = s.cpus;
    } else {
      w.cpus = std::max(1U, s.cpus >> below(5));
    }
    w.declared = s.longest / (1 << below(6));
    w.takes = static_cast<double>(w.declared.count()) *
              (s.shortest_part + (1 - s.shortest_part) * part());
  }
  return all;
}

claim::Plan plan_of(const std::vector<Work>& all) {
  claim::Plan plan;
  plan.name = "packing";
  std::map<claim::JobClass, std::uint32_t> classes;
  for (const Work& w : all) {
    claim::JobClass c;
    c.need.cpus = w.cpus;
    c.need.nodes = w.nodes;
    c.need.runtime = w.declared;
    const auto [at, is_new] = classes.try_emplace(c, static_cast<std::uint32_t>(classes.size()));
    if (is_new) plan.classes.push_back(c);
    claim::Template t;
    t.first = JobId{plan.templates.size() + 1};
    t.job_class = at->second;
    t.recipe = "r";
    plan.templates.push_back(std::move(t));
  }
  return plan;
}

// Starts what fits at each end of a job, in the order of the list. It knows how long each takes by
// having put the list into its order.
double list_makespan(const PackingScenario& s, const std::vector<Work>& all,
                     const std::vector<std::size_t>& order) {
  std::vector<std::uint32_t> left(s.nodes, s.cpus);
  struct End {
    double at;
    std::uint32_t node, cpus;
    bool operator>(const End& o) const { return at > o.at; }
  };
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::deque<std::size_t> waiting(order.begin(), order.end());
  double now = 0;
  std::uint32_t free = s.nodes;  // wholly
  while (!waiting.empty()) {
    std::uint32_t most = *std::max_element(left.begin(), left.end());
    for (auto it = waiting.begin(); it != waiting.end() && most > 0;) {
      const Work& w = all[*it];
      if (w.nodes > 1 ? free < w.nodes : most < w.cpus) {
        ++it;
        continue;
      }
      std::uint32_t wanted = w.nodes;
      if (w.nodes == 1) {  // where it fits best
        const auto best = std::min_element(left.begin(), left.end(), [&](auto a, auto b) {
          return (a >= w.cpus ? a : UINT32_MAX) < (b >= w.cpus ? b : UINT32_MAX);
        });
        if (*best == s.cpus) --free;
        *best -= w.cpus;
        ends.push({now + w.takes, static_cast<std::uint32_t>(best - left.begin()), w.cpus});
      } else {
        for (std::uint32_t n = 0; wanted > 0; ++n) {
          if (left[n] != s.cpus) continue;
          left[n] = 0;
          --free;
          --wanted;
          ends.push({now + w.takes, n, s.cpus});
        }
      }
      it = waiting.erase(it);
      most = *std::max_element(left.begin(), left.end());
    }
    if (ends.empty()) return std::numeric_limits<double>::infinity();
    now = ends.top().at;
    while (!ends.empty() && ends.top().at <= now) {
      left[ends.top().node] += ends.top().cpus;
      if (left[ends.top().node] == s.cpus) ++free;
      ends.pop();
    }
  }
  while (!ends.empty()) {
    now = ends.top().at;
    ends.pop();
  }
  return now;
}

// The best of some orders.
double best_list(const PackingScenario& s, const std::vector<Work>& all) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  double best = list_makespan(s, all, order);
  const auto by = [&](auto key) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key(all[a]) > key(all[b]); });
    best = std::min(best, list_makespan(s, all, order));
  };
  by([](const Work& w) { return w.takes; });
  by([&](const Work& w) { return w.area(s.cpus); });
  by([](const Work& w) { return std::pair(w.nodes, w.takes); });
  return best;
}

class Allocation {
 public:
  Allocation(const PackingScenario& scenario, std::vector<Work> work)
      : s_(scenario), work_(std::move(work)) {}

  Result<PackingFigures> run() {
    TORC_TRY(claim::write_plan(tx_, plan_of(work_)));
    nodes_.resize(s_.nodes);
    for (std::size_t n = 0; n < nodes_.size(); ++n) TORC_TRY(join(n));
    for (std::size_t i = 0; i < work_.size(); ++i) {
      if (work_[i].nodes > 1) waiting_gangs_.insert(place_of(i + 1));
    }
    if (!waiting_gangs_.empty()) at_head_since_.try_emplace(waiting_gangs_.begin()->second, 0);
    for (std::size_t n = 0; n < nodes_.size(); ++n) wake(n, 0);
    std::uint64_t done_at = 0;
    while (!due_.empty() && finished_ < work_.size()) {
      const auto [at, n] = *due_.begin();
      due_.erase(due_.begin());
      nodes_[n].wakes = std::numeric_limits<double>::infinity();
      now_ = at;
      TORC_TRY(turn(n));
      if (finished_ != done_at && finished_ % 1000 == 0) {
        done_at = finished_;
        TORC_TRY(claim::verify_state(tx_));
      }
    }
    if (finished_ < work_.size()) {
      return Error{ErrorKind::corrupt,
                   fmt::format("{} of {} jobs were left", work_.size() - finished_, work_.size()),
                   ""};
    }
    return figures();
  }

 private:
  struct Running {
    double ends = 0;
    claim::ClaimToken token;
    double should_end = 0;  // as declared
  };
  struct Node {
    claim::WorkerEpoch epoch{};
    std::uint32_t free = 0;
    std::vector<Running> running;
    std::vector<claim::Started> starts;
    std::vector<claim::GangWord> words;
    std::optional<claim::GangPart> gang;
    bool confirmed = false;
    bool head_runs = false;
    double wakes = std::numeric_limits<double>::infinity();
  };

  Result<void> join(std::size_t n) {
    claim::WorkerInfo info;
    info.host = info.node_name = fmt::format("n{}", n);
    info.group = "one";
    info.cpus = s_.cpus;
    info.memory = mebibytes(1 << 20);
    info.registered_at = kBegin;
    ++tx_.number;
    TORC_ASSIGN(nodes_[n].epoch, claim::register_worker(tx_, info));
    nodes_[n].free = s_.cpus;
    by_epoch_[nodes_[n].epoch] = n;
    return {};
  }

  void wake(std::size_t n, double at) {
    Node& node = nodes_[n];
    if (at >= node.wakes) return;
    due_.erase({node.wakes, n});
    node.wakes = at;
    due_.insert({at, n});
  }

  [[nodiscard]] WallTime wall() const {
    return kBegin + WallTime(static_cast<std::int64_t>(now_ * 1e6));
  }

  [[nodiscard]] claim::Offer offer_of(const Node& node) const {
    claim::Offer o;
    o.cpus = node.free;
    o.total_cpus = s_.cpus;
    o.memory = o.total_memory = mebibytes(1 << 20);
    o.max_jobs = node.free;
    double until = now_;
    for (const Running& r : node.running) until = std::max(until, r.should_end);
    o.busy_for = seconds(static_cast<std::int64_t>(std::ceil(until - now_)));
    return o;
  }

  // What one worker says and hears now.
  Result<void> turn(std::size_t n) {
    Node& node = nodes_[n];
    claim::Exchange words;
    words.worker = node.epoch;
    words.now = wall();
    words.starts = std::exchange(node.starts, {});
    words.gang = std::exchange(node.words, {});
    const bool ended = end_jobs(node, words);
    const bool leaves = std::any_of(words.gang.begin(), words.gang.end(), [](const auto& word) {
      return word.what == claim::GangWord::What::left;
    });
    if (leaves) {
      node.free = s_.cpus;
      node.gang.reset();
    }
    if (!node.gang || leaves) words.offer = offer_of(node);
    ++tx_.number;
    ++commits_;
    const std::clock_t begun = std::clock();
    TORC_ASSIGN(const claim::Answer answer, claim::exchange(tx_, words));
    cost_ += static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    if (!answer.refused.empty()) return Error{ErrorKind::corrupt, "a word was refused", ""};
    for (const claim::Grant& g : answer.grants) {
      if (g.gang) continue;
      TORC_TRY(start(node, g.token));
    }
    TORC_TRY(follow(n, answer.gang));
    for (const claim::WorkerEpoch e : answer.concerned) wake(by_epoch_.at(e), now_);
    // Its bell: others could have what this one left, or what a gang does not keep any more.
    if (ended || !answer.grants.empty()) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (i != n && nodes_[i].free > 0 && !nodes_[i].gang && !rung_.contains(i)) rung_.insert(i);
      }
    }
    if (!rung_.empty() && now_ >= next_bell_) {
      for (const std::size_t i : rung_) wake(i, now_ + 0.05);
      rung_.clear();
      next_bell_ = now_ + 1;
    }
    plan_wake(n);
    return {};
  }

  bool end_jobs(Node& node, claim::Exchange& words) {
    const std::size_t before = node.running.size();
    std::erase_if(node.running, [&](const Running& r) {
      if (r.ends > now_) return false;
      claim::Finished f;
      f.token = r.token;
      f.outcome.cause = claim::EndCause::exited;
      f.outcome.exit_code = 0;
      words.finishes.push_back(std::move(f));
      ++finished_;
      last_end_ = std::max(last_end_, r.ends);
      const Work& w = work_[raw(r.token.job) - 1];
      if (w.nodes > 1) {
        words.gang.push_back({r.token, claim::GangWord::What::left, {}, false, 0, {}});
        node.head_runs = false;
      } else {
        node.free += w.cpus;
      }
      return true;
    });
    return node.running.size() != before;
  }

  Result<void> start(Node& node, const claim::ClaimToken& token) {
    const Work& w = work_[raw(token.job) - 1];
    if (w.nodes == 1) {
      if (node.gang || node.free < w.cpus)
        return Error{ErrorKind::corrupt, "a node was given twice", ""};
      node.free -= w.cpus;
    }
    node.running.push_back({now_ + w.takes, token, now_ + static_cast<double>(w.declared.count())});
    node.starts.push_back({token, wall()});
    return {};
  }

  Result<void> follow(std::size_t n, const std::optional<claim::GangPart>& part) {
    Node& node = nodes_[n];
    const bool was = node.gang.has_value();
    const bool same = was && part && part->gang.token == node.gang->gang.token;
    if (!part) {
      node.gang.reset();
      if (was) node.free = s_.cpus;
      return {};
    }
    if (!same) {
      if (node.free != s_.cpus || !node.running.empty())
        return Error{ErrorKind::corrupt, "a node that was not free is in a gang", ""};
      node.free = 0;
      node.confirmed = node.head_runs = false;
      note_claim(raw(part->gang.token.job));
    }
    node.gang = part;
    if (part->gang.stage == claim::GangStage::over) {
      node.words.push_back({part->gang.token, claim::GangWord::What::left, {}, false, 0, {}});
      wake(n, now_);
    } else if (part->rank != 0 && !node.confirmed) {
      node.confirmed = true;
      node.words.push_back({part->gang.token, claim::GangWord::What::confirmed, {}, false, 0, {}});
      wake(n, now_);
    } else if (part->rank == 0 && part->gang.stage == claim::GangStage::complete &&
               !node.head_runs) {
      node.head_runs = true;
      TORC_TRY(start(node, part->gang.token));
      wake(n, now_);
    }
    return {};
  }

  // In the order: more nodes first, then the number.
  [[nodiscard]] std::pair<std::uint32_t, std::uint64_t> place_of(std::uint64_t job) const {
    return {std::numeric_limits<std::uint32_t>::max() - work_[job - 1].nodes, job};
  }

  void note_claim(std::uint64_t job) {
    if (waiting_gangs_.erase(place_of(job)) == 0) return;
    ++gangs_;
    const auto at = at_head_since_.find(job);
    const double since = at == at_head_since_.end() ? now_ : at->second;
    longest_at_head_ = std::max(longest_at_head_, now_ - since);
    if (!waiting_gangs_.empty()) at_head_since_.try_emplace(waiting_gangs_.begin()->second, now_);
  }

  void plan_wake(std::size_t n) {
    const Node& node = nodes_[n];
    double next = now_ + static_cast<double>(s_.poll.count());
    for (const Running& r : node.running) next = std::min(next, r.ends);
    if (node.free == 0 && !node.gang && !node.running.empty()) {
      next = std::numeric_limits<double>::infinity();
      for (const Running& r : node.running) next = std::min(next, r.ends);
    }
    wake(n, std::max(next, now_));
  }

  [[nodiscard]] PackingFigures figures() const {
    PackingFigures f;
    double area = 0;
    for (const Work& w : work_) area += w.area(s_.cpus);
    f.makespan = last_end_;
    f.utilisation = area / (last_end_ * s_.nodes);
    f.list_makespan = best_list(s_, work_);
    f.longest_at_head = longest_at_head_;
    f.gangs = gangs_;
    f.commits = commits_;
    f.claim_cost = 1e6 * cost_ / static_cast<double>(commits_);
    return f;
  }

  PackingScenario s_;
  std::vector<Work> work_;
  store::MemoryState tx_;
  std::vector<Node> nodes_;
  std::map<claim::WorkerEpoch, std::size_t> by_epoch_;
  std::set<std::pair<double, std::size_t>> due_;
  std::set<std::size_t> rung_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> waiting_gangs_;  // in their order
  std::map<std::uint64_t, double> at_head_since_;
  double now_ = 0;
  double next_bell_ = 0;
  double last_end_ = 0;
  double longest_at_head_ = 0;
  double cost_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t gangs_ = 0;
  std::uint64_t commits_ = 0;
};

}  // namespace

Result<PackingFigures> pack(const PackingScenario& scenario) {
  return Allocation(scenario, draw(scenario)).run();
}

}  // namespace torc::simulation
