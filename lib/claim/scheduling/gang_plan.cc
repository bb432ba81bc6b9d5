#include "lib/claim/scheduling/gang_plan.h"

#include <algorithm>
#include <utility>

#include "lib/claim/queries/learned_times.h"
#include "lib/claim/scheduling/node_list.h"

namespace torc::claim {
namespace {

constexpr WallTime kNever = WallTime::max() / 2;  // sums with other times stay numbers

// Of one that is not known or past: now.
WallTime moment(std::uint64_t free_at, WallTime now) {
  if (free_at == NodePlace::kUnknown) return now;
  return std::max(now, std::min(kNever, WallTime(static_cast<std::int64_t>(free_at))));
}

bool is_overdue(std::uint64_t free_at, WallTime now) {
  if (free_at == NodePlace::kOffered || free_at == NodePlace::kUnknown) return false;
  return WallTime(static_cast<std::int64_t>(free_at)) < now;
}

bool is_ready(State& state, std::uint64_t job) {
  const auto found = state.job(job);
  return found && found->state == JobState::ready;
}

}  // namespace

bool GangPlan::concerns(const JobClass& job_class) const {
  return job_class.need.nodes > offer_.nodes && job_class.need.nodes <= kMostGangNodes &&
         could_be_part(job_class, offer_);
}

bool GangPlan::ends_in_time(std::chrono::seconds runtime) const {
  const std::uint64_t until = kept_->keep.until;
  if (until == NodePlace::kUnknown || runtime.count() <= 0) return false;
  return asker_.now + runtime <= WallTime(static_cast<std::int64_t>(until));
}

bool GangPlan::lets(std::chrono::seconds runtime) const {
  return !keeps_asker() || ends_in_time(runtime);
}

// When the first of those ends that stay.
WallTime GangPlan::drop_what_ends_before(WallTime moment, std::vector<Node>& nodes,
                                         std::set<std::string>& names) {
  WallTime first = kNever;
  std::erase_if(nodes, [&](const Node& n) {
    if (n.ends_at == WallTime{}) return false;
    const bool goes = n.ends_at < moment;
    if (goes) {
      names.erase(n.name);
    } else {
      first = std::min(first, n.ends_at);
    }
    return goes;
  });
  return first;
}

bool GangPlan::fill(std::vector<Node>& nodes, const JobClass& job_class, std::uint64_t latest,
                    const Takes& takes) {
  std::set<std::string> names;
  for (const Node& n : nodes) names.insert(n.name);
  const std::size_t most = job_class.need.nodes;
  const std::chrono::seconds least = least_time(job_class.need);
  WallTime start = asker_.now;  // when all of them are free
  WallTime shortest = kNever;
  for (std::size_t place = 0; nodes.size() < most; ++place) {
    const Listed* node = listed(place, latest, most - nodes.size());
    if (node == nullptr) break;
    if (!takes(node->worker) || !could_be_part(job_class, node->whole)) continue;
    if (!names.insert(node->name).second) continue;
    const WallTime ends = node->ends_at;
    nodes.push_back({node->worker, node->free_at, node->name, ends});
    start = std::max(start, node->from);
    if (ends != WallTime{}) shortest = std::min(shortest, ends);
    if (shortest < start + least) shortest = drop_what_ends_before(start + least, nodes, names);
  }
  return nodes.size() == most;
}

const GangPlan::Listed* GangPlan::listed(std::size_t place, std::uint64_t latest,
                                         std::size_t at_once) {
  if (place >= list_.size() && !read_all_) read_list(latest, at_once);
  return place < list_.size() && list_[place].free_at <= latest ? &list_[place] : nullptr;
}

void GangPlan::read_list(std::uint64_t latest, std::size_t most) {
  const Key all(Table::node, asker_.group);
  const std::string from = std::exchange(next_, {});
  state_.reader().scan(from.empty() ? std::string_view(all) : from, [&](const store::Entry& e) {
    if (!e.key.starts_with(all)) return false;
    const auto node = node_in(e.key);
    if (!node) {
      state_.damaged(e.key);
      return false;
    }
    if (most-- == 0 || node->place.free_at > latest) {
      next_ = e.key;
      return false;
    }
    const auto worker = state_.worker(node->worker);
    if (!worker) {
      state_.damaged(Key(Table::worker, raw(node->worker)));
      return false;
    }
    const claim::WorkerInfo& info = worker->info;
    const WallTime free = moment(node->place.free_at, asker_.now);
    list_.push_back({node->worker, node->place.free_at, free, whole_offer(info, free),
                     name_of_node(info), info.ends_at});
    return true;
  });
  read_all_ = next_.empty();
}

bool GangPlan::begins(const JobClass& job_class, std::uint32_t number, std::uint64_t job,
                      bool free) {
  look_at_what_is_kept(job);
  if (free && asker_.free && can_start(job_class)) {
    if (const auto keeper = keeper_of(state_, job)) keep_no_nodes(tx_, state_, *keeper);
    return true;
  }
  if (first_waits_) return false;
  std::uint32_t found = 0;
  auto kept = could_keep(job_class, number, job, found);
  const std::uint32_t lacks = job_class.need.nodes - found;
  if (!waits_ || lacks < waits_->lacks) waits_ = {found, lacks};
  if (!kept || is_kept_elsewhere(*kept) || is_kept_for_another(job)) return false;
  kept_ = std::move(kept);
  ++revision_;
  first_waits_ = true;
  return false;
}

// Nodes may be kept for a job that has nothing to do with this worker, so that it does not meet it
// among those that are ready.
void GangPlan::look_at_what_is_kept(std::uint64_t job) {
  if (std::exchange(looked_, true)) return;
  const auto keep = keep_of(state_, asker_.group);
  if (!keep || keep->job == job || !is_ready(state_, keep->job)) return;
  JobClass job_class = state_.job_class(keep->job_class);
  if (concerns(job_class)) return;
  job_class.need.runtime = expected_run(tx_, job_class);
  std::uint32_t found = 0;
  kept_ = could_keep(job_class, keep->job_class, keep->job, found);
  ++revision_;
}

bool GangPlan::can_start(const JobClass& job_class) {
  const auto may_be_taken = [&](WorkerEpoch worker) {
    return !kept_ || !kept_->workers.contains(worker) || ends_in_time(job_class.need.runtime);
  };
  const auto self = state_.worker(asker_.worker);
  if (!self || !may_be_taken(asker_.worker)) return false;
  std::vector<Node> nodes{{asker_.worker, NodePlace::kOffered, name_of_node(self->info), {}}};
  const bool enough = fill(nodes, job_class, NodePlace::kOffered, [&](WorkerEpoch worker) {
    return worker != asker_.worker && may_be_taken(worker);
  });
  if (!enough) return false;
  for (Node& n : nodes)
    chosen_.push_back({n.worker, std::move(n.name), n.worker == asker_.worker, false, {}, false});
  return true;
}

std::optional<GangPlan::Kept> GangPlan::could_keep(const JobClass& job_class, std::uint32_t number,
                                                   std::uint64_t job, std::uint32_t& found) {
  std::vector<Node> nodes;
  const auto anybody = [](WorkerEpoch) { return true; };
  const bool enough = fill(nodes, job_class, NodePlace::kUnknown, anybody);
  found = static_cast<std::uint32_t>(nodes.size());
  if (!enough) return std::nullopt;
  Kept kept{{job, number, nodes.back().free_at}, {}, false};
  for (const Node& n : nodes) {
    kept.workers.insert(n.worker);
    kept.overdue = kept.overdue || is_overdue(n.free_at, asker_.now);
  }
  return kept;
}

// What runs for longer than was expected promises nothing, so the job goes nowhere for its sake.
// Nor does it go away from where that happens: there it has its turn when that ends, and elsewhere
// the same may come.
bool GangPlan::is_kept_elsewhere(const Kept& kept) {
  const auto keeper = keeper_of(state_, kept.keep.job);
  if (!keeper || *keeper == asker_.group) return false;
  if (kept.overdue || kept.keep.until == NodePlace::kUnknown) return true;
  const auto there = keep_of(state_, *keeper);
  if (!there || there->until == NodePlace::kUnknown) return false;
  return moment(kept.keep.until, asker_.now) + kTakesOver >= moment(there->until, asker_.now);
}

// Of equal ones that for which nodes are kept already: who has to do with both knows their order.
bool GangPlan::is_kept_for_another(std::uint64_t job) {
  if (!kept_ || kept_->keep.job == job) return false;
  const auto theirs = state_.rank_of(kept_->keep.job);
  const auto own = state_.rank_of(job);
  if (!theirs || !own) {
    state_.damaged(keep_key(asker_.group));
    return false;
  }
  return own->priority <= theirs->priority;
}

bool GangPlan::settle(bool looked_at_all) {
  const auto before = keep_of(state_, asker_.group);
  if (first_waits_) {
    Keep keep = kept_->keep;
    const bool same = before && before->job == keep.job;
    keep_nodes(tx_, state_, asker_.group, keep);
    return !same;
  }
  if (!before) return false;
  const bool met = looked_at_all && concerns(state_.job_class(before->job_class));
  if (met || !is_ready(state_, before->job)) keep_no_nodes(tx_, state_, asker_.group);
  return false;
}

}  // namespace torc::claim
