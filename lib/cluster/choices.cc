#include "lib/cluster/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/quantities.h"

namespace torc::cluster {
namespace {

using std::chrono::seconds;

constexpr seconds kStep{300};  // of walltimes, and of ends that are as good as each other

std::uint32_t divided_up(std::uint32_t n, std::uint32_t by) {
  return (n + by - 1) / by;
}

Pool pool_of(const JobGroup& group, std::uint32_t nodes, std::uint32_t allocations) {
  return {group.node, nodes, std::vector<seconds>(allocations, seconds(0)), group.bounds.time()};
}

std::uint32_t largest_job(const JobGroup& group) {
  std::uint32_t nodes = 1;
  for (const Batch& batch : group.batches) nodes = std::max(nodes, batch.nodes);
  return nodes;
}

// Ascending, up to `limit`, which is the last.
std::vector<std::uint32_t> widths(std::uint32_t limit) {
  std::vector<std::uint32_t> all{1};
  for (std::uint64_t two = 2; two < limit; two *= 2) {
    all.push_back(static_cast<std::uint32_t>(two));
    if (two / 2 * 3 < limit) all.push_back(static_cast<std::uint32_t>(two / 2 * 3));
  }
  if (limit > 1) all.push_back(limit);
  return all;
}

std::uint32_t worth_while(const JobGroup& group) {
  const std::uint32_t least = std::max(largest_job(group), group.bounds.least_nodes);
  const std::uint32_t most =
      std::max(pack(pool_of(group, group.bounds.all_nodes, 1), group.batches).nodes, least);
  std::vector<std::uint32_t> all = widths(most);
  for (auto width = all.rbegin(); width != all.rend() && *width > least; ++width) {
    const Packing packed = pack(pool_of(group, *width, 1), group.batches);
    if (packed.busy_node_seconds >= kLeastUse * packed.node_seconds) return *width;
  }
  return least;
}

seconds walltime_for(const JobGroup& group, seconds time) {
  const seconds shortest = shortest_walltime(time + time / 10, group.bounds.kept);
  const seconds walltime = (shortest + kStep - seconds(1)) / kStep * kStep;
  return std::min(walltime, group.bounds.walltime.value_or(walltime));
}

Choice choice_of(const JobGroup& group, ChoiceKind kind, std::uint32_t nodes, std::uint32_t all) {
  Choice choice;
  choice.kind = kind;
  choice.nodes = nodes;
  choice.at_once = std::max(std::min({divided_up(all, nodes), group.bounds.all_nodes / nodes,
                                      group.bounds.running.value_or(UINT32_MAX)}),
                            1U);
  choice.packing = pack(pool_of(group, nodes, choice.at_once), group.batches);
  choice.walltime = walltime_for(group, choice.packing.longest);
  return choice;
}

std::string ends_text(seconds from, seconds to) {
  return show_estimate(static_cast<double>((to - from).count()));
}

std::string hours_text(double hours) {
  return show_count(static_cast<std::uint64_t>(std::llround(std::max(hours, 0.0))));
}

// By when Slurm gives allocations of so many nodes in all, as far as it has said.
seconds start_of(const std::vector<Choice>& choices, std::uint64_t nodes, seconds own) {
  std::optional<std::pair<std::uint32_t, seconds>> next;
  std::optional<std::pair<std::uint32_t, seconds>> widest;
  for (const Choice& other : choices) {
    if (!other.start) continue;
    const std::pair one(other.nodes, *other.start);
    if (!widest || one.first > widest->first) widest = one;
    if (other.nodes >= nodes && (!next || one.first < next->first)) next = one;
  }
  const auto& found = next ? next : widest;
  return found ? std::max(found->second, own) : own;
}

}  // namespace

std::string_view to_string(ChoiceKind kind) {
  switch (kind) {
    case ChoiceKind::one_large:
      return "one large";
    case ChoiceKind::chunks:
      return "chunks";
    case ChoiceKind::many_small:
      return "many small";
  }
  return "";
}

std::vector<Choice> choices_for(const JobGroup& group, std::uint32_t own_nodes) {
  const AllocationBounds& bounds = group.bounds;
  const std::uint32_t all = worth_while(group);
  const std::uint32_t large = std::min(all, bounds.most_nodes);
  // Such that not too many are needed.
  const std::uint32_t small = std::min(
      std::max({largest_job(group), bounds.least_nodes, divided_up(all, kMostAtOnce)}), large);
  std::vector<Choice> choices{choice_of(group, ChoiceKind::one_large, large, large)};
  std::vector<std::uint32_t> between;
  const double middle = std::sqrt(static_cast<double>(small) * large);
  std::uint32_t chunk = small;
  while (chunk * 2 <= middle * 1.5 && chunk * 2 < large) chunk *= 2;
  if (chunk > small && large >= 4 * small) between.push_back(chunk);
  if (own_nodes > small && own_nodes < large && own_nodes != chunk) between.push_back(own_nodes);
  std::ranges::sort(between, std::greater<>());
  for (const std::uint32_t nodes : between)
    choices.push_back(choice_of(group, ChoiceKind::chunks, nodes, all));
  if (small < large) choices.push_back(choice_of(group, ChoiceKind::many_small, small, all));
  return choices;
}

void settle(const JobGroup& group, std::vector<Choice>& choices) {
  for (Choice& choice : choices) {
    if (!choice.start) continue;
    Pool pool = pool_of(group, choice.nodes, choice.at_once);
    pool.time = longest_runtime(choice.walltime, group.bounds.kept);
    for (std::uint32_t i = 0; i < choice.at_once; ++i) {
      const std::uint64_t nodes = std::uint64_t{choice.nodes} * (i + 1);
      pool.starts[i] = i == 0
                           ? *choice.start
                           : std::max(start_of(choices, nodes, *choice.start), pool.starts[i - 1]);
    }
    choice.packing = pack(pool, group.batches);
  }
}

Recommendation recommend(const JobGroup& group, const std::vector<Choice>& choices) {
  std::vector<std::size_t> good;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].answer != Choice::Answer::refused) good.push_back(i);
  }
  if (good.empty()) return {std::nullopt, "Slurm refuses all of them: " + choices.front().why};
  const bool some_known =
      std::ranges::any_of(good, [&](std::size_t i) { return choices[i].start.has_value(); });
  // One of which Slurm says nothing, where it speaks of others, is compared with nothing.
  if (some_known) std::erase_if(good, [&](std::size_t i) { return !choices[i].start; });
  const auto end_of = [&](std::size_t i) { return choices[i].packing.end; };
  const auto cost_of = [&](std::size_t i) { return granted_core_hours(group, choices[i]); };
  const std::size_t soonest = std::ranges::min(good, {}, end_of);
  const seconds last_end = end_of(soonest) + std::max(end_of(soonest) / 20, kStep);
  std::vector<std::size_t> soon = good;
  std::erase_if(soon, [&](std::size_t i) { return end_of(i) > last_end; });
  const std::size_t cheapest = std::ranges::min(soon, {}, cost_of);
  std::vector<std::size_t> cheap = soon;
  std::erase_if(cheap, [&](std::size_t i) { return cost_of(i) > cost_of(cheapest) * 1.02; });
  const std::size_t best =
      std::ranges::min(cheap, {}, [&](std::size_t i) { return choices[i].packing.allocations; });

  const std::string name(to_string(choices[best].kind));
  const std::string unknown = some_known ? "" : "; when they would start is not known";
  if (choices.size() == 1) {
    const std::uint32_t nodes = choices[best].nodes;
    return {best, fmt::format("{}: {} {} node{} {}{}", name,
                              nodes == group.bounds.most_nodes ? "more than" : "for more than",
                              nodes, nodes == 1 ? "" : "s",
                              nodes == group.bounds.most_nodes ? "cannot be had"
                                                               : "there is too little to do",
                              some_known ? "" : "; when it would start is not known")};
  }
  // What the best of the others lacks.
  const auto others_end = [&] {
    seconds end = seconds::max();
    for (const std::size_t i : good) {
      if (i != best) end = std::min(end, end_of(i));
    }
    return end;
  };
  if (good.size() == 1)
    return {best, fmt::format("{}: {}", name,
                              some_known ? "Slurm does not say when any other one would start"
                                         : "Slurm refuses the others")};
  if (soon.size() == 1)
    return {best, fmt::format("{}: done {} sooner than by any other choice{}", name,
                              ends_text(end_of(best), others_end()), unknown)};
  double dearest = 0;
  for (const std::size_t i : soon) dearest = std::max(dearest, cost_of(i));
  if (dearest > cost_of(best) * 1.02)
    return {best, fmt::format("{}: done as soon as by others, for {} core-hours less than by the "
                              "dearest of these{}",
                              name, hours_text(dearest - cost_of(best)), unknown)};
  return {best, fmt::format("{}: done as soon as by others for as many core-hours, with {}{}", name,
                            choices[best].packing.allocations == 1
                                ? std::string("a single allocation")
                                : fmt::format("{} allocations", choices[best].packing.allocations),
                            unknown)};
}

double granted_core_hours(const JobGroup& group, const Choice& choice) {
  return choice.packing.node_seconds * group.node.cpus / 3600;
}

double used_core_hours(const JobGroup& group) {
  double sum = 0;
  for (const Batch& batch : group.batches)
    sum += static_cast<double>(batch.jobs) * batch.nodes * batch.cpus *
           static_cast<double>(batch.runtime.count()) / 3600;
  return sum;
}

}  // namespace torc::cluster
