// Random small workflows: expand() with its patterns, ranges and shared sets against an expander
// that writes out every string and every edge.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lib/spec/expand/expand.h"
#include "lib/spec/sweep/recipe.h"
#include "tests/property/naive_expander.h"

namespace torc::spec {
namespace {

template <class T>
T pick(const std::vector<T>& from) {
  return from[*rc::gen::inRange<std::size_t>(0, from.size())];
}
bool one_in(int n) {
  return *rc::gen::inRange(0, n) == 0;
}

Parameter random_parameter(const std::string& name) {
  if (name == "i") {
    const auto first = *rc::gen::inRange<std::int64_t>(-1, 3);
    return {name, IntegerRange{first, first + *rc::gen::inRange<std::int64_t>(0, 4),
                               *rc::gen::inRange<std::int64_t>(1, 3)}};
  }
  if (name == "x") return {name, FloatRange{0.25, 0.25, *rc::gen::inRange<std::uint64_t>(1, 4), 2}};
  std::vector<ParameterValue> values;
  for (const char* text : {"a", "b", "ab", "i", "1"}) {
    if (one_in(2)) values.emplace_back(std::string(text));
  }
  if (one_in(4)) values.emplace_back(Numeral{"1e1"});
  if (values.empty()) values.emplace_back(std::string("a"));
  return {name, values};
}

// Most choices lead to a workflow without mistakes, each now and then to one with.
class RandomWorkflow {
 public:
  Workflow run() {
    for (const char* name : {"i", "s", "x"}) shared_.push_back(random_parameter(name));
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
      FileEntry f;
      add_parameters(f);
      f.name = name_of("f", w_.files.size(), f.parameters);
      f.path = "dir/" + f.name + ".txt";
      w_.files.push_back(f);
    }
    for (int n = *rc::gen::inRange(1, 6); n > 0; --n) {
      JobEntry e;
      add_parameters(e);
      e.name = name_of("j", w_.jobs.size(), e.parameters);
      e.command = "run {i} ${i} {s} {unknown} {{x}} '{print $1}'";
      if (one_in(3)) e.labels.push_back(pick<std::string>({"on_{i}", "{s}", "fixed"}));
      if (one_in(6)) e.labels.push_back(pick<std::string>({"b{i}", "always"}));
      w_.jobs.push_back(e);
    }
    for (std::size_t e = 0; e < w_.jobs.size(); ++e) add_dependencies(e);
    for (JobEntry& e : w_.jobs) add_files(e);
    return std::move(w_);
  }

 private:
  template <class Entry>
  void add_parameters(Entry& entry) {
    for (const Parameter& p : shared_) {
      if (one_in(2)) entry.parameters.push_back(one_in(8) ? random_parameter(p.name) : p);
    }
    const bool agree =
        std::all_of(entry.parameters.begin(), entry.parameters.end(), [&](const Parameter& p) {
          return count(p.values) == count(entry.parameters.front().values);
        });
    if (agree && one_in(2)) entry.mode = ParameterMode::zip;
    for (std::size_t p = 1; p < entry.parameters.size(); ++p) {
      Parameter& a = entry.parameters[p - 1];
      Parameter& b = entry.parameters[p];
      if (count(a.values) != count(b.values) || one_in(2)) continue;
      a.table = a.table == 0 ? static_cast<std::uint32_t>(p) : a.table;
      b.table = a.table;
    }
  }

  static std::string name_of(const std::string& stem, std::size_t number,
                             const std::vector<Parameter>& parameters) {
    std::string name = stem + (one_in(30) ? "" : std::string(1, static_cast<char>('p' + number)));
    for (const Parameter& p : parameters) {
      if (one_in(40)) continue;
      name += one_in(8) ? "" : "_";
      name += p.name == "i" && one_in(3)   ? "{i:02d}"
              : p.name == "x" && one_in(3) ? "{x:.2f}"
                                           : "{" + p.name + "}";
    }
    return name + (one_in(4) ? "_z" : "");
  }

  // As it is written, or one of its names.
  template <class Entry>
  static std::string reference(const Entry& entry) {
    const auto all = assignments(entry);
    return one_in(4) ? fill_in(entry.name, pick(all)) : entry.name;
  }

  void add_dependencies(std::size_t e) {
    JobEntry& entry = w_.jobs[e];
    for (int n = *rc::gen::inRange(0, 3); n > 0; --n) {
      if (e == 0 && !one_in(12)) continue;
      const std::size_t last = one_in(12) ? w_.jobs.size() : e;
      const JobEntry& target =
          w_.jobs[*rc::gen::inRange<std::size_t>(0, std::max<std::size_t>(last, 1))];
      entry.depends_on.push_back(reference(target));
    }
    if (e > 0 && one_in(3)) {
      entry.depends_on_regexes.push_back(
          pick<std::string>({"^jp", "^j[pq].*1", "^jq.*[ab]", "^nothing$"}));
    }
    const bool has_s = std::any_of(entry.parameters.begin(), entry.parameters.end(),
                                   [](const Parameter& p) { return p.name == "s"; });
    if (has_s && e > 1 && one_in(2)) entry.depends_on_regexes.emplace_back("^jp_{s}");
    if (one_in(40)) entry.depends_on_regexes.emplace_back("1");
  }

  static bool covers(const std::vector<Parameter>& all, const std::vector<Parameter>& some) {
    return std::all_of(some.begin(), some.end(), [&](const Parameter& p) {
      return std::any_of(all.begin(), all.end(),
                         [&](const Parameter& q) { return q.name == p.name; });
    });
  }

