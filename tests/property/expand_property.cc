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

namespace torc::spec {
namespace {

using Strings = std::vector<std::string>;
using Assignment = std::map<std::string, ParameterValue>;

// The model: each thing with its name written out and the values that it was made of.
struct NaiveThing {
  std::string name;
  std::size_t entry = 0;
  Assignment values;
};

std::string plain_text(const ParameterValue& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* n = std::get_if<Numeral>(&value)) return n->text;
  for (int digits = 1; digits <= 17; ++digits) {  // the shortest that reads back
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", digits, std::get<double>(value));
    if (std::stod(buffer) == std::get<double>(value)) return buffer;
  }
  return "not reached by the values used here";
}

// A brace after '$' or '{' belongs to the shell or to a template language.
void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    if (at > 0 && (text[at - 1] == '$' || text[at - 1] == '{')) {
      ++at;
      continue;
    }
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// The formats that this test uses: none, 02d and .2f.
std::string fill_in(std::string text, const Assignment& values) {
  for (const auto& [name, value] : values) {
    char buffer[64];
    if (const auto* i = std::get_if<std::int64_t>(&value)) {
      std::snprintf(buffer, sizeof buffer, "%02ld", static_cast<long>(*i));
      replace_all(text, "{" + name + ":02d}", buffer);
    }
    if (const auto* x = std::get_if<double>(&value)) {
      std::snprintf(buffer, sizeof buffer, "%.2f", *x);
      replace_all(text, "{" + name + ":.2f}", buffer);
    }
    replace_all(text, "{" + name + "}", plain_text(value));
  }
  return text;
}

template <class Entry>
std::vector<Assignment> assignments(const Entry& entry) {
  std::vector<Assignment> all{{}};
  if (entry.mode == ParameterMode::zip && !entry.parameters.empty()) {
    all.clear();
    for (std::uint64_t k = 0; k < count(entry.parameters[0].values); ++k) {
      Assignment one;
      for (const Parameter& p : entry.parameters) one[p.name] = value_at(p.values, k);
      all.push_back(std::move(one));
    }
    return all;
  }
  std::vector<std::uint64_t> rows{0};  // of each assignment, in the parameter before
  std::uint32_t table = 0;
  for (const Parameter& p : entry.parameters) {
    const bool same_table = p.table != 0 && p.table == table;
    table = p.table;
    std::vector<Assignment> longer;
    std::vector<std::uint64_t> rows_of_longer;
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::uint64_t v = 0; v < count(p.values); ++v) {
        if (same_table && v != rows[a]) continue;
        longer.push_back(all[a]);
        longer.back()[p.name] = value_at(p.values, v);
        rows_of_longer.push_back(v);
      }
    }
    all = std::move(longer);
    rows = std::move(rows_of_longer);
  }
  return all;
}

template <class Entry>
std::vector<NaiveThing> things(const std::vector<Entry>& entries) {
  std::vector<NaiveThing> all;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    for (const Assignment& a : assignments(entries[e])) {
      all.push_back({fill_in(entries[e].name, a), e, a});
    }
  }
  return all;
}

struct Naive {
  std::vector<NaiveThing> jobs, files;
  Strings commands;
  std::vector<std::set<std::size_t>> upstream;         // by job
  std::vector<std::set<std::string>> inputs, outputs;  // paths, by job
  bool wrong = false;                                  // any mistake but a circle
  bool circle = false;
};

class NaiveExpander {
 public:
  explicit NaiveExpander(const Workflow& workflow) : workflow_(workflow) {}

  Naive run() {
    n_.jobs = things(workflow_.jobs);
    n_.files = things(workflow_.files);
    n_.wrong = has_twins(n_.jobs) || has_twins(n_.files);
    n_.upstream.resize(n_.jobs.size());
    n_.inputs.resize(n_.jobs.size());
    n_.outputs.resize(n_.jobs.size());
    for (std::size_t j = 0; j < n_.jobs.size(); ++j) add_files(j);
    for (std::size_t j = 0; j < n_.jobs.size(); ++j) add_dependencies(j);
    n_.circle = has_circle();
    return std::move(n_);
  }

 private:
  static bool has_twins(const std::vector<NaiveThing>& all) {
    std::set<std::string> names;
    for (const NaiveThing& t : all) names.insert(t.name);
    return names.size() != all.size();
  }

