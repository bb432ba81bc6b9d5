// Jobs of several nodes in a simulated cluster: what their commands leave running on the nodes, and
// what must hold of them whatever happens. All nodes or none; nothing else on a node that is part
// of one; nothing of an attempt that is over, on a node that works, for longer than ten seconds.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/claim/rules/gang.h"
#include "lib/claim/tables/transaction.h"
#include "tests/simulation/world.h"

namespace torc::simulation {

class Cluster;
class Process;

class Gangs {
 public:
  explicit Gangs(Cluster& cluster) : cluster_(cluster) {}

  // A part starts its command. That of a head that is alone with it starts ranks on all nodes.
  void begins(const Process& process, const claim::GangPart& part, bool on_each_node);
  // A command of it has ended: of a head that is alone with it the ranks end with it mostly, where
  // it ended by itself.
  void ends(const Process& process, const claim::ClaimToken& token, bool by_itself);
  // Something that is of no gang, or of that one, begins on the worker of the process.
  void begins_beside(const Process& process, const std::optional<claim::ClaimToken>& of) const;
  // Whatever has the tag of the gang on this node.
  void kill_tagged(const Node& node, const std::string& tag);
  // A node has lost its power. The commands of what had ranks there fail, mostly before anybody
  // knows of it.
  void node_died(const Node& node);
  // After each commit.
  void committed(const claim::Reader& reader);

  std::uint64_t formed = 0;  // that have begun to run

 private:
  struct Rank {
    const Node* node = nullptr;
    std::uint64_t pid = 0;  // of the worker there
    bool alone = false;     // it is not a child of that
  };
  [[nodiscard]] bool is_in_trouble(const Rank& rank, Time since) const;
  void fail_soon(const claim::ClaimToken& token);
  void check_nothing_is_left(const claim::ClaimToken& token, Time since);

  Cluster& cluster_;
  std::map<claim::ClaimToken, std::vector<Rank>> ranks_;  // that run
  std::map<claim::ClaimToken, claim::Gang> gangs_;        // as of the newest commit, not over
};

}  // namespace torc::simulation
