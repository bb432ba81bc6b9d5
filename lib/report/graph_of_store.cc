// The graph of a workflow in a store, with what has become of its jobs.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/state.h"
#include "lib/report/graph.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {
namespace {

using claim::JobRange;

// By claim::Tone.
constexpr std::array<NodeLook, 7> kLooks{{{"failed", "#ffb3ad"},
                                          {"running", "#a8d1ff"},
                                          {"held", "#dcc6f5"},
                                          {"canceled", "#d0d7de"},
                                          {"ready", "#fff3b0"},
                                          {"blocked", "#ffffff"},
                                          {"completed", "#b4e5bc"}}};

// What the jobs of a class need, as a workflow file would say it.
spec::ResourceRequirements resources_of(const claim::JobClass& c) {
  spec::ResourceRequirements resources;
  static_cast<Resources&>(resources) = c.need;
  if (!c.others.empty()) resources.one_of.push_back({c.need, c.weight});
  for (const claim::Alternative& one : c.others) resources.one_of.push_back({one.need, one.weight});
  return resources;
}

// A store as the file says it that would make it, with the numbers that the store has; jobs that
// the workflow has no more are left out, with what waited for them.
class StoredSpec {
 public:
  static Result<StoredSpec> of(const claim::Reader& reader) {
    StoredSpec stored;
    TORC_ASSIGN(const claim::WorkflowState state, claim::read_workflow(reader));
    stored.workflow.name = state.name;
    stored.expansion.jobs = state.jobs;
    const std::vector<JobRange> all{{JobId{1}, state.jobs}};
    TORC_ASSIGN(const auto removed, claim::removed_jobs(reader, all));
    stored.jobs = claim::without(all, removed);
    TORC_TRY(stored.read_entries(reader, removed));
    TORC_TRY(stored.read_dependencies(reader));
    return stored;
  }

  spec::Workflow workflow;
  spec::Expansion expansion;
  std::vector<JobRange> jobs;  // that it has; sorted, disjoint

 private:
  Result<void> read_entries(const claim::Reader& reader, const std::vector<JobRange>& removed) {
    std::unordered_map<std::string, std::size_t> sources;  // an entry that grew has several parts
    Result<void> readable;
    TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
      const std::vector<JobRange> parts = claim::without({{t.first, t.count}}, removed);
      if (parts.empty()) return true;
      const auto recipe = workflow::recipe_of(t);
      if (!recipe) {
        readable = recipe.error();
        return false;
      }
      const auto [source, is_new] = sources.try_emplace(recipe->entry_name(), workflow.jobs.size());
      if (is_new) workflow.jobs.emplace_back().name = source->first;
      for (const JobRange& part : parts) {
        spec::ExpandedEntry& entry = expansion.entries.emplace_back();
        entry.first = raw(part.first);
        entry.count = part.count;
        entry.resources = resources_of(claim::read_class(reader, t.job_class));
        entry.source = source->second;
      }
      return true;
    }));
    return readable;
  }

  Result<void> read_dependencies(const claim::Reader& reader) {
    claim::State state(reader);
    std::map<std::uint64_t, std::vector<JobRange>> members;  // by barrier
    for (std::uint64_t id = 1; id <= expansion.jobs;) {
      const claim::Span* span = state.span_of(id);
      if (span == nullptr) {
        state.damaged(claim::Key(claim::Table::span, id));
        break;
      }
      if (span->barrier != 0) members[span->barrier].push_back({JobId{id}, span->end() - id});
      id = span->end();
    }
    for (const auto& [number, ranges] : members) {
      const auto barrier = state.barrier(number);
      if (!barrier) {
        state.damaged(claim::Key(claim::Table::barrier, number));
        break;
      }
      add(barrier->upstream, ranges, spec::Condition::afterok);
      std::map<spec::Condition, std::vector<JobRange>> conditional;
      for (const claim::Dependency& d : barrier->conditional)
        conditional[d.condition].push_back(d.jobs);
      for (const auto& [condition, upstream] : conditional) add(upstream, ranges, condition);
    }
    return state.sound();
  }

  void add(const std::vector<JobRange>& upstream, const std::vector<JobRange>& members,
           spec::Condition condition) {
    spec::DependencySet set{still_there(upstream), still_there(members)};
    if (set.upstream.empty() || set.members.empty()) return;
    if (condition == spec::Condition::afterok)
      expansion.dependencies.push_back(std::move(set));
    else
      expansion.conditional.push_back({condition, std::move(set)});
  }

  [[nodiscard]] std::vector<spec::Range> still_there(const std::vector<JobRange>& some) const {
    std::vector<spec::Range> ranges;
    for (const JobRange& range : some) {
      const std::uint64_t end = raw(range.first) + range.count;
      auto at = std::ranges::partition_point(
          jobs, [&](const JobRange& j) { return raw(j.first) + j.count <= raw(range.first); });
      for (; at != jobs.end() && raw(at->first) < end; ++at) {
        const std::uint64_t first = std::max(raw(at->first), raw(range.first));
        ranges.push_back({first, std::min(end, raw(at->first) + at->count) - first});
      }
    }
    spec::normalise(ranges);
    return ranges;
  }
};

Result<void> add_states(Graph& graph, const std::vector<JobRange>& jobs,
                        const claim::Reader& reader) {
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  graph.has_states = true;
  for (std::size_t s = 0; s < claim::kJobStates; ++s) {
    if (workflow.counts[s] != workflow.jobs) continue;
    for (GraphNode& node : graph.nodes) node.states[s] = node.jobs;
    return {};
  }
  std::size_t at = 0;
  return claim::scan_jobs_of(reader, jobs, [&](JobId id, const claim::Job& job) {
    while (at + 1 < graph.owners.size() && graph.owners[at + 1].first <= raw(id)) ++at;
    ++graph.nodes[graph.owners[at].node].states[static_cast<std::size_t>(job.state)];
    return true;
  });
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

Result<Graph> graph_of_store(const claim::Reader& reader, std::size_t most) {
  TORC_ASSIGN(const StoredSpec stored, StoredSpec::of(reader));
  Graph graph =
      make_graph(stored.workflow, stored.expansion, spec::outline(stored.expansion), most);
  TORC_TRY(add_states(graph, stored.jobs, reader));
  return graph;
}

}  // namespace torc::report
