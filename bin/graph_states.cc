// What has become of the jobs of a graph's nodes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bin/graph.h"
#include "bin/quantities.h"
#include "lib/spec/expand.h"

namespace torc::cli {
namespace {

using claim::JobState;

// In this order the first that a node has decides; completed and waiting ones only without others.
constexpr std::array<NodeLook, 7> kLooks{{{"failed", "#ffb3ad"},
                                          {"running", "#a8d1ff"},
                                          {"held", "#dcc6f5"},
                                          {"canceled", "#d0d7de"},
                                          {"ready", "#fff3b0"},
                                          {"blocked", "#ffffff"},
                                          {"completed", "#b4e5bc"}}};

std::uint64_t of(const GraphNode& node, JobState state) {
  return node.states[static_cast<std::size_t>(state)];
}

}  // namespace

std::span<const NodeLook> all_looks() {
  return kLooks;
}

const NodeLook& look_of(const GraphNode& node) {
  const auto any = [&](std::initializer_list<JobState> states) {
    return std::any_of(states.begin(), states.end(), [&](JobState s) { return of(node, s) > 0; });
  };
  if (any({JobState::failed, JobState::terminated})) return kLooks[0];
  if (any({JobState::claimed, JobState::running})) return kLooks[1];
  if (any({JobState::held})) return kLooks[2];
  if (any({JobState::canceled})) return kLooks[3];
  if (any({JobState::ready, JobState::delayed})) return kLooks[4];
  if (any({JobState::blocked})) return kLooks[5];
  return kLooks[6];
}

std::string show_states(const GraphNode& node) {
  std::string text;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (node.states[s] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", show_count(node.states[s]),
                        claim::to_string(static_cast<JobState>(s)));
  }
  return text;
}

Result<void> add_states(Graph& graph, const spec::Expansion& expansion,
                        const claim::Reader& reader) {
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  graph.living = true;
  if (workflow.jobs > expansion.jobs) {
    graph.owners.push_back({expansion.jobs + 1, graph.nodes.size()});
    graph.nodes.push_back({"added jobs", workflow.jobs - expansion.jobs, 0, "", {}});
  }
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (workflow.counts[s] != workflow.jobs) continue;
    for (GraphNode& node : graph.nodes) node.states[s] = node.jobs;
    return {};
  }
  std::size_t at = 0;
  claim::scan_jobs(reader, std::nullopt, [&](JobId id, const claim::Job& job) {
    while (at + 1 < graph.owners.size() && graph.owners[at + 1].first <= raw(id)) ++at;
    ++graph.nodes[graph.owners[at].node].states[static_cast<std::size_t>(job.state)];
    return true;
  });
  return {};
}

}  // namespace torc::cli
