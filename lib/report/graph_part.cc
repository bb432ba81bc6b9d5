// Part of a picture of a workflow.
#include <algorithm>
#include <iterator>

#include "lib/report/graph.h"

namespace torc::report {
namespace {

// The nodes of some jobs.
std::vector<bool> nodes_of(const Graph& graph, const std::vector<claim::JobRange>& jobs) {
  std::vector<bool> nodes(graph.nodes.size(), false);
  for (const claim::JobRange& range : jobs) {
    auto owner = std::ranges::upper_bound(graph.owners, raw(range.first), {}, &Graph::Owner::first);
    if (owner != graph.owners.begin()) --owner;
    for (; owner != graph.owners.end() && owner->first < raw(range.first) + range.count; ++owner) {
      if (owner->node < nodes.size()) nodes[owner->node] = true;  // else they are in no entry
    }
  }
  return nodes;
}

}  // namespace

void leave_needed(Graph& graph, const std::vector<claim::JobRange>& jobs) {
  std::vector<bool> needed = nodes_of(graph, jobs);
  for (bool more = true; more;) {
    more = false;
    for (const GraphEdge& edge : graph.edges) {
      if (!needed[edge.to] || needed[edge.from]) continue;
      needed[edge.from] = true;
      more = true;
    }
  }
  std::vector<std::size_t> number(graph.nodes.size(), 0);
  std::vector<GraphNode> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    number[i] = nodes.size();
    if (needed[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  std::erase_if(graph.edges, [&](const GraphEdge& edge) { return !needed[edge.to]; });
  for (GraphEdge& edge : graph.edges) edge = {number[edge.from], number[edge.to], edge.condition};
  std::ranges::sort(graph.edges);
  graph.nodes = std::move(nodes);
  graph.owners.clear();  // of jobs that are not there
}

}  // namespace torc::report