  void add_files(JobEntry& e) {
    for (const FileEntry& f : w_.files) {
      const bool makes = one_in(3) && (made_.insert(f.name).second || one_in(30)) &&
                         (covers(f.parameters, e.parameters) || one_in(30));
      const bool in_command = covers(e.parameters, f.parameters) || one_in(30);
      if (makes && in_command && one_in(2)) {
        e.command += " > ${files.output." + f.name + "}";
      } else if (makes) {
        e.output_files.push_back(f.name);
      } else if (one_in(3) && in_command) {
        e.command += " < ${files.input." + f.name + "}";
      } else if (one_in(3)) {
        e.input_files.push_back(reference(f));
      }
    }
    if (one_in(6)) e.input_file_regexes.push_back(pick<std::string>({"^f", "1", "f.*b"}));
  }

  Workflow w_;
  std::vector<Parameter> shared_;
  std::set<std::string> made_;
};

void describe(const Workflow& w, std::ostream& out) {
  for (const FileEntry& f : w.files) out << "file " << f.name << "\n";
  for (const JobEntry& e : w.jobs) {
    out << "job " << e.name << (e.mode == ParameterMode::zip ? " (zip)" : "") << "\n";
    for (const Parameter& p : e.parameters) {
      out << "  " << p.name << (p.table == 0 ? ":" : " of table " + std::to_string(p.table) + ":");
      for (std::uint64_t v = 0; v < count(p.values); ++v) {
        out << " " << plain_text(value_at(p.values, v));
      }
      out << "\n";
    }
    out << "  command " << e.command << "\n";
    for (const auto& l : e.labels) out << "  label " << l << "\n";
    for (const auto& d : e.depends_on) out << "  depends_on " << d << "\n";
    for (const auto& d : e.depends_on_regexes) out << "  depends_on_regexes " << d << "\n";
    for (const auto& d : e.input_files) out << "  input " << d << "\n";
    for (const auto& d : e.input_file_regexes) out << "  input regex " << d << "\n";
    for (const auto& d : e.output_files) out << "  output " << d << "\n";
  }
}

// --- comparing ---

std::vector<std::set<std::size_t>> edges_of(const Expansion& expansion) {
  std::vector<std::set<std::size_t>> upstream(expansion.jobs);
  for (const DependencySet& set : expansion.dependencies) {
    for (const Range& member : set.members) {
      for (std::uint64_t j = member.first; j < member.end(); ++j) {
        RC_ASSERT(upstream.at(j - 1).empty());  // a job is a member of at most one set
        for (const Range& r : set.upstream) {
          for (std::uint64_t u = r.first; u < r.end(); ++u) upstream[j - 1].insert(u - 1);
        }
      }
    }
  }
  return upstream;
}

void compare(const Workflow& workflow, const Expansion& expansion, const Naive& naive) {
  RC_ASSERT(expansion.jobs == naive.jobs.size());
  RC_ASSERT(edges_of(expansion) == naive.upstream);
  std::size_t j = 0;
  for (const ExpandedEntry& entry : expansion.entries) {
    RC_ASSERT(entry.first == j + 1);
    const auto recipe = Recipe::decode(entry.recipe);
    RC_ASSERT(recipe.ok());
    RC_ASSERT(recipe->count() == entry.count);
    for (std::uint64_t k = 0; k < entry.count; ++k, ++j) {
      const RenderedJob job = recipe->render(k);
      RC_ASSERT(job.name == naive.jobs[j].name);
      RC_ASSERT(recipe->find(job.name) == std::optional(k));
      RC_ASSERT(job.command == naive.commands[j]);
      const JobEntry& written = workflow.jobs[naive.jobs[j].entry];
      std::set<std::string> labels;
      for (const auto& l : written.labels) labels.insert(fill_in(l, naive.jobs[j].values));
      std::string joined;
      for (const auto& l : labels) joined += (joined.empty() ? "" : ",") + l;
      RC_ASSERT(entry.labels == joined);
      RC_ASSERT(Strings(naive.inputs[j].begin(), naive.inputs[j].end()) == [&] {
        Strings sorted = job.input_files;
        std::sort(sorted.begin(), sorted.end());
        return sorted;
      }());
      RC_ASSERT(std::set(job.output_files.begin(), job.output_files.end()) == naive.outputs[j]);
    }
    for (const char* absent : {"", "jp_", "jp_99", "{i}", "nothing"}) {
      if (std::none_of(naive.jobs.begin(), naive.jobs.end(),
                       [&](const NaiveThing& t) { return t.name == absent; })) {
        RC_ASSERT(!recipe->find(absent));
      }
    }
  }
  RC_ASSERT(j == naive.jobs.size());
}

RC_GTEST_PROP(Expand, agrees_with_writing_out_every_job_and_edge, ()) {
  const Workflow workflow = RandomWorkflow().run();
  RC_LOG() << [&] {
    std::ostringstream out;
    describe(workflow, out);
    return out.str();
  }();
  const Naive naive = NaiveExpander(workflow).run();
  const Expanded expanded = expand(workflow, "", "wf.yaml");
  for (const Diagnostic& d : expanded.diagnostics) RC_LOG() << d.message << "\n";
  RC_CLASSIFY(naive.wrong, "wrong");
  RC_CLASSIFY(!naive.wrong && naive.circle, "circle");
  RC_CLASSIFY(!naive.wrong && !naive.circle, "right");
  const bool circle = std::any_of(
      expanded.diagnostics.begin(), expanded.diagnostics.end(),
      [](const Diagnostic& d) { return d.message.find("in a circle") != std::string::npos; });
  RC_ASSERT(expanded.expansion.has_value() == !(naive.wrong || naive.circle));
  if (!naive.wrong) RC_ASSERT(circle == naive.circle);
  if (expanded.expansion) compare(workflow, *expanded.expansion, naive);
}

}  // namespace
}  // namespace torc::spec
