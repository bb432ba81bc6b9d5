// A workflow as a picture of a size that people can read, however many jobs it has.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/spec/expand/expand.h"
#include "lib/spec/load/outline.h"

namespace torc::report {

struct GraphNode {
  std::string name;
  std::uint64_t jobs = 0;
  std::uint32_t stage = 0;  // of its first jobs, from 0
  std::string needs;        // "4 CPUs, 16 GiB"; empty where its jobs differ
  claim::Counts states{};   // of a workflow in a store
};

struct GraphEdge {
  std::size_t from = 0;  // what the other waits for
  std::size_t to = 0;
  spec::Condition condition = spec::Condition::afterok;
  auto operator<=>(const GraphEdge&) const = default;
};

struct Graph {
  std::string title;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;  // sorted, each once
  // Which node the jobs from `first` on belong to, up to the next entry; in id order.
  struct Owner {
    std::uint64_t first = 1;
    std::size_t node = 0;
  };
  std::vector<Owner> owners;
  bool has_states = false;  // states are known
};

// One node for each entry of the spec. Where these would be more than `most`, entries of one stage
// whose names differ in numbers only are one; where that is not enough, each stage is.
[[nodiscard]] Graph make_graph(const spec::Workflow& workflow, const spec::Expansion& expansion,
                               const spec::Outline& outline, std::size_t most = 80);

// The same of a workflow in a store, from what that has: also jobs that were added to it, not those
// that it has no more; with the states of the jobs. Costs what entries and dependencies cost, and a
// look at the record of every job, unless all are in one state. Error corrupt.
Result<Graph> graph_of_store(const claim::Reader& reader, std::size_t most = 80);

// Leaves the nodes that these jobs belong to and all that they wait for, directly or not.
void leave_needed(Graph& graph, const std::vector<claim::JobRange>& jobs);

// How a node is shown whose states are known: by what is most worth seeing among its jobs.
struct NodeLook {
  std::string_view name;
  std::string_view fill;  // #rrggbb
};
[[nodiscard]] const NodeLook& look_of(const GraphNode& node);
[[nodiscard]] std::span<const NodeLook> all_looks();

[[nodiscard]] std::string to_dot(const Graph& graph);
[[nodiscard]] std::string to_mermaid(const Graph& graph);
[[nodiscard]] std::string to_svg(const Graph& graph);
// {"workflow", "nodes": [{"id", "name", "jobs", "stage", "needs"}], "edges": [{"from", "to",
// "condition"}]}; stages from 1.
[[nodiscard]] nlohmann::ordered_json to_json(const Graph& graph);

}  // namespace torc::report
