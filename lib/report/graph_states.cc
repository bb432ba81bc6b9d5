// What has become of the jobs of a graph's nodes.

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/report/graph.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {
namespace {

using claim::JobState;

// By claim::Tone.
constexpr std::array<NodeLook, 7> kLooks{{{"failed", "#ffb3ad"},
                                          {"running", "#a8d1ff"},
                                          {"held", "#dcc6f5"},
                                          {"canceled", "#d0d7de"},
                                          {"ready", "#fff3b0"},
                                          {"blocked", "#ffffff"},
                                          {"completed", "#b4e5bc"}}};

// By entry of the file: the number that its first job has in the store; 0: it is not there. Both
// number them alike unless a later version of the file had other jobs (`torc reinit --spec`).
Result<std::vector<std::uint64_t>> numbers_in_store(const spec::Expansion& expansion,
                                                    const claim::Reader& reader) {
  std::vector<std::uint64_t> numbers;
  std::unordered_map<std::string, std::uint64_t> by_name;
  for (const spec::ExpandedEntry& entry : expansion.entries) {
    const auto same = claim::read_template(reader, JobId{entry.first});
    if (same && raw(same->first) == entry.first && same->recipe == entry.recipe) {
      numbers.push_back(entry.first);
      continue;
    }
    if (by_name.empty()) {
      TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
        if (const auto recipe = spec::Recipe::decode(t.recipe))
          by_name.emplace(recipe->name(0), raw(t.first));
        return true;
      }));
    }
    TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(entry.recipe));
    const auto found = by_name.find(recipe.name(0));
    numbers.push_back(found == by_name.end() ? 0 : found->second);
  }
  return numbers;
}

// The owners by the numbers of the store. Jobs that are in no entry of the file belong to `rest`.
std::vector<Graph::Owner> owners_in_store(const Graph& graph, const spec::Expansion& expansion,
                                          const std::vector<std::uint64_t>& numbers,
                                          std::size_t rest) {
  struct Owned {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::size_t node = 0;
  };
  std::vector<Owned> owned;
  std::size_t e = 0;
  for (std::size_t i = 0; i < graph.owners.size(); ++i) {
    const std::uint64_t first = graph.owners[i].first;
    while (e + 1 < expansion.entries.size() && expansion.entries[e + 1].first <= first) ++e;
    const spec::ExpandedEntry& entry = expansion.entries[e];
    const std::uint64_t end =
        i + 1 < graph.owners.size() ? graph.owners[i + 1].first : expansion.jobs + 1;
    if (numbers[e] == 0) continue;
    const std::uint64_t there = numbers[e] + (first - entry.first);
    owned.push_back({there, there + (end - first), graph.owners[i].node});
  }
  std::sort(owned.begin(), owned.end(),
            [](const Owned& a, const Owned& b) { return a.first < b.first; });
  std::vector<Graph::Owner> owners;
  std::uint64_t at = 1;
  for (const Owned& o : owned) {
    if (at < o.first) owners.push_back({at, rest});
    owners.push_back({o.first, o.node});
    at = o.end;
  }
  owners.push_back({at, rest});
  return owners;
}

}  // namespace

std::span<const NodeLook> all_looks() {
  return kLooks;
}

const NodeLook& look_of(const GraphNode& node) {
  auto first = claim::Tone::completed;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (node.states[s] > 0) first = std::min(first, claim::kStates[s].tone);
  }
  return kLooks[static_cast<std::size_t>(first)];
}

Result<void> add_states(Graph& graph, const spec::Expansion& expansion,
                        const claim::Reader& reader) {
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  graph.has_states = true;
  TORC_ASSIGN(const std::vector<std::uint64_t> numbers, numbers_in_store(expansion, reader));
  const std::size_t rest = graph.nodes.size();
  graph.owners = owners_in_store(graph, expansion, numbers, rest);
  if (workflow.jobs > expansion.jobs)
    graph.nodes.push_back({"added jobs", workflow.jobs - expansion.jobs, 0, "", {}});
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (workflow.counts[s] != workflow.jobs) continue;
    for (GraphNode& node : graph.nodes) node.states[s] = node.jobs;
    return {};
  }
  std::size_t at = 0;
  return claim::scan_jobs(reader, std::nullopt, [&](JobId id, const claim::Job& job) {
    while (at + 1 < graph.owners.size() && graph.owners[at + 1].first <= raw(id)) ++at;
    if (graph.owners[at].node >= graph.nodes.size()) return true;
    ++graph.nodes[graph.owners[at].node].states[static_cast<std::size_t>(job.state)];
    return true;
  });
}

}  // namespace torc::report
