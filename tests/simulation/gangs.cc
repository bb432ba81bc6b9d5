#include "tests/simulation/gangs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/claim/queries/gangs.h"
#include "lib/worker/jobs/gang_tag.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/process.h"

namespace torc::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Time kMostLeft = 10s;
constexpr double kNoticed = 30;  // s: a launcher has noticed a dead node by then

std::string show(const claim::ClaimToken& token) {
  return fmt::format("job {} (attempt {}, claim {})", raw(token.job), token.attempt, token.claim);
}

}  // namespace

void Gangs::begins(const Process& process, const claim::GangPart& part, bool on_each_node) {
  World& world = cluster_.world();
  const claim::Gang& gang = part.gang;
  for (const claim::GangMember& member : gang.members) {
    if (!member.confirmed)
      world.violate(fmt::format("{} starts {} before {} has confirmed", process.name(),
                                show(gang.token), member.node));
  }
  begins_beside(process, gang.token);
  auto& ranks = ranks_[gang.token];
  if (part.rank == 0) ++formed;
  if (on_each_node || part.rank > 0) {
    ranks.push_back({&process.node(), process.pid(), false});
    return;
  }
  ranks.push_back({&process.node(), process.pid(), false});
  for (std::size_t rank = 1; rank < gang.members.size(); ++rank) {
    const Process* there = cluster_.process_of(gang.members[rank].worker);
    // Where the worker has gone nothing begins: the launcher reaches the node by what runs there.
    if (there == nullptr || there->has_ended() || there->node().dead) {
      fail_soon(gang.token);
      continue;
    }
    ranks.push_back({&there->node(), there->pid(), true});
  }
}

void Gangs::ends(const Process& process, const claim::ClaimToken& token, bool by_itself) {
  const auto found = ranks_.find(token);
  if (found == ranks_.end()) return;
  World& world = cluster_.world();
  // What a launcher leaves behind that was killed, or has lost its way.
  const bool clean = by_itself && !world.one_in(4);
  std::erase_if(found->second,
                [&](const Rank& rank) { return rank.alone ? clean : rank.pid == process.pid(); });
}

void Gangs::fail_soon(const claim::ClaimToken& token) {
  World& world = cluster_.world();
  for (const Rank& rank : ranks_[token]) {
    if (rank.alone || rank.node->dead) continue;
    world.at(world.now() + of_seconds(kNoticed * world.part()), *rank.node,
             [this, token, pid = rank.pid] {
               if (Process* process = cluster_.process(pid)) process->fail_gang(token);
             });
  }
}

void Gangs::node_died(const Node& node) {
  for (const auto& [token, ranks] : ranks_) {
    if (std::any_of(ranks.begin(), ranks.end(),
                    [&](const Rank& rank) { return rank.node == &node; }))
      fail_soon(token);
  }
}

void Gangs::begins_beside(const Process& process,
                          const std::optional<claim::ClaimToken>& of) const {
  for (const auto& [token, gang] : gangs_) {
    if (token == of) continue;
    for (const claim::GangMember& member : gang.members) {
      if (claim::raw(member.worker) != process.epoch() || member.left) continue;
      // It does not know of it yet, and had nothing: what it offered binds it.
      cluster_.world().violate(
          fmt::format("{} starts something while it is part of {}", process.name(), show(token)));
    }
  }
}

void Gangs::kill_tagged(const Node& node, const std::string& tag) {
  for (auto& [token, ranks] : ranks_) {
    if (worker::gang_tag(token) != tag) continue;
    std::vector<std::uint64_t> workers;
    for (const Rank& rank : ranks) {
      if (rank.node == &node && !rank.alone) workers.push_back(rank.pid);
    }
    std::erase_if(ranks, [&](const Rank& rank) { return rank.node == &node && rank.alone; });
    const claim::ClaimToken of = token;  // the ends of commands change the map's values
    for (const std::uint64_t pid : workers) {
      if (Process* process = cluster_.process(pid)) process->kill_gang(of);
    }
    return;
  }
}

// --- what is left ---

bool Gangs::is_in_trouble(const Rank& rank, Time since) const {
  const Node& node = *rank.node;
  const Process* process = cluster_.process(rank.pid);
  const World& world = cluster_.world();
  return node.cut_off_until > since || node.stands_until > since ||
         node.loses_replies_until > since || node.dead_mount_until > since || world.full ||
         process->stood_until() > since || process->is_in_doubt();
}

void Gangs::check_nothing_is_left(const claim::ClaimToken& token, Time since) {
  const auto found = ranks_.find(token);
  if (found == ranks_.end()) return;
  World& world = cluster_.world();
  std::erase_if(found->second, [&](const Rank& rank) {
    const Process* process = cluster_.process(rank.pid);
    // Who would end it has gone; its successor there, or another worker of the node, does.
    return rank.node->dead || process == nullptr || process->has_ended();
  });
  bool again = false;
  for (const Rank& rank : found->second) {
    if (is_in_trouble(rank, since)) {
      again = true;
      continue;
    }
    return world.violate(
        fmt::format("something of {}, which is over, runs on {} (worker process {})", show(token),
                    rank.node->name, rank.pid));
  }
  if (found->second.empty()) {
    ranks_.erase(found);
    return;
  }
  if (again)
    world.at(world.now() + kMostLeft,
             [this, token, now = world.now()] { check_nothing_is_left(token, now); });
}

void Gangs::committed(const claim::Reader& reader) {
  World& world = cluster_.world();
  std::map<claim::ClaimToken, claim::Gang> now;
  std::set<claim::WorkerEpoch> taken;
  const auto read = claim::scan_gangs(reader, [&](const claim::Gang& gang) {
    for (const claim::GangMember& member : gang.members) {
      if (member.left) continue;
      if (!taken.insert(member.worker).second)
        world.violate(fmt::format("worker {} is part of two gangs, one of them {}",
                                  claim::raw(member.worker), show(gang.token)));
    }
    if (gang.stage != claim::GangStage::over) now.emplace(gang.token, gang);
    return true;
  });
  if (!read) return world.violate("the gangs cannot be read: " + read.error().text());
  for (const auto& [token, gang] : gangs_) {
    if (now.contains(token)) continue;
    world.tell(fmt::format("{} is over on its {} nodes", show(token), gang.members.size()));
    world.at(world.now() + kMostLeft,
             [this, token = token, at = world.now()] { check_nothing_is_left(token, at); });
  }
  for (const auto& [token, gang] : now) {
    if (!gangs_.contains(token))
      world.tell(fmt::format("{} gets {} nodes, its head is worker {}", show(token),
                             gang.members.size(), claim::raw(gang.members.front().worker)));
  }
  gangs_ = std::move(now);
}

}  // namespace torc::simulation