  // What `text`, filled in for a job, names among `all`.
  template <class Entry>
  std::set<std::size_t> named(const std::string& text, const std::vector<NaiveThing>& all,
                              const std::vector<Entry>& entries) {
    std::set<std::size_t> found;
    for (std::size_t t = 0; t < all.size(); ++t) {
      if (all[t].name == text) return {t};
    }
    for (std::size_t t = 0; t < all.size(); ++t) {
      Assignment closed;
      for (const auto& [name, value] : all[t].values) {
        if (text.find("{" + name + "}") == std::string::npos &&
            text.find("{" + name + ":") == std::string::npos) {
          closed.insert({name, value});
        }
      }
      if (closed.size() == all[t].values.size()) continue;
      if (fill_in(entries[all[t].entry].name, closed) == text) found.insert(t);
    }
    if (found.empty()) n_.wrong = true;
    return found;
  }

  static std::set<std::size_t> matched(const std::string& text,
                                       const std::vector<NaiveThing>& all) {
    const std::regex expression(text);
    std::set<std::size_t> found;
    for (std::size_t t = 0; t < all.size(); ++t) {
      if (std::regex_search(all[t].name, expression)) found.insert(t);
    }
    return found;
  }

  [[nodiscard]] std::string path(std::size_t f) const {
    return fill_in(workflow_.files[n_.files[f].entry].path, n_.files[f].values);
  }

  void add_files(std::size_t j) {
    const JobEntry& entry = workflow_.jobs[n_.jobs[j].entry];
    const Assignment& values = n_.jobs[j].values;
    const auto take = [&](const std::set<std::size_t>& files) {
      inputs_[j].insert(files.begin(), files.end());
    };
    const auto make = [&](const std::set<std::size_t>& files) {
      for (const std::size_t f : files) {
        if (!makers_.insert({f, j}).second && makers_[f] != j) n_.wrong = true;
        n_.outputs[j].insert(path(f));
      }
    };
    for (const auto& t : entry.input_files) {
      take(named(fill_in(t, values), n_.files, workflow_.files));
    }
    for (const auto& t : entry.input_file_regexes) take(matched(fill_in(t, values), n_.files));
    for (const auto& t : entry.output_files) {
      make(named(fill_in(t, values), n_.files, workflow_.files));
    }
    std::string command = fill_in(entry.command, values);
    for (const bool input : {true, false}) {
      const std::string opening = input ? "${files.input." : "${files.output.";
      for (std::size_t at = command.find(opening); at != std::string::npos;
           at = command.find(opening)) {
        std::size_t end = at + 2;
        for (int depth = 1; depth > 0; ++end) {
          depth += command[end] == '{' ? 1 : command[end] == '}' ? -1 : 0;
        }
        const std::string name = command.substr(at + opening.size(), end - 1 - at - opening.size());
        const auto files = named(name, n_.files, workflow_.files);
        if (files.size() != 1) n_.wrong = true;
        command.replace(at, end - at, files.empty() ? "" : path(*files.begin()));
        input ? take(files) : make(files);
      }
    }
    for (const std::size_t f : inputs_[j]) n_.inputs[j].insert(path(f));
    n_.commands.push_back(command);
  }

  void add_dependencies(std::size_t j) {
    const JobEntry& entry = workflow_.jobs[n_.jobs[j].entry];
    const Assignment& values = n_.jobs[j].values;
    std::set<std::size_t>& upstream = n_.upstream[j];
    for (const auto& t : entry.depends_on) {
      const auto found = named(fill_in(t, values), n_.jobs, workflow_.jobs);
      if (found == std::set<std::size_t>{j}) n_.wrong = true;
      upstream.insert(found.begin(), found.end());
    }
    for (const auto& t : entry.depends_on_regexes) {
      const auto found = matched(fill_in(t, values), n_.jobs);
      upstream.insert(found.begin(), found.end());
    }
    for (const std::size_t f : inputs_[j]) {
      if (makers_.contains(f)) upstream.insert(makers_[f]);
    }
    upstream.erase(j);
  }

  // Takes away what waits for nothing until nothing changes.
  [[nodiscard]] bool has_circle() const {
    auto waiting = n_.upstream;
    std::set<std::size_t> left;
    for (std::size_t j = 0; j < waiting.size(); ++j) left.insert(j);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto it = left.begin(); it != left.end();) {
        const bool free = std::none_of(waiting[*it].begin(), waiting[*it].end(),
                                       [&](std::size_t u) { return left.contains(u); });
        it = free ? left.erase(it) : std::next(it);
        changed = changed || free;
      }
    }
    return !left.empty();
  }

  const Workflow& workflow_;
  Naive n_;
  std::map<std::size_t, std::set<std::size_t>> inputs_;
  std::map<std::size_t, std::size_t> makers_;
};

// --- random workflows ---

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
      if (one_in(3)) e.label = pick<std::string>({"on_{i}", "{s}", "fixed"});
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
    out << "  command " << e.command << "\n  label " << e.label << "\n";
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
      RC_ASSERT(entry.label == fill_in(written.label, naive.jobs[j].values));
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
