#include "lib/report/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/report/job_view.h"

namespace torc::report {
namespace {

// job_17 and job_18 are job_# both.
std::string without_numbers(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      out += c;
    else if (!out.ends_with('#'))
      out += '#';
  }
  return out;
}

// How segments are put together into nodes.
enum class Grain : unsigned char { entry, numbers, stage };

// What segments of one node have in common, and what a node of several entries is called.
struct Common {
  std::string key;
  std::string title;
};

Common common_of(const spec::JobEntry& entry, std::size_t source, const spec::Segment& segment,
                 Grain grain) {
  if (grain == Grain::entry) return {fmt::format("{:020}", source), printable(entry.name)};
  if (grain == Grain::stage)
    return {fmt::format("{:010}", segment.stage), fmt::format("stage {}", segment.stage + 1)};
  const std::string name = without_numbers(entry.name);
  return {fmt::format("{:010} {}", segment.stage, name), printable(name)};
}

class Collapse {
 public:
  Collapse(const spec::Workflow& workflow, const spec::Expansion& expansion,
           const spec::Outline& outline)
      : workflow_(workflow), expansion_(expansion), outline_(outline) {}

  Graph run(std::size_t most) {
    for (const Grain grain : {Grain::entry, Grain::numbers, Grain::stage}) {
      group(grain);
      if (graph_.nodes.size() <= most) break;
    }
    graph_.title = workflow_.name;
    for (const spec::DependencySet& set : expansion_.dependencies)
      connect(set, spec::Condition::afterok);
    for (const spec::ConditionalSet& one : expansion_.conditional) connect(one.set, one.condition);
    graph_.edges.assign(edges_.begin(), edges_.end());
    for (std::size_t s = 0; s < outline_.segments.size(); ++s)
      graph_.owners.push_back({outline_.segments[s].first, node_of_[s]});
    return std::move(graph_);
  }

 private:
  void group(Grain grain) {
    graph_.nodes.clear();
    node_of_.clear();
    std::map<std::string, std::size_t> known;
    std::vector<std::size_t> source_of;  // of each node's first entry
    for (const spec::Segment& segment : outline_.segments) {
      const spec::ExpandedEntry& entry = expansion_.entries[segment.entry];
      const std::string needs = show_needs(entry.resources);
      const spec::JobEntry& written = workflow_.jobs[entry.source];
      const Common common = common_of(written, entry.source, segment, grain);
      const auto [it, fresh] = known.try_emplace(common.key, graph_.nodes.size());
      if (fresh) {
        // One entry alone keeps its name, whatever it could have been put together with.
        const std::string title = grain == Grain::stage ? common.title : printable(written.name);
        graph_.nodes.push_back({title, 0, segment.stage, needs, {}});
        source_of.push_back(entry.source);
      } else if (source_of[it->second] != entry.source) {
        graph_.nodes[it->second].name = common.title;
      }
      GraphNode& node = graph_.nodes[it->second];
      node.jobs += segment.count;
      node.stage = std::min(node.stage, segment.stage);
      if (node.needs != needs) node.needs.clear();
      node_of_.push_back(it->second);
    }
  }

  [[nodiscard]] std::set<std::size_t> nodes_of(const std::vector<spec::Range>& ranges) const {
    std::set<std::size_t> nodes;
    for (const spec::Range& range : ranges) {
      for (std::size_t s = spec::segment_of(outline_.segments, range.first);
           s < outline_.segments.size() && outline_.segments[s].first < range.end(); ++s) {
        nodes.insert(node_of_[s]);
      }
    }
    return nodes;
  }

  void connect(const spec::DependencySet& set, spec::Condition condition) {
    const std::set<std::size_t> members = nodes_of(set.members);
    for (const std::size_t from : nodes_of(set.upstream)) {
      for (const std::size_t to : members) edges_.insert({from, to, condition});
    }
  }

