// Writes out every string and every edge of a workflow: the oracle of expand_property.cc.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/spec/expand/expand.h"
#include "lib/spec/sweep/recipe.h"

namespace torc::spec {

using Strings = std::vector<std::string>;
using Assignment = std::map<std::string, ParameterValue>;

// The model: each thing with its name written out and the values that it was made of.
struct NaiveThing {
  std::string name;
  std::size_t entry = 0;
  Assignment values;
};

inline std::string plain_text(const ParameterValue& value) {
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
inline void replace_all(std::string& text, const std::string& from, const std::string& to) {
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
inline std::string fill_in(std::string text, const Assignment& values) {
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
inline std::vector<Assignment> assignments(const Entry& entry) {
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
inline std::vector<NaiveThing> things(const std::vector<Entry>& entries) {
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

}  // namespace torc::spec
