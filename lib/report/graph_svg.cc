// The graph as SVG, laid out here: stages are columns, and a node stands about as high as those
// that it is connected to. Good for the few dozen nodes that a graph has at most; dot draws more
// beautifully.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/base/quantities.h"
#include "lib/report/graph.h"
#include "lib/report/job_view.h"

namespace torc::report {
namespace {

constexpr int kWidth = 220;
constexpr int kHeight = 62;
constexpr int kColumn = 300;  // from one column to the next
constexpr int kRow = 82;
constexpr int kMargin = 20;
constexpr int kLegendRow = 40;
constexpr int kLegendColumn = 90;
constexpr std::size_t kShownCharacters = 30;

struct Spot {
  int x = 0;
  int y = 0;
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// At most so many characters, never in the middle of one.
std::string cut(std::string_view text) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80;
    if (starts && characters++ == kShownCharacters) return std::string(text.substr(0, i)) + "…";
  }
  return std::string(text);
}

// Nodes of every stage, from top to bottom.
std::map<std::uint32_t, std::vector<std::size_t>> columns_of(const Graph& graph) {
  std::map<std::uint32_t, std::vector<std::size_t>> columns;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) columns[graph.nodes[n].stage].push_back(n);
  std::vector<double> height(graph.nodes.size());
  const auto number = [&](const std::vector<std::size_t>& column) {
    for (std::size_t i = 0; i < column.size(); ++i)
      height[column[i]] = static_cast<double>(i) - static_cast<double>(column.size()) / 2;
  };
  for (const auto& [stage, column] : columns) number(column);
  // Twice from left to right: each node to the mean height of what it waits for.
  for (int pass = 0; pass < 2; ++pass) {
    for (auto& [stage, column] : columns) {
      std::map<std::size_t, double> wanted;
      for (const std::size_t n : column) wanted[n] = height[n];
      for (const std::size_t n : column) {
        double sum = 0;
        int count = 0;
        for (const GraphEdge& e : graph.edges) {
          if (e.to != n || graph.nodes[e.from].stage >= stage) continue;
          sum += height[e.from];
          ++count;
        }
        if (count > 0) wanted[n] = sum / count;
      }
      std::stable_sort(column.begin(), column.end(),
                       [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
      number(column);
    }
  }
  return columns;
}

std::string filled(std::string_view colour) {
  return fmt::format(" style=\"fill:{}\"", colour);
}

std::string box(const GraphNode& node, Spot at, bool has_states) {
  const std::string states = show_counts(node.states);
  std::string out = fmt::format(
      "<g><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\"{}/>",
      escaped(states.empty() ? node.name : node.name + ": " + states), at.x, at.y, kWidth, kHeight,
      has_states ? filled(look_of(node).fill) : "");
  const auto line = [&](int row, std::string_view style, const std::string& text) {
    out += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>", at.x + kWidth / 2, at.y + 20 * row,
                       style, escaped(text));
  };
  line(1, " class=\"name\"", cut(node.name));
  if (node.jobs > 1) line(2, "", show_count(node.jobs) + " jobs");
  const std::string& last = has_states ? states : node.needs;
  if (!last.empty()) line(node.jobs > 1 ? 3 : 2, "", cut(last));
  return out + "</g>\n";
}

std::string arrow(const GraphEdge& edge, Spot from, Spot to) {
  const int x1 = from.x + kWidth;
  const int y1 = from.y + kHeight / 2;
  const int x2 = to.x;
  const int y2 = to.y + kHeight / 2;
  const int bend = std::max(40, std::abs(x2 - x1) / 2);
  const bool plain = edge.condition == spec::Condition::afterok;
  std::string out =
      fmt::format("<path d=\"M{} {} C{} {} {} {} {} {}\" marker-end=\"url(#a)\"{}/>\n", x1, y1,
                  x1 + bend, y1, x2 - bend, y2, x2, y2, plain ? "" : " stroke-dasharray=\"6 4\"");
  if (!plain) {
    out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", (x1 + x2) / 2, (y1 + y2) / 2 - 4,
                       to_string(edge.condition));
  }
  return out;
}

std::string legend(int y) {
  std::string out;
  int x = kMargin;
  for (const NodeLook& look : all_looks()) {
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"14\" rx=\"3\"{}/><text x=\"{}\" y=\"{}\" "
        "style=\"text-anchor:start\">{}</text>\n",
        x, y, filled(look.fill), x + 20, y + 12, look.name);
    x += kLegendColumn;
  }
  return out;
}

}  // namespace

std::string to_svg(const Graph& graph) {
  const auto columns = columns_of(graph);
  std::size_t tallest = 1;
  for (const auto& [stage, column] : columns) tallest = std::max(tallest, column.size());
  const int height =
      2 * kMargin + static_cast<int>(tallest) * kRow + (graph.has_states ? kLegendRow : 0);
  int width = 2 * kMargin + (static_cast<int>(columns.size()) - 1) * kColumn + kWidth;
  if (graph.has_states) {
    width = std::max(width, 2 * kMargin + static_cast<int>(all_looks().size()) * kLegendColumn);
  }
  std::vector<Spot> spots(graph.nodes.size());
  int x = kMargin;
  for (const auto& [stage, column] : columns) {
    int y = (height - static_cast<int>(column.size()) * kRow) / 2 + (kRow - kHeight) / 2;
    for (const std::size_t n : column) {
      spots[n] = {x, y};
      y += kRow;
    }
    x += kColumn;
  }
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\">\n"
      "<title>{2}</title>\n"
      "<style>rect{{fill:#f6f8fa;stroke:#57606a}}path{{fill:none;stroke:#57606a}}"
      "text{{font:12px "
      "sans-serif;text-anchor:middle;fill:#24292f}}.name{{font-weight:bold}}</style>\n"
      "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" "
      "markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
      "style=\"fill:#57606a;stroke:none\"/>"
      "</marker></defs>\n",
      width, height, escaped(graph.title));
  for (const GraphEdge& e : graph.edges) {
    if (e.from != e.to) out += arrow(e, spots[e.from], spots[e.to]);
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    out += box(graph.nodes[n], spots[n], graph.has_states);
  if (graph.has_states) out += legend(height - kMargin - kLegendRow / 2);
  return out + "</svg>\n";
}

}  // namespace torc::report