  const spec::Workflow& workflow_;
  const spec::Expansion& expansion_;
  const spec::Outline& outline_;
  Graph graph_;
  std::vector<std::size_t> node_of_;  // by segment
  std::set<GraphEdge> edges_;
};

std::string count_line(const GraphNode& node) {
  return node.jobs == 1 ? "" : fmt::format("{} jobs", show_count(node.jobs));
}

std::string replaced(std::string_view text,
                     const std::vector<std::pair<char, std::string_view>>& by) {
  std::string out;
  for (const char c : text) {
    const auto found =
        std::find_if(by.begin(), by.end(), [c](const auto& p) { return p.first == c; });
    if (found == by.end())
      out += c;
    else
      out += found->second;
  }
  return out;
}

// A node for each look, apart from the others.
std::string dot_legend() {
  std::string out =
      "  subgraph cluster_legend {\n    label=\"legend\";\n    fontname=\"sans-serif\";\n";
  for (const NodeLook& look : all_looks()) {
    out += fmt::format("    \"{0}\" [style=\"rounded,filled\", fillcolor=\"{1}\"];\n", look.name,
                       look.fill);
  }
  return out + "  }\n";
}

std::vector<std::string> lines_of(const GraphNode& node) {
  std::vector<std::string> lines{node.name};
  if (const std::string count = count_line(node); !count.empty()) lines.push_back(count);
  if (!node.needs.empty()) lines.push_back(node.needs);
  if (const std::string states = show_counts(node.states); !states.empty()) lines.push_back(states);
  return lines;
}

}  // namespace

Graph make_graph(const spec::Workflow& workflow, const spec::Expansion& expansion,
                 const spec::Outline& outline, std::size_t most) {
  return Collapse(workflow, expansion, outline).run(most);
}

std::string to_dot(const Graph& graph) {
  const auto quoted = [](std::string_view text) {
    return replaced(text, {{'"', "\\\""}, {'\\', "\\\\"}});
  };
  std::string out = fmt::format(
      "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, style=rounded, "
      "fontname=\"sans-serif\"];\n",
      quoted(graph.title));
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    std::string label;
    for (const std::string& line : lines_of(graph.nodes[n]))
      label += (label.empty() ? "" : "\\n") + quoted(line);
    const std::string fill = graph.has_states
                                 ? fmt::format(", style=\"rounded,filled\", fillcolor=\"{}\"",
                                               look_of(graph.nodes[n]).fill)
                                 : "";
    out += fmt::format("  n{} [label=\"{}\"{}];\n", n + 1, label, fill);
  }
  if (graph.has_states) out += dot_legend();
  for (const GraphEdge& e : graph.edges) {
    const std::string style =
        e.condition == spec::Condition::afterok
            ? ""
            : fmt::format(" [style=dashed, label=\"{}\"]", to_string(e.condition));
    out += fmt::format("  n{} -> n{}{};\n", e.from + 1, e.to + 1, style);
  }
  return out + "}\n";
}

std::string to_mermaid(const Graph& graph) {
  const auto quoted = [](std::string_view text) {
    return replaced(text,
                    {{'"', "#quot;"}, {'#', "#35;"}, {'<', "#lt;"}, {'>', "#gt;"}, {'`', "#96;"}});
  };
  std::string out = "flowchart LR\n";
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    std::string label;
    for (const std::string& line : lines_of(graph.nodes[n]))
      label += (label.empty() ? "" : "<br/>") + quoted(line);
    out += fmt::format("  n{}[\"{}\"]\n", n + 1, label);
    if (graph.has_states)
      out += fmt::format("  style n{} fill:{}\n", n + 1, look_of(graph.nodes[n]).fill);
  }
  for (const GraphEdge& e : graph.edges) {
    if (e.condition == spec::Condition::afterok)
      out += fmt::format("  n{} --> n{}\n", e.from + 1, e.to + 1);
    else
      out += fmt::format("  n{} -. {} .-> n{}\n", e.from + 1, to_string(e.condition), e.to + 1);
  }
  return out;
}

nlohmann::ordered_json to_json(const Graph& graph) {
  nlohmann::ordered_json vertices = nlohmann::ordered_json::array();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    vertices.push_back({{"vertex", n + 1},
                        {"entry", node.name},
                        {"jobs", node.jobs},
                        {"stage", node.stage + 1},
                        {"needs", json_or_null(node.needs)},
                        {"jobs_by_state", json_if(graph.has_states, counts_json(node.states))}});
  }
  nlohmann::ordered_json edges = nlohmann::ordered_json::array();
  for (const GraphEdge& e : graph.edges) {
    edges.push_back(
        {{"from", e.from + 1}, {"to", e.to + 1}, {"condition", to_string(e.condition)}});
  }
  return {
      {"workflow", graph.title}, {"vertices", std::move(vertices)}, {"edges", std::move(edges)}};
}

}  // namespace torc::report
